"""One seed, many independent streams of random numbers, each with a name.

Nothing in casper draws from PyTorch's global generator but what PyTorch leaves no other way: initialisation, dropout
and the like. All other draws come from a generator of their own, so that adding a draw in one place changes nothing
anywhere else. They live on the CPU: the same seed then draws the same items on every device.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

# The method's own draws. Every regularizer has one more, under its own name.
METHOD_GENERATORS = ("order", "augment", "memory", "replay")


def named_seed(seed: int, name: str) -> int:
    """Derive the seed of the stream `name`; different names give unrelated numbers."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{name}".encode()).digest()[:8], "little") >> 1


def named_generator(seed: int, name: str) -> torch.Generator:
    """Make the generator of the stream `name` of a seed."""
    return torch.Generator().manual_seed(named_seed(seed, name))


def method_generators(seed: int) -> dict[str, torch.Generator]:
    """Make the four generators that trainer and method draw from."""
    return {name: named_generator(seed, name) for name in METHOD_GENERATORS}


def generator_states(generators: Mapping[str, torch.Generator]) -> dict[str, torch.Tensor]:
    """Read the state of several generators, for a checkpoint."""
    return {name: generator.get_state() for name, generator in generators.items()}


def set_generator_states(generators: Mapping[str, torch.Generator], states: Mapping[str, torch.Tensor]) -> None:
    """Put back what `generator_states` has read."""
    for name, generator in generators.items():
        generator.set_state(states[name])


def global_state() -> dict[str, torch.Tensor]:
    """Read the state of PyTorch's global generators: the CPU's and, where there is one, the current GPU's."""
    state = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def set_global_state(state: Mapping[str, torch.Tensor]) -> None:
    """Put back what `global_state` has read; a GPU's, where there is one."""
    torch.set_rng_state(state["cpu"])
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])


def seed_everything(seed: int, device: str) -> None:
    """Seed the global generators, and on a GPU ask for algorithms that give the same bits twice."""
    torch.manual_seed(named_seed(seed, "global"))
    if device.startswith("cuda"):
        if ":" in device:
            torch.cuda.set_device(device)  # the one whose global generator is saved and lent
        torch.backends.cudnn.benchmark = False
        torch.use_deterministic_algorithms(True, warn_only=True)


class OwnRandomness:
    """A generator, and a state of the global generators, that belong to one owner.

    Inside `with own.acting():` the global generators (dropout, drop-connect) run on from where this owner left them;
    afterwards everyone else finds them untouched.
    """

    def __init__(self, seed: int, name: str) -> None:
        self.generator = named_generator(seed, name)
        self._seed = named_seed(seed, f"{name}/global")
        self._global: dict[str, torch.Tensor] | None = None

    @contextmanager
    def acting(self) -> Iterator[torch.Generator]:
        """Lend the generator, with the global ones in this owner's state."""
        devices = [torch.cuda.current_device()] if torch.cuda.is_available() and torch.cuda.is_initialized() else []
        with torch.random.fork_rng(devices=devices):
            if self._global is None:
                torch.manual_seed(self._seed)
            else:
                set_global_state(self._global)
            yield self.generator
            self._global = global_state()

    def state_dict(self) -> dict[str, Any]:
        """Return all that changes as draws are made."""
        return {"generator": self.generator.get_state(), "global": self._global}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state."""
        self.generator.set_state(state["generator"])
        self._global = state["global"]
