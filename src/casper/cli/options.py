"""Options that several commands share, and the checks of their values.

Every option belongs to a panel of the `--help` page. Metavars are short, so that a page fits into 80 columns.
"""

import inspect
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_args

from typer import Option

from casper.cli.console import say
from casper.config import KINDS, ConfigError, Options
from casper.config.errors import WITHOUT_FLAG, explained
from casper.config.options import MOST_THREADS
from casper.errors import ParameterError
from casper.formatting import counted

# The panels of a `--help` page, in their order.
PANELS = ("What to run", "Training", "Data", "Evaluation and analysis", "Output and resuming", "Machine", "Help")
WHAT, TRAINING, DATA, EVALUATION, OUTPUT, MACHINE, _ = PANELS
# The panel and the metavar of each option that is a field of `casper.config.Options`.
_RUN_OPTIONS = {
    "stream": (WHAT, "NAME"),
    "method": (WHAT, "NAME"),
    "regularizer": (WHAT, "NAME"),
    "backbone": (WHAT, "NAME"),
    "trunk": (WHAT, "NAME"),
    "seed": (WHAT, "N"),
    "buffer_size": (TRAINING, "N|SIZE"),
    "epochs": (TRAINING, "N"),
    "batch_size": (TRAINING, "N"),
    "lr": (TRAINING, "X"),
    "precision": (TRAINING, "NAME"),
    "tasks": (DATA, "N"),
    "class_order": (DATA, "ORDER"),
    "image_size": (DATA, "N"),
    "labels": (DATA, "FRACTION"),
    "labels_per_class": (DATA, "N"),
    "validation": (EVALUATION, "FRACTION"),
    "recalibrate": (EVALUATION, ""),
}

SettingsOption = Annotated[
    list[str] | None,
    Option(
        "--set",
        metavar="KEY=VALUE",
        help="Any other setting, such as `casper.weight=1e-3`, `backbone.width=64` or `milestones=[35,45]`; "
        "may be repeated.",
        rich_help_panel=WHAT,
    ),
]
ProtocolOption = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="`paper`: the paper's network, epochs and schedule. `desk`: the same stream and hyper-parameters in "
        "minutes on one CPU core (small network, few epochs, smaller images). `pretrained`: a frozen network with "
        "ImageNet weights in front of a small one, for any stream; a minute on one core. "
        "Default: paper on the paper's streams, the stream's preset on others.",
        rich_help_panel=WHAT,
    ),
]
PresetOption = Annotated[
    Path | None,
    Option(
        metavar="FILE",
        help="A file of settings, such as `casper search` writes. It overrides --protocol.",
        rich_help_panel=WHAT,
    ),
]
DataDirOption = Annotated[
    Path | None,
    Option(
        metavar="DIR",
        help="Directory of data sets as parquet files, such as DIR/cifar100/train.parquet. "
        "It is searched first, then the directory in CASPER_DATA, then the hub.",
        rich_help_panel=DATA,
    ),
]
MaxDecodedSizeOption = Annotated[
    str | None,
    Option(
        metavar="SIZE",
        help="Largest size of a split's decoded images, such as `500MB` or `20GB`; larger data is an error before it "
        "is decoded. Default: CASPER_MAX_DECODED_SIZE, or 4GB.",
        rich_help_panel=DATA,
    ),
]
DeviceOption = Annotated[str, Option(metavar="DEVICE", help="auto, cpu, cuda or cuda:N.", rich_help_panel=MACHINE)]
ThreadsOption = Annotated[
    int | None, Option(metavar="N", help="CPU threads. Default: PyTorch's choice.", rich_help_panel=MACHINE)
]
EveryOption = Annotated[
    str,
    Option(
        metavar="WHEN",
        help="How often to save a checkpoint: `auto`, `task`, `never`, or an interval such as `30s` or `200steps`. "
        "auto: every 30 seconds, less often if it takes more than 2 % of the time, but at least every minute. "
        "never: only at the end, and when the run is stopped.",
        rich_help_panel=OUTPUT,
    ),
]


