"""What feeding the network costs in a step: draw, crop, flip and normalise three batches of 64 images of 32x32.

    python benchmarks/input_pipeline.py

One thread. A step of ER-ACE with CaSpeR needs a stream batch, a replay batch and a class-balanced batch. The yardstick
is the same work image by image with Pillow, written out below, as quick as that goes: from the same stored uint8
arrays, one call each for crop (which pads) and flip, normalised into its place in the batch. The share of a training
step is measured against ResNet18, forward and backward of the same three batches.
"""

import numpy
import torch
import torch.nn.functional as F
from PIL import Image
from timing import median_seconds
from torch import Tensor, nn

from casper.memory import Buffer, reservoir
from casper.nets import FeatureClassifier, ResNet18
from casper.streams import Transform
from casper.types import ImageSet

BATCH, SIZE, PADDING, CLASSES, MEMORY = 64, 32, 4, 100, 500
MEAN, STD = (0.5071, 0.4867, 0.4408), (0.2675, 0.2565, 0.2761)


class TensorPipeline:
    """casper's: images as one uint8 tensor, a batch is an index."""

    def __init__(self, data: ImageSet, memory: Buffer) -> None:
        self.data, self.memory = data, memory
        self.transform = Transform(MEAN, STD, PADDING, flip=True)
        self.generator = torch.Generator().manual_seed(0)

    def stream(self) -> Tensor:
        """Draw and augment from the task."""
        rows = torch.randint(0, len(self.data), (BATCH,), generator=self.generator)
        return self.transform.train(self.data[rows].images, self.generator)

    def replay(self) -> Tensor:
        """Draw and augment from the memory."""
        rows = self.memory.draw_uniform(BATCH, self.generator)
        return self.transform.train(self.memory.images.index_select(0, rows), self.generator)

    def balanced(self) -> Tensor:
        """Draw 16 classes evenly from the memory, and augment."""
        rows = self.memory.draw_balanced(BATCH, 16, self.generator)
        return self.transform.train(self.memory.images.index_select(0, rows), self.generator)

    def all(self) -> list[Tensor]:
        """Make the three batches of a step."""
        return [self.stream(), self.replay(), self.balanced()]


class PillowPipeline:
    """The yardstick: each image on its own."""

    def __init__(self, data: ImageSet) -> None:
        self.images = data.images.permute(0, 2, 3, 1).contiguous().numpy()
        self.random = numpy.random.default_rng(0)
        self.mean = numpy.array(MEAN, dtype=numpy.float32) * 255
        self.scale = 1 / (numpy.array(STD, dtype=numpy.float32) * 255)

    def batch(self) -> Tensor:
        """Draw and augment, uniformly: balanced draws cost this pipeline nothing here."""
        rows = self.random.integers(0, len(self.images), BATCH).tolist()
        places = self.random.integers(-PADDING, PADDING + 1, (BATCH, 2)).tolist()
        flips = (self.random.random(BATCH) < 0.5).tolist()
        batch = numpy.empty((BATCH, SIZE, SIZE, 3), dtype=numpy.float32)
        for place, (row, (left, top), flip) in enumerate(zip(rows, places, flips, strict=True)):
            view = Image.fromarray(self.images[row]).crop((left, top, left + SIZE, top + SIZE))
            if flip:
                view = view.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
            batch[place] = (numpy.asarray(view) - self.mean) * self.scale
        return torch.from_numpy(batch).permute(0, 3, 1, 2).contiguous()

    def all(self) -> list[Tensor]:
        """Make the three batches of a step."""
        return [self.batch() for _ in range(3)]


def main() -> None:
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (10_000, 3, SIZE, SIZE), dtype=torch.uint8, generator=generator)
    data = ImageSet(images, torch.arange(len(images)) % CLASSES)
    memory = Buffer(MEMORY, (3, SIZE, SIZE))
    memory.insert(data.images[:2000], data.labels[:2000], policy=reservoir, generator=generator)
    tensors, pillow = TensorPipeline(data, memory), PillowPipeline(data)
    backbone = ResNet18((3, SIZE, SIZE))
    net = FeatureClassifier(backbone, nn.Linear(backbone.dim, CLASSES)).to(memory_format=torch.channels_last)
    inputs = tensors.all()

    def step() -> None:
        net.zero_grad()
        sum(F.cross_entropy(net(batch).logits, data.labels[:BATCH]) for batch in inputs).backward()  # type: ignore[union-attr]

    seconds = median_seconds(
        {
            "casper, three batches": tensors.all,
            "  stream batch": tensors.stream,
            "  replay batch": tensors.replay,
            "  balanced batch": tensors.balanced,
            "Pillow, three batches": pillow.all,
        },
        repeats=100,
    )
    training = median_seconds({"step": step}, repeats=3)["step"]
    ours, theirs = seconds["casper, three batches"], seconds["Pillow, three batches"]
    print(f"{'64 images of 32x32 a batch':<28} {'ms':>8}")
    for name, value in {**seconds, "ResNet18, the same three": training}.items():
        print(f"{name:<28} {1e3 * value:>8.2f}")
    print(f"Pillow / casper: {theirs / ours:.1f}    casper / ResNet18 step: {ours / training:.2%}")


if __name__ == "__main__":
    main()
