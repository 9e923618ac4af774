"""Options that several commands share, and what their values must be."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_args

from typer import Option

from casper.config import KINDS, ConfigError, Options
from casper.config.errors import WITHOUT_FLAG

MOST_THREADS = 1024

SettingsOption = Annotated[
    list[str] | None,
    Option(
        "--set",
        metavar="KEY=VALUE",
        help="Any other setting, such as `casper.weight=1e-3`, `backbone.width=64` or `milestones=[35,45]`; "
        "may be repeated.",
    ),
]
ProtocolOption = Annotated[
    str | None,
    Option(
        help="`paper`: the paper's network, epochs and schedule. `desk`: the same stream and hyper-parameters in "
        "minutes on one CPU core (small network, few epochs, smaller images). "
        "Default: paper on the paper's streams, the stream's own settings on others."
    ),
]
PresetOption = Annotated[
    Path | None,
    Option(
        help="A file with settings of your own, such as `casper search` writes; weaker than --config, "
        "stronger than --protocol."
    ),
]
DataDirOption = Annotated[
    Path | None,
    Option(
        help="Where data sets lie as parquet files, such as DIR/cifar100/train.parquet. "
        "Looked into first, then the directory in CASPER_DATA, then the hub."
    ),
]
DeviceOption = Annotated[str, Option(help="auto, cpu, cuda or cuda:N.")]
ThreadsOption = Annotated[int | None, Option(help="CPU threads. Default: PyTorch's choice.")]
EveryOption = Annotated[
    str,
    Option(
        metavar="auto|30s|200steps|task|never",
        help="How often the run's state is written; a crash costs what was done since. auto: every half minute, or "
        "as often as costs 2 % of the time, but every minute. never: only at the end, and when stopped.",
    ),
]


@dataclass(frozen=True)
class HowToRun:
    """The options of a command that makes many runs."""

    jobs: Annotated[
        int | None,
        Option(
            help="How many runs at a time, each a process with its share of the cores. Default: one per core, or GPU."
        ),
    ] = None
    dry_run: Annotated[bool, Option("--dry-run", help="List the runs and how far each is; run nothing.")] = False
    data_dir: Annotated[Path | None, Option(help="Where data sets are looked for first, as in `run`.")] = None
    device: Annotated[str, Option(help="auto, cpu, cuda (spread over all GPUs) or cuda:N.")] = "auto"
    threads: Annotated[int | None, Option(help="CPU threads of each run. Default: its share of the cores.")] = None
    checkpoint_every: Annotated[str, Option(metavar="auto|30s|200steps|task|never", help="As in `run`.")] = "auto"
    analyse: Annotated[bool, Option("--analyse", help="Look into every run's latent space, as in `run`.")] = False
    keep_checkpoints: Annotated[
        bool, Option("--keep-checkpoints", help="Keep every run's state after every task, as in `run`.")
    ] = False
    estimated: Annotated[
        bool, Option("--estimate/--no-estimate", help="Say first how long it may take, by the runs that are done.")
    ] = True


Command = Callable[..., None]


def makes_many_runs(command: Command) -> Command:
    """Give a command the options in `HowToRun`, which it takes as `how`."""
    options = inspect.signature(HowToRun).parameters.values()
    return _with_options(command, "how", options, lambda values: HowToRun(**values))


def with_run_options(*names: str) -> Callable[[Command], Command]:
    """Give a command the options of a run, all or some; it takes those that were given as `flags`.

    They are declared once, as the fields of `casper.config.Options`.
    """
    chosen = names or tuple(name for name in Options.model_fields if name not in WITHOUT_FLAG)
    options = [_as_parameter(name) for name in chosen]

    def given(values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in values.items() if value is not None}

    return lambda command: _with_options(command, "flags", options, given)


def _as_parameter(name: str) -> inspect.Parameter:
    field = Options.model_fields[name]
    types = (field.annotation, *get_args(field.annotation))
    kind: Any = next((kind for kind in (bool, int, float, list[str]) if kind in types), str)
    fraction = "FRACTION" if kind is float and name != "lr" else None
    completion = _completing(KINDS[name]) if name in KINDS else None
    option = Option(help=field.description, metavar=fraction, show_default=False, autocompletion=completion)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option]
    )


def _completing(names: Iterable[str]) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return complete


def _with_options(
    command: Command, argument: str, options: Iterable[inspect.Parameter], gather: Callable[[dict[str, Any]], Any]
) -> Command:
    """Put options into a command's signature in the place of one argument, which takes their gathered values."""
    added = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in options]

    @wraps(command)
    def taking_options(**values: Any) -> None:
        gathered = gather({option.name: values.pop(option.name) for option in added})
        command(**values, **{argument: gathered})

    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        parameters += added if name == argument else [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)]
    taking_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    taking_options.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return taking_options


def joined(flags: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Join options and what was given with --set; a key in both is refused."""
    if twice := sorted(flags.keys() & settings.keys()):
        raise ConfigError(f"{twice[0]} must be given once, but got it as an option and with --set")
    return {**flags, **settings}


def choose_device(name: str) -> str:
    """Turn `auto`, `cpu`, `cuda` or `cuda:N` into a device that is there, or raise `ConfigError`."""
    import torch

    if not re.fullmatch(r"auto|cpu|cuda(:\d{1,4})?", name):
        raise ConfigError(f"--device must be auto, cpu, cuda or cuda:N, but got {name!r}")
    available = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto":
        return "cuda" if available else "cpu"
    if name.startswith("cuda") and int(name.partition(":")[2] or 0) >= available:
        raise ConfigError(f"--device {name} must be a GPU of this machine, but got {available} GPUs")
    return name


def use_threads(threads: int | None) -> None:
    """Set how many threads PyTorch computes with; None: leave that to PyTorch."""
    import torch

    if threads is None:
        return
    if not 1 <= threads <= MOST_THREADS:
        raise ConfigError(f"--threads must be in 1..{MOST_THREADS}, but got {threads}")
    torch.set_num_threads(threads)
