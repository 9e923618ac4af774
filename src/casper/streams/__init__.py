"""Streams of tasks, and the transforms that turn their images into network inputs.

Example:
    >>> from casper.streams import split_digits
    >>> [task.classes for task in split_digits()]
    [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9)]
"""

from casper.streams.class_split import ClassOrder, class_split, split_images
from casper.streams.custom import split_folder, split_hub, split_npz
from casper.streams.digits import load_digits, rotated_digits, split_digits
from casper.streams.embed import VectorTransform, embed
from casper.streams.rotation import random_angles, rotate, rotated_stream
from casper.streams.standard import (
    rotated_mnist,
    split_cifar10,
    split_cifar100,
    split_fashion_mnist,
    split_mini_imagenet,
    split_mnist,
)
from casper.streams.stream import TaskStream
from casper.streams.strong_augment import strong_view
from casper.streams.subsets import hide_labels, hold_out, shortened
from casper.streams.transform import Transform, normalize, random_view

__all__ = [
    "ClassOrder",
    "TaskStream",
    "Transform",
    "VectorTransform",
    "class_split",
    "embed",
    "hide_labels",
    "hold_out",
    "load_digits",
    "normalize",
    "random_angles",
    "random_view",
    "rotate",
    "rotated_digits",
    "rotated_mnist",
    "rotated_stream",
    "shortened",
    "split_cifar10",
    "split_cifar100",
    "split_digits",
    "split_fashion_mnist",
    "split_folder",
    "split_hub",
    "split_images",
    "split_mini_imagenet",
    "split_mnist",
    "split_npz",
    "strong_view",
]