@dataclass(frozen=True)
class HowToRun:
    """The options of a command that executes many runs."""

    jobs: Annotated[
        int | None,
        Option(
            metavar="N",
            help="Number of runs at a time, each a process with its share of the cores. "
            "Default: one per core, or per GPU.",
            rich_help_panel=MACHINE,
        ),
    ] = None
    dry_run: Annotated[
        bool,
        Option("--dry-run", help="List the runs and the state of each; run nothing.", rich_help_panel=WHAT),
    ] = False
    data_dir: Annotated[
        Path | None,
        Option(metavar="DIR", help="Directory of data sets, searched first, as in `run`.", rich_help_panel=DATA),
    ] = None
    max_decoded_size: MaxDecodedSizeOption = None
    device: Annotated[
        str,
        Option(metavar="DEVICE", help="auto, cpu, cuda (spread over all GPUs) or cuda:N.", rich_help_panel=MACHINE),
    ] = "auto"
    threads: Annotated[
        int | None,
        Option(metavar="N", help="CPU threads of each run. Default: its share of the cores.", rich_help_panel=MACHINE),
    ] = None
    checkpoint_every: Annotated[
        str,
        Option(
            metavar="WHEN",
            help="`auto`, `task`, `never`, or an interval such as `30s` or `200steps`, as in `run`.",
            rich_help_panel=OUTPUT,
        ),
    ] = "auto"
    analyse: Annotated[
        bool,
        Option("--analyse", help="Analyse the latent space of every run, as in `run`.", rich_help_panel=OUTPUT),
    ] = False
    keep_checkpoints: Annotated[
        bool,
        Option(
            "--keep-checkpoints",
            help="Keep the checkpoint of every task end of every run, as in `run`.",
            rich_help_panel=OUTPUT,
        ),
    ] = False
    rerun_stale: Annotated[
        bool,
        Option(
            "--rerun-stale",
            help="Repeat the runs that are stale: a class of yours in them has changed since.",
            rich_help_panel=OUTPUT,
        ),
    ] = False
    overwrite: Annotated[
        bool,
        Option(
            "--overwrite",
            help="Repeat the runs that another version of casper, or of your classes, made.",
            rich_help_panel=OUTPUT,
        ),
    ] = False
    estimated: Annotated[
        bool,
        Option(
            "--estimate/--no-estimate",
            help="Estimate the total time from the finished runs before starting.",
            rich_help_panel=MACHINE,
        ),
    ] = True


Command = Callable[..., None]


def announce_imports(modules: Collection[str]) -> None:
    """Print the user's modules that a command imports, before it does; nothing if there are none."""
    if modules:
        say(f"importing {', '.join(sorted(modules))}")


def makes_many_runs(command: Command) -> Command:
    """Add the options of `HowToRun` to a command, which receives them as `how`."""
    options = inspect.signature(HowToRun).parameters.values()
    return _with_options(command, "how", options, lambda values: HowToRun(**values))


def with_run_options(*names: str) -> Callable[[Command], Command]:
    """Add all or some options of a run to a command, which receives those that were given as `flags`.

    They are declared once, as the fields of `casper.config.Options`.
    """
    chosen = names or tuple(sorted(Options.model_fields.keys() - {*WITHOUT_FLAG}, key=list(_RUN_OPTIONS).index))
    options = [_as_parameter(name) for name in chosen]

    def given(values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in values.items() if value is not None}

    return lambda command: _with_options(command, "flags", options, given)


def _as_parameter(name: str) -> inspect.Parameter:
    field = Options.model_fields[name]
    types = (field.annotation, *get_args(field.annotation))
    kind: Any = next((kind for kind in (bool, int, float, list[str]) if kind in types), str)
    panel, metavar = _RUN_OPTIONS[name]
    or_size = metavar.endswith("|SIZE")
    option = Option(
        help=field.description,
        parser=_number_or_size if or_size else None,
        metavar=metavar,
        show_default=False,
        autocompletion=_completing(KINDS[name]) if name in KINDS else None,
        rich_help_panel=panel,
    )
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option]
    )


def _number_or_size(text: str) -> Any:
    """Read a number; other text, such as `64MB`, is unchanged."""
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,30}", text) else text


def _completing(names: Iterable[str]) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return complete


def _with_options(
    command: Command, argument: str, options: Iterable[inspect.Parameter], gather: Callable[[dict[str, Any]], Any]
) -> Command:
    """Replace one argument in a command's signature by options; their gathered values are passed as that argument."""
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
    """Merge options and the settings of --set; raises `ConfigError` for a key in both."""
    if twice := sorted(flags.keys() & settings.keys()):
        raise ConfigError(f"{twice[0]} must be given once, but is given as an option and with --set")
    return {**flags, **settings}


def choose_device(name: str) -> str:
    """Resolve `auto`, `cpu`, `cuda` or `cuda:N` to an available device; raises `ConfigError` if there is none."""
    import torch

    if not re.fullmatch(r"auto|cpu|cuda(:\d{1,4})?", name):
        raise ConfigError(f"--device must be auto, cpu, cuda or cuda:N, but got {name!r}")
    available = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto":
        return "cuda" if available else "cpu"
    if name.startswith("cuda") and int(name.partition(":")[2] or 0) >= available:
        raise ConfigError(f"--device {name} is not available: this machine has {counted(available, 'GPU')}")
    return name


def limit_decoded_size(size: str | None) -> None:
    """Set the limit on decoded images for this process and the processes that it starts; None leaves it unchanged."""
    if size is None:
        return
    from casper.data.limits import LIMIT_VARIABLE, parse_size

    try:
        parse_size(size)
    except ParameterError as error:
        raise explained(error) from error
    os.environ[LIMIT_VARIABLE] = size


def use_threads(threads: int | None) -> None:
    """Set the number of threads of PyTorch; None leaves it to PyTorch."""
    import torch

    if threads is None:
        return
    if not 1 <= threads <= MOST_THREADS:
        raise ConfigError(f"--threads must be in [1, {MOST_THREADS}], but got {threads}")
    torch.set_num_threads(threads)
