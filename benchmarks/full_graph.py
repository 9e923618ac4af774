"""What CaSpeR costs in a step: a balanced draw of 64 items against the graph of the whole memory.

    python benchmarks/full_graph.py

One thread, the small convnet, 16x16 images of 100 classes. The yardstick is a step of plain ER-ACE in the same run.
"""

from collections.abc import Callable

import torch
from timing import median_seconds

from casper import ERACE, CaSpeR, Regularizer, TaskStream, Trainer, class_split
from casper.memory import reservoir
from casper.step import Progress
from casper.streams import Transform
from casper.types import Batch, ImageSet

CLASSES, BATCH = 100, 64


def random_stream() -> TaskStream:
    """Random images: only their number and size matter here."""
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (CLASSES * 25, 3, 16, 16), dtype=torch.uint8, generator=generator)
    data = ImageSet(images, torch.arange(len(images)) % CLASSES)
    transform = Transform((0.5,) * 3, (0.25,) * 3, padding=2, flip=True)
    return class_split(data, data, num_tasks=10, transform=transform)


def stepper(regularizers: list[Regularizer], buffer_size: int) -> Callable[[], None]:
    """A function that makes one training step of the last task, with a full memory."""
    trainer = Trainer(random_stream(), ERACE(), regularizers=regularizers, buffer_size=buffer_size, batch_size=BATCH)
    for past in trainer.stream:
        trainer.memory.insert(
            past.train.images, past.train.labels, policy=reservoir, generator=trainer.generators["memory"]
        )
    task = trainer.stream[9]
    part = task.train[torch.arange(BATCH)]
    optimizer = trainer.method.make_optimizer(trainer.net.parameters(), 1e-6)

    def step() -> None:
        inputs = trainer.method.view(part.images, trainer.generators["augment"])
        batch = Batch(part.images, part.labels, inputs)
        trainer.method.observe(batch, task, Progress(0, 1, 0), optimizer, regularizers)

    return step


def main() -> None:
    torch.set_num_threads(1)
    print(
        f"{'memory':>6}  {'ER-ACE ms':>9} {'+ balanced':>10} {'+ all':>9} "
        f"{'balanced/plain':>14} {'all/plain':>9} {'all/balanced':>12}"
    )
    for buffer_size in (500, 2000):
        seconds = median_seconds(
            {
                "plain": stepper([], buffer_size),
                "balanced": stepper([CaSpeR(0.01, 16, 4)], buffer_size),
                "all": stepper([CaSpeR(0.01, 16, 4, sampling="all")], buffer_size),
            },
            repeats=9,
        )
        plain, balanced, everything = (1e3 * seconds[name] for name in ("plain", "balanced", "all"))
        print(
            f"{buffer_size:>6}  {plain:>9.1f} {balanced:>10.1f} {everything:>9.1f} {balanced / plain:>14.2f} "
            f"{everything / plain:>9.2f} {(everything - plain) / (balanced - plain):>12.1f}"
        )
    print("all/balanced: what the term adds to a step, one against the other")


if __name__ == "__main__":
    main()
