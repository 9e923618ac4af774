"""The rehearsal memory: storage, insertion policies, sampling for replay, and selection of exemplars.

Example:
    >>> import torch
    >>> from casper.memory import Buffer, reservoir
    >>> buffer, generator = Buffer(4, (1, 8, 8)), torch.Generator().manual_seed(0)
    >>> images = torch.zeros(10, 1, 8, 8, dtype=torch.uint8)
    >>> buffer.insert(images, torch.arange(10) % 2, policy=reservoir, generator=generator)
    >>> len(buffer), buffer.seen
    (4, 10)
"""

from casper.memory.buffer import Buffer, Column
from casper.memory.class_index import ClassIndex
from casper.memory.insertion import Policy, balanced_reservoir, reservoir
from casper.memory.ring import Ring
from casper.memory.sampling import balanced_rows, uniform_rows
from casper.memory.selection import even_quotas, first_of_each, herd

__all__ = [
    "Buffer",
    "ClassIndex",
    "Column",
    "Policy",
    "Ring",
    "balanced_reservoir",
    "balanced_rows",
    "even_quotas",
    "first_of_each",
    "herd",
    "reservoir",
    "uniform_rows",
]
