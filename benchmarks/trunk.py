"""What a frozen trunk costs: once, to compute the features of images, and then in every training step.

    python benchmarks/trunk.py

EfficientNet-Lite0 at 112 pixels on 32x32 images. Prints images per second with one and two threads, in float32 and
bfloat16; the time of opening the cache of features, next to that of computing them; and training steps per second from
stored features, against a step that runs the trunk on its batch. Ratios are measured in one run, with one thread.
"""

import os
import tempfile
import time
from functools import partial

import torch
from timing import median_seconds

from casper import ERACE, Adapter, CaSpeR, ImageSet, Lite0Trunk, Trainer, Transform, class_split, embed
from casper.step import Progress
from casper.streams import TaskStream
from casper.types import Batch

BATCH, CLASSES, IMAGES = 64, 10, 500


def images(number: int) -> ImageSet:
    """Images of noise; the network takes the same time for any."""
    pixels = torch.randint(0, 256, (number, 3, 32, 32), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    return ImageSet(pixels, torch.arange(number) % CLASSES)


def extraction(trunk: Lite0Trunk) -> None:
    """Print the images per second of the trunk."""
    batch = images(BATCH).images

    def compute(threads: int, half: bool) -> None:
        torch.set_num_threads(threads)
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            trunk.vectors(batch)

    settings = [(threads, half) for threads in (1, 2) for half in (False, True)]
    seconds = median_seconds({str(each): partial(compute, *each) for each in settings}, repeats=5)
    torch.set_num_threads(1)
    base = seconds[str(settings[0])]
    print(f"{'extraction':<28} {'images/s':>9} {'ratio':>6}")
    for threads, half in settings:
        each = seconds[str((threads, half))]
        name = f"{threads} thread{'s' * (threads > 1)}, {'bf16' if half else 'fp32'}"
        print(f"{name:<28} {BATCH / each:>9.0f} {base / each:>6.2f}")


def opening(stream: TaskStream, trunk: Lite0Trunk) -> TaskStream:
    """Print the time of filling and of opening the cache; returns the stream of features."""
    start = time.perf_counter()
    embed(stream, trunk)
    filled = time.perf_counter() - start
    opened = median_seconds({"open": lambda: embed(stream, trunk)}, repeats=5)["open"]
    number = sum(len(task.train) + len(task.test) for task in stream)
    print(f"\n{'cache, ' + str(number) + ' images':<28} {'s':>9}")
    print(f"{'fill':<28} {filled:>9.2f}\n{'open':<28} {opened:>9.3f}   fill / open: {filled / opened:.0f}")
    return embed(stream, trunk)


def training(stream: TaskStream, embedded: TaskStream, trunk: Lite0Trunk) -> None:
    """Print the time of a training step from stored features, and of one that runs the trunk on its batches."""
    casper = CaSpeR(0.01, 10, 5)
    trainer = Trainer(embedded, ERACE(), regularizers=[casper], backbone=Adapter, buffer_size=IMAGES, batch_size=BATCH)
    trainer.run_phase()
    task, vectors, pixels = trainer.stream[1], embedded[1].train, stream[1].train
    optimizer = trainer.make_optimizer()
    trainer.net.train()
    casper.start_task(task, trainer.net)

    def step(first: bool = True) -> None:
        part = vectors[torch.arange(BATCH)]
        batch = Batch(part.images, part.labels, trainer.method.view(part.images, trainer.generators["augment"]))
        trainer.method.observe(batch, task, Progress(0, 1, 1), optimizer, [casper])

    def step_with_trunk() -> None:
        for _ in range(3):  # the stream batch, the replay batch and CaSpeR's draw
            trunk.vectors(pixels.images[:BATCH])
        step()

    seconds = median_seconds({"stored features": step, "trunk in every step": step_with_trunk}, repeats=5)
    print(f"\n{'ER-ACE + CaSpeR':<28} {'steps/s':>9}")
    for name, each in seconds.items():
        print(f"{name:<28} {1 / each:>9.1f}")
    print(f"ratio: {seconds['trunk in every step'] / seconds['stored features']:.0f}")


def main() -> None:
    torch.set_num_threads(1)
    data = images(IMAGES)
    stream = class_split(data, images(CLASSES), num_tasks=2, transform=Transform((0.5,) * 3, (0.5,) * 3))
    trunk = Lite0Trunk()
    extraction(trunk)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CASPER_CACHE"] = folder
        embedded = opening(stream, trunk)
        training(stream, embedded, trunk)


if __name__ == "__main__":
    main()
