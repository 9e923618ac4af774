"""Where images come from: the hub, local parquet files, a folder of images, arrays; decoded once, then tensors."""

from casper.streams.sources.cache import DecodedSet, cache_directory, cache_entries, load
from casper.streams.sources.folder import ImageFolder
from casper.streams.sources.hub import Hub
from casper.streams.sources.known import (
    CIFAR10,
    CIFAR100,
    FASHION_MNIST,
    KNOWN_SETS,
    MINI_IMAGENET,
    MNIST,
    KnownSet,
    find,
    find_locally,
    find_on_hub,
)
from casper.streams.sources.npz import NpzFile
from casper.streams.sources.parquet import ParquetFolder
from casper.streams.sources.source import RawSet, Source, Split

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "FASHION_MNIST",
    "KNOWN_SETS",
    "MINI_IMAGENET",
    "MNIST",
    "DecodedSet",
    "Hub",
    "ImageFolder",
    "KnownSet",
    "NpzFile",
    "ParquetFolder",
    "RawSet",
    "Source",
    "Split",
    "cache_directory",
    "cache_entries",
    "find",
    "find_locally",
    "find_on_hub",
    "load",
]
