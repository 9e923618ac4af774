"""Data sets: the Hugging Face hub, parquet files, image folders and NumPy files, decoded once into tensors.

`find` and `find_on_hub` locate a data set and return a `Source`; `load` decodes a source into a `DecodedSet` and stores
the result in a cache.
"""

from casper.data.cache import DecodedSet, cache_directory, cache_entries, load, vector_cache_directory
from casper.data.catalog import (
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
from casper.data.dataset import RawSet, Source, Split
from casper.data.features import VectorCache
from casper.data.folder import ImageFolder
from casper.data.hub import Hub
from casper.data.npz import NpzFile
from casper.data.parquet import ParquetFolder

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
    "VectorCache",
    "cache_directory",
    "cache_entries",
    "find",
    "find_locally",
    "find_on_hub",
    "load",
    "vector_cache_directory",
]
