"""The rehearsal memory: what is kept, what is thrown out, what is replayed."""

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
