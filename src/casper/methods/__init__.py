"""Methods: ways to learn from a stream of tasks, one per file."""

from casper.methods.base import Method, NonFiniteLossError, Phase
from casper.methods.er import ER
from casper.methods.er_ace import ERACE
from casper.methods.finetune import Finetune
from casper.methods.joint import Joint

__all__ = ["ER", "ERACE", "Finetune", "Joint", "Method", "NonFiniteLossError", "Phase"]
