"""Build the trainer of a configuration."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from casper.config.errors import ConfigError, explained
from casper.config.options import RunConfig
from casper.config.parameters import takes
from casper.config.registry import Kind, find_part
from casper.config.resolve import STREAM_ARGUMENTS, stream_arguments
from casper.errors import DataError, ParameterError
from casper.streams import TaskStream, hide_labels, hold_out
from casper.training import Listener, Trainer


def build_trainer(
    config: RunConfig,
    *,
    device: str = "cpu",
    data_dir: str | None = None,
    listeners: Sequence[Listener] = (),
    shown: Callable[[TaskStream], TaskStream] = lambda stream: stream,
) -> Trainer:
    """Build the trainer of a configuration, with its stream, method, regularizers and network.

    Args:
        config: The configuration of the run.
        device: The device to train on.
        data_dir: The directory to search for data sets first.
        listeners: Functions that are called with every event of the training.
        shown: Converts the stream of the configuration to the one that is trained on.

    Raises:
        ConfigError: If a part rejects its hyper-parameters, or the parts do not fit together.
        DataError: If the stream's images are not available or not valid.

    Example:
        >>> from casper.config import resolve_config
        >>> from casper.runs import build_trainer
        >>> trainer = build_trainer(resolve_config({"method": "der++", "epochs": 1}))
        >>> len(trainer.stream), trainer.epochs
        (5, 1)
    """
    options = config.options
    backbone = find_part("backbone", options.backbone)
    # Build the parts that need no images first: decoding images may take a while.
    method = _build(config, "method", options.method)
    regularizers = [_build(config, "regularizer", name) for name in options.regularizer]
    for name, regularizer in zip(options.regularizer, regularizers, strict=True):
        try:
            regularizer.check(batch_size=options.batch_size)
        except ParameterError as error:
            hint = f"--set {name}.{error.parameter}=VALUE or --regularizer none may help"
            raise ConfigError(f"{explained(error, name)}; {hint}") from error
    stream = _build(config, "stream", options.stream, stream_arguments(options, data_dir))
    if not isinstance(stream, TaskStream):
        raise ConfigError(f"--stream {options.stream} must return a TaskStream, but got {type(stream).__name__}")
    try:
        if options.validation is not None:
            stream = hold_out(stream, options.validation)
        if options.labels is not None or options.labels_per_class is not None:
            budget = {"fraction": options.labels, "per_class": options.labels_per_class}
            stream = hide_labels(stream, **budget, seed=options.seed)  # type: ignore[arg-type]
        return Trainer(
            shown(stream),
            method,
            regularizers=regularizers,
            backbone=partial(backbone, **config.hyper.get("backbone", {})),
            buffer_size=options.buffer_size,
            epochs=options.epochs,
            batch_size=options.batch_size,
            lr=options.lr,
            milestones=options.milestones,
            gamma=options.gamma,
            seed=options.seed,
            device=device,
            precision=options.precision,
            recalibrate=options.recalibrate,
            listeners=listeners,
        )
    except ParameterError as error:
        if error.parameter == "image_shape":
            message = f"--backbone {options.backbone} needs images of {error.requirement}, but got {error.found}"
            raise ConfigError(message) from error
        owners = {"backbone": backbone, options.method: find_part("method", options.method)}
        owner = next((name for name, part in owners.items() if takes(part, error.parameter)), None)
        raise explained(error, owner) from error
    except (MemoryError, OverflowError, RuntimeError, TypeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ConfigError(f"the network and the memory cannot be allocated: {reason}") from error


def _build(config: RunConfig, kind: Kind, name: str, arguments: dict[str, Any] | None = None) -> Any:
    try:
        return find_part(kind, name)(**config.hyper.get(name, {}), **(arguments or {}))
    except ParameterError as error:
        option = STREAM_ARGUMENTS.get(error.parameter) if kind == "stream" else None
        raise explained(error, None if option else name, option) from error
    except DataError:
        raise
    except (TypeError, ValueError) as error:  # a custom class may raise errors with any message
        raise ConfigError(f"--{kind} {name} rejects its hyper-parameters: {error}") from error
