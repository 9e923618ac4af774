"""Streams of tasks, and how their images are shown to a network."""

from casper.streams.augment import Transform, normalize, random_crop, random_flip
from casper.streams.class_split import class_split
from casper.streams.digits import load_digits, rotated_digits, split_digits
from casper.streams.rotation import random_angles, rotate, rotated_stream
from casper.streams.stream import TaskStream

__all__ = [
    "TaskStream",
    "Transform",
    "class_split",
    "load_digits",
    "normalize",
    "random_angles",
    "random_crop",
    "random_flip",
    "rotate",
    "rotated_digits",
    "rotated_stream",
    "split_digits",
]
