"""Build the trainer of a configuration."""

from collections.abc import Callable, Sequence
from functools import partial

from casper.config.build_part import build_part
from casper.config.errors import ConfigError, explained
from casper.config.options import RunConfig
from casper.config.parameters import takes
from casper.config.registry import find_part
from casper.config.stream_options import stream_arguments
from casper.errors import ParameterError
from casper.streams import TaskStream, embed, hide_labels, hold_out
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
    method = build_part(config, "method", options.method)
    regularizers = [build_part(config, "regularizer", name) for name in options.regularizer]
    for name, regularizer in zip(options.regularizer, regularizers, strict=True):
        try:
            regularizer.check(batch_size=options.batch_size)
        except ParameterError as error:
            hint = f"--set {name}.{error.parameter}=VALUE or --regularizer none may help"
            raise ConfigError(f"{explained(error, name)}; {hint}") from error
    stream = build_stream(config, device=device, data_dir=data_dir)
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


def build_stream(config: RunConfig, *, device: str = "cpu", data_dir: str | None = None) -> TaskStream:
    """Build the stream of a configuration, with all its images; behind a trunk, their features are computed.

    Args:
        config: The configuration of the run.
        device: The device that computes features.
        data_dir: The directory to search for data sets first.

    Raises:
        ConfigError: If stream or trunk reject their hyper-parameters.
        DataError: If the images are not available or not valid, or features cannot be stored.

    Example:
        >>> from casper.config import resolve_config
        >>> from casper.runs import build_stream
        >>> len(build_stream(resolve_config({"stream": "split-digits", "tasks": 2})))
        2
    """
    options = config.options
    trunk = None if options.trunk is None else build_part(config, "trunk", options.trunk)
    stream = build_part(config, "stream", options.stream, stream_arguments(options, data_dir))
    try:
        return stream if trunk is None else embed(stream, trunk, device=device, tests=options.validation is None)
    except ParameterError as error:
        raise explained(error) from error
