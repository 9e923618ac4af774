"""`casper run`: execute or resume one run."""

import shlex
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from casper.cli.analyse import show_analysis
from casper.cli.console import SCENARIO_TITLES, SafeConsole, latent_line, matrix_table, say, show, summary_table, warn
from casper.cli.options import (
    EVALUATION,
    OUTPUT,
    WHAT,
    DataDirOption,
    DeviceOption,
    EveryOption,
    MaxDecodedSizeOption,
    PresetOption,
    ProtocolOption,
    SettingsOption,
    ThreadsOption,
    choose_device,
    joined,
    limit_decoded_size,
    use_threads,
    with_run_options,
)
from casper.cli.progress import ProgressDisplay
from casper.config import ConfigError, RunConfig, flattened, parse_settings, read_layout, resolve_config
from casper.config.errors import flag
from casper.config.options import differing
from casper.config.yaml import read_preset
from casper.runs import CheckpointEvery, Interruption, RunDirectory, RunInterrupted
from casper.runs.directory import kept_checkpoints, lost_options


@with_run_options()
def run(
    *,
    flags: dict[str, Any],
    protocol: ProtocolOption = None,
    settings: SettingsOption = None,
    config: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="A configuration file, such as the config.yaml of another run. It overrides --preset; options on the "
            "command line override it.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    preset: PresetOption = None,
    out: Annotated[
        Path | None,
        Option(
            metavar="DIR",
            help="The run's directory. If it holds the same run, unfinished, that run is resumed. "
            "Default: a directory in `runs`, named by stream, method, regularizer, seed and a hash of the settings.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        Option(
            metavar="RUN",
            help="Resume the run in this directory, with the same result bit for bit as without the stop. "
            "No other option is needed: data directory, device, threads, --analyse and --keep-checkpoints are taken "
            "from the run. For a finished run its result is printed.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    overwrite: Annotated[
        bool,
        Option("--overwrite", help="Replace the run that is in the directory.", rich_help_panel=OUTPUT),
    ] = False,
    checkpoint_every: EveryOption = "auto",
    analyse: Annotated[
        bool,
        Option(
            "--analyse",
            help="When the run has ended, analyse the latent space at every task end, as `casper analyse` does, and "
            "write analysis.json, which `casper figure` draws.",
            rich_help_panel=EVALUATION,
        ),
    ] = False,
    keep_checkpoints: Annotated[
        bool,
        Option(
            "--keep-checkpoints",
            help="Keep the checkpoint of every task end, for `casper analyse`.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    data_dir: DataDirOption = None,
    max_decoded_size: MaxDecodedSizeOption = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
) -> None:
    """Train a method on a stream of tasks, evaluate it after each task, and write the results to a directory.

    - `casper run`: ER-ACE with CaSpeR on split-digits, in a few seconds

    - `casper run --method der++ --stream split-cifar100 --protocol desk`

    - `casper run --resume RUN`: continue after Ctrl-C, a crash or a power cut, to the same result

    - `casper run --config RUN/config.yaml --out OTHER`: repeat a run

    Settings that are not given come from the stream's preset. `config.yaml` in the run's directory lists every setting
    and where its value came from.
    """
    given = flags if protocol is None else {**flags, "protocol": protocol}
    every = CheckpointEvery.parse(checkpoint_every)
    found_in = None if data_dir is None else str(data_dir)
    limit_decoded_size(max_decoded_size)
    if resume is None:
        file = flattened(read_layout(config)) if config else None
        chosen = read_preset(preset) if preset else None
        resolved = resolve_config(joined(given, parse_settings(settings or [])), file, chosen, data_dir=found_in)
        directory = out or RunDirectory.named(Path("runs"), resolved).path
        if analyse and not overwrite and _lacks_analysis(RunDirectory(directory), resolved):
            use_threads(threads)
            _analyse_finished(directory, choose_device(device), found_in, keep_checkpoints)
            return
    else:
        others = {"set": settings, "config": config, "preset": preset, "out": out, "overwrite": overwrite or None}
        begun = begun_run(resume, [*given, *(name for name, value in others.items() if value is not None)])
        device, threads, found_in = begun.as_before(device, threads, found_in)
        analyse = analyse or begun.wished("analyse")
        keep_checkpoints = keep_checkpoints or begun.wished("keep_checkpoints")
        if begun.metrics is not None:
            _show_finished(begun.metrics, resume)
            if RunDirectory(resume).environment.exists() and (lost := RunDirectory(resume).lost_options()):
                warn(lost)
            if analyse and not RunDirectory(resume).analysis.exists():
                use_threads(threads)
                _analyse_finished(resume, choose_device(device), found_in, keep_checkpoints)
            return
        resolved, directory = RunDirectory(resume).read_config(), resume
    chosen_device = choose_device(device)
    use_threads(threads)
    from casper.runs.execution import execute

    with _progress(resolved, chosen_device) as display:
        metrics = execute(
            resolved,
            directory,
            device=chosen_device,
            data_dir=found_in,
            overwrite=overwrite,
            checkpoint_every=every,
            keep_checkpoints=keep_checkpoints,
            analyse=analyse,
            listeners=[display.listen],
            interruption=Interruption(),
            warn=warn,
        )
    _show_metrics(metrics)
    say(f"written to {directory}")
    if analyse:
        _analyse_finished(directory, chosen_device, found_in, keep_checkpoints)


@dataclass(frozen=True)
class BegunRun:
    """A run that was started earlier.

    Attributes:
        environment: Device, threads and other settings that do not change its result; may be empty.
        metrics: Its result; None if it is not finished.
    """

    environment: Mapping[str, Any]
    metrics: dict[str, Any] | None

    def as_before(self, device: str, threads: int | None, data_dir: str | None) -> tuple[str, int | None, str | None]:
        """Fill in device, threads and data_dir from the original run where not given."""
        before = self.environment
        if threads is None and "threads" not in lost_options(before):
            threads = before["threads"]
        if data_dir is None and isinstance(before.get("data_dir"), str):
            data_dir = before["data_dir"]
        if device == "auto" and isinstance(before.get("device"), str):
            with suppress(ConfigError):  # not on this machine
                device = choose_device(before["device"])
        return device, threads, data_dir

    def wished(self, name: str) -> bool:
        """Return whether `analyse` or `keep_checkpoints` was requested when the run was started or resumed."""
        return self.environment.get(name) is True


def begun_run(path: Path, others: Sequence[str]) -> BegunRun:
    """Read the run in a directory.

    Args:
        path: Its directory.
        others: The names of the options given next to --resume, which accepts none of them.
    """
    if others:
        raise ConfigError(f"--resume uses the options of the stopped run, so {flag(others[0])} must not be given")
    directory = RunDirectory(path)
    if path.is_dir() and not directory.config.exists():
        raise ConfigError(f"--resume {path} is not the directory of a run: it has no config.yaml")
    state = directory.state()
    if state == "empty":
        raise ConfigError(f"--resume {path} is not the directory of a run")
    metrics = directory.read_metrics() if state == "finished" else None
    directory.read_layout()
    return BegunRun(directory.read_environment(), metrics)


def _progress(config: RunConfig, device: str) -> ProgressDisplay:
    """Create the progress display of a run, with a title and notes for the user."""
    options = config.options
    notes = [f"note: {note}" for note in [*config.notes, *precision_notes(options.precision, device)]]
    what = " + ".join([options.method, *options.regularizer])
    title = "\n".join([*notes, f"{what} on {options.stream}, seed {options.seed}, {device}"])
    hint = "--protocol desk takes minutes" if config.origin["epochs"] == "protocol paper" else ""
    return ProgressDisplay(SafeConsole(), title, hint)


def precision_notes(precision: str, device: str) -> list[str]:
    """Return a warning if bf16 is requested on a CPU without instructions for it, which emulates every product."""
    import torch

    slow = precision == "bf16" and device == "cpu" and torch.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2")
    return ["--precision bf16 is slower than fp32 on this CPU, which has no bf16 instructions"] if slow else []


def _lacks_analysis(run: RunDirectory, config: RunConfig) -> bool:
    """Return whether the directory has this run, stopped between its end and the end of its analysis."""
    lacking = run.state() == "finished" and not run.analysis.exists() and kept_checkpoints(run.path)
    return bool(lacking) and not differing(run.read_layout(), config.as_dict())


def _analyse_finished(path: Path, device: str, data_dir: str | None, keep_checkpoints: bool) -> None:
    """Analyse the latent space of a run that has ended; remove its checkpoints unless they were requested."""
    run = RunDirectory(path)
    keep = keep_checkpoints or run.read_environment().get("keep_checkpoints") is True
    try:
        show_analysis(run, None, device, data_dir, keep_checkpoints=keep)
    except KeyboardInterrupt:
        resume = f"the run is finished, its analysis is not; continue with: casper analyse {shlex.quote(str(path))}"
        raise RunInterrupted(signal.SIGINT, f"interrupted; {resume}") from None


def _show_metrics(metrics: dict[str, Any]) -> None:
    """Print the accuracy matrix of the stream's main scenario and every summary."""
    scenario = next(name for name in ("class_il", "domain_il") if metrics[name])
    show(matrix_table(SCENARIO_TITLES[scenario], metrics[scenario]["accuracy_matrix"]))
    show(summary_table(metrics))
    say(latent_line(metrics["latent"]))
    seconds = metrics["seconds"]
    say(f"{metrics['steps']:d} steps, {seconds['train']:.1f} s training, {seconds['evaluate']:.1f} s evaluation")


def _show_finished(metrics: dict[str, Any], directory: Path) -> None:
    """Print the result of a finished run."""
    try:
        _show_metrics(metrics)
    except (ArithmeticError, AttributeError, LookupError, StopIteration, TypeError, ValueError) as error:
        raise ConfigError(f"{directory / 'metrics.json'} is not the result of a run") from error
    say(f"finished earlier; results in {directory}")
