"""Check the kinds of all values in a checkpoint before it is loaded: it may come from somebody else."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from casper.config.errors import ConfigError, explained
from casper.errors import ParameterError
from casper.runs.directory import RunDirectory
from casper.training import CheckpointError, Trainer

# What the parts of a trainer raise for a state that does not fit them.
UNFIT = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)

# The values of the latent space that are printed at the end of a run.
_LATENT = ("same_class_variance_ratio", "knn_5_majority", "knn_11_majority")

# The parts whose dictionaries have the same keys during the whole run.
_EXACT = ("position", "seconds", "record", "recalibrated_record")


class StateKinds:
    """The kinds of the values in the state of a trainer, taken from the state that it has before it is run.

    A value that is None before the run may be None, a tensor or a dictionary; in a list, None or a number. User-defined
    methods and regularizers may store any plain values.

    Example:
        >>> from casper.config import resolve_config
        >>> from casper.runs.build import build_trainer
        >>> from casper.runs.state_kinds import StateKinds
        >>> trainer = build_trainer(resolve_config({"method": "er"}))
        >>> StateKinds(trainer).check({**trainer.state_dict(), "steps": "five"})
        Traceback (most recent call last):
        ...
        ValueError: steps must be an integer in [0, 2^62), but got str
    """

    def __init__(self, trainer: Trainer) -> None:
        self._state: dict[str, Any] = {**trainer.state_dict(), "pieces": []}
        if not all(type(part).__module__.startswith("casper.") for part in (trainer.method, *trainer.regularizers)):
            self._state |= {"method": {}, "regularizers": []}
        self._batch_size, self._epochs = trainer.batch_size, trainer.epochs
        self._rows, self._sets = [phase.row for phase in trainer.phases], len(trainer.stream)
        self._classes, self._least_label = trainer.stream.num_classes, -1 if trainer.stream.hides_labels else 0
        optimizer = trainer.make_optimizer()
        scheduler = trainer.make_scheduler(optimizer)
        self._optimizer = optimizer.state_dict()["param_groups"]
        self._shapes = [weight.shape for group in optimizer.param_groups for weight in group["params"]]
        self._scheduler = None if scheduler is None else scheduler.state_dict()

    def check(self, state: Mapping[str, Any]) -> None:
        """Raise `ValueError` for a value of another kind; its message names the place of the value."""
        _check(self._state, state, "")
        self._check_position(state)
        self._check_tensors(state)
        if state["statistics"] is not None:
            size = sum(len(part) for name, part in state["net"].items() if ".running_" in f".{name}")
            _check(torch.zeros(size), state["statistics"], "statistics", shaped=True)
        for number, part in enumerate(state["regularizers"] if self._state["regularizers"] else ()):
            for name, kind in (("global", self._state["global_generators"]), ("old", self._state["net"])):
                value = part["randomness"]["global"] if name == "global" else part.get("old")
                if value is not None:
                    _check(kind, value, f"regularizers.{number}.{name}", shaped=True)
        if latent := state["latent"]:
            _check({"same_class_variance": 0.0}, latent, "latent")
            _check(dict.fromkeys(_LATENT), dict.fromkeys(latent), "latent")
            for name, value in latent.items():  # without a memory some are None
                _check(None, value, f"latent.{name}", in_list=True)
        if state["optimizer"] is not None:
            self._check_optimizer(state["optimizer"])
            if self._scheduler is not None:
                _check(self._scheduler, state["scheduler"], "scheduler")

    def _check_position(self, state: Mapping[str, Any]) -> None:
        position, phases = state["position"], len(self._rows)
        phase, stage, images, order = (position[name] for name in ("phase", "stage", "images", "order"))
        first, last = stage == "untrained", stage == "next"
        if phase > (0 if first else phases if last else phases - 1):
            raise ValueError(f"position.phase must be one of the {phases} of this run, but got {phase}")
        if bool(images) != (stage in ("training", "testing")):
            raise ValueError(f"position.images must be at least 1 within a task and 0 between tasks, but got {images}")
        if position["steps_per_epoch"] != -(-images // self._batch_size):
            raise ValueError("position.steps_per_epoch must be that of the images")
        if position["step"] > (most := self._epochs * position["steps_per_epoch"]):
            raise ValueError(f"position.step must be at most {most}, but got {position['step']}")
        if order is not None:
            _check(torch.zeros(0, dtype=torch.int64), order, "position.order")
            if len(order) != images or not torch.equal(order.sort().values.cpu(), torch.arange(images)):
                raise ValueError("position.order must list every image of the task once")
        sets = self._sets if first or (last and phase == phases) else 0
        if stage == "testing":
            row = self._rows[phase]
            sets = min(row + 2, self._sets) + (row + 1) * (state["recalibrated_record"] is not None)
        if position["tested"] > sets:
            raise ValueError(f"position.tested must be at most {sets}, but got {position['tested']}")
        if not state["latent"] and len(state["features"]) != (position["tested"] if last else 0):
            raise ValueError(f"features must be those of {position['tested']} test sets")

    def _check_tensors(self, state: Mapping[str, Any]) -> None:
        labels = state["memory"]["labels"]
        if len(labels) and not (labels.min() >= self._least_label and labels.max() < self._classes):
            raise ValueError(f"memory.labels must be in [{self._least_label}, {self._classes - 1}]")
        for name, value in state["net"].items():
            if name.endswith("running_var") and not (value >= 0).all():
                raise ValueError(f"net.{name} must be at least 0")
        for place, generator in (
            ("generators", state["generators"]),
            ("global_generators", state["global_generators"]),
        ):
            for name, value in generator.items():
                if name != "cuda" and value.device.type == "cpu":
                    try:
                        torch.Generator().set_state(value)
                    except RuntimeError as error:
                        raise ValueError(f"{place}.{name} must be the state of a random generator") from error

    def _check_optimizer(self, state: Mapping[str, Any]) -> None:
        _check({"state": {}, "param_groups": self._optimizer}, state, "optimizer")
        for settings, expected in zip(state["param_groups"], self._optimizer, strict=True):
            for name in settings.keys() & expected.keys() - {"lr", "initial_lr"}:
                if settings[name] != expected[name]:
                    raise ValueError(f"optimizer.{name} must be that of the configuration")
        for number, parts in state["state"].items():
            if number not in range(len(self._shapes)) or not isinstance(parts, dict):
                raise ValueError("optimizer.state must have a dictionary for each weight")
            for name, value in parts.items():
                place = f"optimizer.state.{number}.{name}"
                if name == "step" and not isinstance(value, Tensor):
                    _check(0, value, place)
                elif value is not None or name != "momentum_buffer":
                    _check(torch.zeros(() if name == "step" else self._shapes[number]), value, place, shaped=True)
                    if name == "step" and not value >= 0:
                        raise ValueError(f"{place} must be at least 0")


def load_trainer(trainer: Trainer, kinds: StateKinds, directory: RunDirectory, file: Path, config: str) -> None:
    """Load one checkpoint of a finished run into a trainer; raises `ConfigError` if it cannot be used."""
    try:
        state = directory.load_state(file, config)["trainer"]
        kinds.check(state)
        trainer.load_state_dict(state)
    except CheckpointError as error:
        raise ConfigError(str(error)) from error
    except ParameterError as error:
        raise explained(error) from error
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from error
    except UNFIT as error:
        raise misfit(str(file), error) from error


def misfit(what: str, error: Exception) -> ConfigError:
    """Build the error for a checkpoint that cannot be loaded."""
    return ConfigError(f"{what} does not fit this version of casper: {' '.join(str(error).split())[:200]}")


def _check(kind: Any, value: Any, place: str, *, in_list: bool = False, shaped: bool = False) -> None:
    """Compare a value with one of the right kind, and all values in it; if `shaped`, also the shapes of tensors."""
    wanted = ""
    if isinstance(kind, Mapping):
        if isinstance(value, dict):
            if place.partition(".")[0] in _EXACT and (unknown := sorted(map(str, value.keys() - kind.keys()))):
                raise ValueError(f"{place} must not have {unknown[0]}")
            for key, part in kind.items():
                if key not in value:
                    raise ValueError(f"{place or 'it'} must have {key}")
                _check(part, value[key], f"{place}.{key}".removeprefix("."), shaped=shaped)
            return
        wanted = "a dictionary"
    elif isinstance(kind, list | tuple):
        if isinstance(value, list | tuple) and len(kind) in (0, len(value)):
            for number, part in enumerate(kind):
                _check(part, value[number], f"{place}.{number}", in_list=True, shaped=shaped)
            return
        wanted = f"a list of {len(kind)}" if kind else "a list"
    elif isinstance(kind, Tensor):
        fits = isinstance(value, Tensor) and (value.dtype, value.dim()) == (kind.dtype, kind.dim())
        fits = fits and (not shaped or value.shape == kind.shape)
        shape = f"shape {tuple(kind.shape)}" if shaped else f"{kind.dim()} dimensions"
        wanted = "" if fits else f"a tensor of {kind.dtype} with {shape}"
    elif isinstance(kind, bool | str):
        wanted = "" if type(value) is type(kind) else type(kind).__name__
    elif kind is not None or (in_list and value is not None):
        numeric = isinstance(value, int | float) and not isinstance(value, bool)
        fits = numeric and math.isfinite(value) and abs(value) < 2**62 and (not isinstance(kind, int) or value >= 0)
        whole = not isinstance(kind, int) or isinstance(value, int)
        wanted = "" if fits and whole else "an integer in [0, 2^62)" if isinstance(kind, int) else "a finite number"
    elif not isinstance(value, dict | Tensor | None):
        wanted = "a tensor or a dictionary"
    if wanted:
        raise ValueError(f"{place or 'it'} must be {wanted}, but got {type(value).__name__}")
