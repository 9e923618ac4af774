"""Derive many independent, named random generators from one seed.

casper draws from PyTorch's global generator only where PyTorch offers no alternative: initialisation, dropout and
similar. All other draws come from named generators, so an additional draw in one place changes no draw elsewhere. The
generators are on the CPU, so the same seed draws the same items on every device.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

# The generators of the trainer and the method. Every regularizer has one more, under its name.
METHOD_GENERATORS = ("order", "augment", "memory", "replay")


def named_seed(seed: int, name: str) -> int:
    """Derive the seed of the generator `name`; different names give unrelated seeds."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{name}".encode()).digest()[:8], "little") >> 1


def named_generator(seed: int, name: str) -> torch.Generator:
    """Create the generator `name` of a seed."""
    return torch.Generator().manual_seed(named_seed(seed, name))


def method_generators(seed: int) -> dict[str, torch.Generator]:
    """Create the four generators of the trainer and the method."""
    return {name: named_generator(seed, name) for name in METHOD_GENERATORS}


def generator_states(generators: Mapping[str, torch.Generator]) -> dict[str, torch.Tensor]:
    """Return the states of several generators, for a checkpoint."""
    return {name: generator.get_state() for name, generator in generators.items()}


def set_generator_states(generators: Mapping[str, torch.Generator], states: Mapping[str, torch.Tensor]) -> None:
    """Restore the states returned by `generator_states`."""
    for name, generator in generators.items():
        generator.set_state(states[name])


def global_state() -> dict[str, torch.Tensor]:
    """Return the state of PyTorch's global generators: the CPU's and, if in use, the current GPU's."""
    state = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def set_global_state(state: Mapping[str, torch.Tensor]) -> None:
    """Restore the state returned by `global_state`; the GPU's only if a GPU is available."""
    torch.set_rng_state(state["cpu"])
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])


def seed_everything(seed: int, device: str) -> None:
    """Seed the global generators and, on a GPU, select deterministic algorithms."""
    torch.manual_seed(named_seed(seed, "global"))
    if device.startswith("cuda"):
        if ":" in device:
            torch.cuda.set_device(device)  # its global generator is saved and restored
        torch.backends.cudnn.benchmark = False
        torch.use_deterministic_algorithms(True, warn_only=True)


class OwnRandomness:
    """A private generator and a private state of the global generators.

    Inside `with randomness.acting():` the global generators (dropout, drop-connect) continue from their state at the
    end of the previous such block. After the block they are as before.
    """

    def __init__(self, seed: int, name: str) -> None:
        self.generator = named_generator(seed, name)
        self._seed = named_seed(seed, f"{name}/global")
        self._global: dict[str, torch.Tensor] | None = None

    @contextmanager
    def acting(self) -> Iterator[torch.Generator]:
        """Yield the generator, with the global generators in the private state."""
        devices = [torch.cuda.current_device()] if torch.cuda.is_available() and torch.cuda.is_initialized() else []
        with torch.random.fork_rng(devices=devices):
            if self._global is None:
                torch.manual_seed(self._seed)
            else:
                set_global_state(self._global)
            yield self.generator
            self._global = global_state()

    def state_dict(self) -> dict[str, Any]:
        """Return the states of the generators."""
        return {"generator": self.generator.get_state(), "global": self._global}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state."""
        self.generator.set_state(state["generator"])
        self._global = state["global"]
