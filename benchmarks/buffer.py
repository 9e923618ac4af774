"""What the memory costs: inserting a batch of 64 into 5,000 rows, and drawing one from them.

    python benchmarks/buffer.py

One thread. The yardstick is a copy of the same 64 images; an insertion should stay under a millisecond.
"""

import torch
from timing import median_seconds

from casper.memory import Buffer, balanced_reservoir, reservoir

CAPACITY, BATCH, CLASSES, SHAPE = 5000, 64, 100, (3, 32, 32)


def full_buffer(seen_times_capacity: int, generator: torch.Generator) -> Buffer:
    buffer = Buffer(CAPACITY, SHAPE)
    for start in range(0, seen_times_capacity * CAPACITY, 500):
        labels = torch.arange(start, start + 500) % CLASSES
        images = torch.zeros(500, *SHAPE, dtype=torch.uint8)
        buffer.insert(images, labels, policy=reservoir, generator=generator)
    return buffer


def main() -> None:
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (BATCH, *SHAPE), dtype=torch.uint8, generator=generator)
    labels = torch.randint(0, CLASSES, (BATCH,), generator=generator)
    new_class = torch.full((BATCH,), CLASSES)  # never seen before: accepted every time until it is even
    young, old = full_buffer(1, generator), full_buffer(20, generator)

    def insert(buffer: Buffer, policy: object, labels: torch.Tensor = labels) -> None:
        buffer.insert(images, labels, policy=policy, generator=generator)  # type: ignore[arg-type]

    seconds = median_seconds(
        {
            "copy of 64 images": lambda: images.clone(),
            "reservoir, just full": lambda: insert(young, reservoir),
            "reservoir, 20x seen": lambda: insert(old, reservoir),
            "balanced, just full": lambda: insert(young, balanced_reservoir),
            "balanced, 20x seen": lambda: insert(old, balanced_reservoir),
            "balanced, one new class": lambda: insert(old, balanced_reservoir, new_class),
            "draw 64 uniform": lambda: old.images[old.draw_uniform(BATCH, generator)],
            "draw 64 balanced, 16 classes": lambda: old.images[old.draw_balanced(BATCH, 16, generator)],
        },
        repeats=300,
    )
    yardstick = seconds["copy of 64 images"]
    print(f"{'64 items, 5,000 rows, 100 classes':<34} {'ms':>7} {'x copy':>7}")
    for name, value in seconds.items():
        print(f"{name:<34} {1e3 * value:>7.3f} {value / yardstick:>7.1f}")


if __name__ == "__main__":
    main()
