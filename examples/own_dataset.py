"""Train on images of your own: any uint8 tensor of images with integer labels becomes a stream of tasks."""

import argparse
from functools import partial

import torch

from casper import ERACE, MLP, CaSpeR, ImageSet, TaskStream, Trainer, Transform, class_split


def make_stripes(per_class: int, generator: torch.Generator) -> ImageSet:
    """Make grey 8x8 images of six classes: stripes of three widths, upright or lying. Load your images here instead.

    Files on disk need no code: `split_folder("pets", num_tasks=2, image_size=32)` reads pets/CLASS/*.jpg and
    `split_npz("images.npz", num_tasks=2)` reads the arrays x_train, y_train, x_test and y_test.
    """
    labels = torch.arange(6).repeat(per_class)
    widths, lying = labels % 3 + 1, labels >= 3
    shifts = torch.randint(0, 8, labels.shape, generator=generator)
    rows = (torch.arange(8) + shifts[:, None]) // widths[:, None] % 2  # shape (n, 8)
    images = rows[:, None, None, :].expand(-1, 1, 8, 8)
    images = torch.where(lying[:, None, None, None], images.transpose(2, 3), images) * 155
    noise = torch.randint(0, 100, images.shape, generator=generator)
    return ImageSet((images + noise).byte(), labels)


def make_stream(per_class: int) -> TaskStream:
    """Split the six classes into three tasks of two classes each."""
    generator = torch.Generator().manual_seed(0)
    train, test = make_stripes(per_class, generator), make_stripes(per_class // 4, generator)
    pixels = train.images / 255
    transform = Transform(
        mean=(pixels.mean().item(),), std=(pixels.std().item(),)
    )  # add padding=1, flip=True to augment
    names = [f"{width} {side}" for side in ("upright", "lying") for width in ("thin", "medium", "wide")]
    return class_split(train, test, num_tasks=3, transform=transform, class_names=names)


parser = argparse.ArgumentParser(description="Class-incremental learning of stripes.")
parser.add_argument("--per-class", type=int, default=400, help="training images of each class")
parser.add_argument("--epochs", type=int, default=5, help="passes over each task")
options = parser.parse_args()

stream = make_stream(options.per_class)
print("Classes, in the order in which they are learned:", ", ".join(stream.class_names))
trainer = Trainer(
    stream,
    ERACE(),
    regularizers=[CaSpeR(weight=0.01, num_classes=4, num_neighbors=4)],
    backbone=partial(MLP, hidden=50),
    buffer_size=60,
    epochs=options.epochs,
    batch_size=32,
    lr=0.05,
)
metrics = trainer.run()
for done, row in enumerate(metrics["class_il"]["accuracy_matrix"], start=1):
    print(
        f"after task {done}, accuracy (%) on each task: {[None if value is None else round(value, 1) for value in row]}"
    )
