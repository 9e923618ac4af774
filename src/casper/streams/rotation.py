"""Domain-incremental streams: the same classes in every task, rotated by a different angle."""

import math
from collections.abc import Sequence

import torch
from torch import Generator, Tensor

from casper.streams.stream import TaskStream
from casper.streams.transform import Transform
from casper.types import ImageSet, Task


def rotate(images: Tensor, degrees: float) -> Tensor:
    """Rotate images counter-clockwise about their centre, with nearest-neighbour sampling and zeros outside.

    One index map is used for all images. The result equals that of Pillow's `Image.rotate`, except where a source point
    is within rounding error of the border between two pixels.

    Args:
        images: Tensor of shape (n, c, h, w), uint8.
        degrees: The angle.

    Returns:
        Tensor of the same shape and type.

    Example:
        >>> import torch
        >>> from casper.streams import rotate
        >>> rotate(torch.tensor([[[[1, 2], [3, 4]]]], dtype=torch.uint8), 90).tolist()
        [[[[2, 4], [1, 3]]]]
    """
    height, width = images.shape[-2:]
    angle = math.radians(degrees)
    cosine, sine = math.cos(angle), math.sin(angle)
    y, x = torch.meshgrid(
        torch.arange(height, dtype=torch.float64) + 0.5 - height / 2,
        torch.arange(width, dtype=torch.float64) + 0.5 - width / 2,
        indexing="ij",
    )
    # The source of each target pixel. The small shift makes right angles exact, whose sine is off by 1e-16.
    source_x = (cosine * x - sine * y + width / 2 + 1e-9).floor().long()
    source_y = (sine * x + cosine * y + height / 2 + 1e-9).floor().long()
    inside = (source_x >= 0) & (source_x < width) & (source_y >= 0) & (source_y < height)
    flat = (source_y.clamp(0, height - 1) * width + source_x.clamp(0, width - 1)).to(images.device)
    gathered = images.flatten(2)[:, :, flat.flatten()].view_as(images)
    return gathered * inside.to(images.device)


def random_angles(num_tasks: int, generator: Generator) -> list[float]:
    """Draw one angle in [0, 180) degrees per task, in task order.

    Example:
        >>> import torch
        >>> from casper.streams import random_angles
        >>> angles = random_angles(5, torch.Generator().manual_seed(0))
        >>> len(angles), all(0 <= angle < 180 for angle in angles)
        (5, True)
    """
    return [180 * value for value in torch.rand(num_tasks, generator=generator, dtype=torch.float64).tolist()]


def rotated_stream(
    train: ImageSet,
    test: ImageSet,
    *,
    angles: Sequence[float],
    transform: Transform,
    class_names: Sequence[str] | None = None,
    about: str = "",
) -> TaskStream:
    """Create one task per angle, with the whole data set; its training and test images are rotated by that angle.

    Args:
        train: The training images, labels 0..N-1.
        test: The test images.
        angles: One angle per task, in degrees.
        transform: Converts images to network inputs.
        class_names: The name of each label. Default: the label as text.
        about: See `TaskStream`.

    Returns:
        The stream; the images of a task are rotated on first access.

    Example:
        >>> import torch
        >>> from casper import ImageSet, Transform, rotated_stream
        >>> image = torch.tensor([[1, 2], [3, 4]], dtype=torch.uint8)
        >>> data = ImageSet(image.view(1, 1, 2, 2), torch.tensor([0]))
        >>> stream = rotated_stream(data, data, angles=[0, 90], transform=Transform((0.5,), (0.5,)))
        >>> stream[1].train.images.squeeze().tolist()
        [[2, 4], [1, 3]]
    """
    num_classes = int(train.labels.max()) + 1
    classes = tuple(range(num_classes))

    def make_task(index: int) -> Task:
        def rotated(data: ImageSet) -> ImageSet:
            return ImageSet(rotate(data.images, angles[index]), data.labels)

        return Task(lambda: rotated(train), lambda: rotated(test), classes, index, len(angles))

    channels, height, width = train.images.shape[1:]
    return TaskStream(
        make_task,
        range(len(angles)),
        "domain",
        num_classes,
        (channels, height, width),
        transform,
        tuple(class_names or map(str, classes)),
        about,
    )
