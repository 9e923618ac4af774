"""`casper run`: one run."""

import shlex
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from typer import Option

from casper.cli.analyse import show_analysis
from casper.cli.console import SCENARIO_TITLES, latent_line, matrix_table, say, show, summary_table, warn
from casper.cli.options import (
    MOST_THREADS,
    DataDirOption,
    DeviceOption,
    EveryOption,
    PresetOption,
    ProtocolOption,
    SettingsOption,
    ThreadsOption,
    choose_device,
    joined,
    use_threads,
    with_run_options,
)
from casper.cli.progress import ProgressDisplay
from casper.config import ConfigError, RunConfig, flattened, parse_settings, read_layout, resolve_config
from casper.config.errors import flag
from casper.config.yaml import read_preset
from casper.runs import CheckpointEvery, Interruption, RunDirectory, RunInterrupted


@with_run_options()
def run(
    *,
    flags: dict[str, Any],
    protocol: ProtocolOption = None,
    settings: SettingsOption = None,
    config: Annotated[
        Path | None, Option(help="A configuration file, such as another run's config.yaml; flags are stronger.")
    ] = None,
    preset: PresetOption = None,
    out: Annotated[
        Path | None,
        Option(
            help="The run's directory; the same run, begun there and not finished, is continued. "
            "Default: runs/STREAM-METHOD-REGULARIZER-SEED-HASH."
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        Option(
            metavar="RUN",
            help="Continue the run in this directory, to the same bits as without the stop; a finished one is shown. "
            "Needs no other option: data directory, device, threads, --analyse and --keep-checkpoints are as before.",
        ),
    ] = None,
    overwrite: Annotated[bool, Option("--overwrite", help="Start anew in a directory that holds a run.")] = False,
    checkpoint_every: EveryOption = "auto",
    analyse: Annotated[
        bool,
        Option(
            "--analyse",
            help="Look into the latent space after every task, at the end, as `casper analyse` does: "
            "analysis.json, for `casper figure`.",
        ),
    ] = False,
    keep_checkpoints: Annotated[
        bool, Option("--keep-checkpoints", help="Keep the state after every task, for `casper analyse`.")
    ] = False,
    data_dir: DataDirOption = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
) -> None:
    """Train a method on a stream of tasks, evaluate it after each, and write everything to a directory.

    With no options: ER-ACE with CaSpeR on split-digits, in a few seconds. What is not given comes from the stream's
    preset; `config.yaml` in the run's directory says where each value came from, and repeats the run:

    `casper run --config RUN/config.yaml --out OTHER`

    A run may be stopped at any time, by Ctrl-C or by a power cut, and goes on to the same result:

    `casper run --resume RUN`
    """
    given = flags if protocol is None else {**flags, "protocol": protocol}
    every = CheckpointEvery.parse(checkpoint_every)
    found_in = None if data_dir is None else str(data_dir)
    if resume is None:
        file = flattened(read_layout(config)) if config else None
        own = read_preset(preset) if preset else None
        resolved = resolve_config(joined(given, parse_settings(settings or [])), file, own)
        directory = out or Path("runs") / resolved.name
    else:
        others = {"set": settings, "config": config, "preset": preset, "out": out, "overwrite": overwrite or None}
        begun = begun_run(resume, [*given, *(name for name, value in others.items() if value is not None)])
        device, threads, found_in = begun.as_before(device, threads, found_in)
        analyse = analyse or begun.wished("analyse")
        keep_checkpoints = keep_checkpoints or begun.wished("keep_checkpoints")
        if begun.metrics is not None:
            _show_finished(begun.metrics, resume)
            if analyse and not RunDirectory(resume).analysis.exists():
                use_threads(threads)
                _analyse_finished(resume, choose_device(device), found_in, keep_checkpoints)
            return
        resolved, directory = begun.config, resume
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
    """A run that was begun.

    Attributes:
        config: Its configuration.
        environment: What else it was begun with; may be empty.
        metrics: Its result; None if it is not finished.
    """

    config: RunConfig
    environment: Mapping[str, Any]
    metrics: dict[str, Any] | None

    def as_before(self, device: str, threads: int | None, data_dir: str | None) -> tuple[str, int | None, str | None]:
        """Fill in device, threads and data_dir from the original run where not given."""
        before = self.environment
        if threads is None and before.get("threads") in range(1, MOST_THREADS + 1):
            threads = int(before["threads"])
        if data_dir is None and isinstance(before.get("data_dir"), str):
            data_dir = before["data_dir"]
        if device == "auto" and isinstance(before.get("device"), str):
            with suppress(ConfigError):  # not on this machine
                device = choose_device(before["device"])
        return device, threads, data_dir

    def wished(self, name: str) -> bool:
        """Tell whether `analyse` or `keep_checkpoints` was requested when it was begun or resumed."""
        return self.environment.get(name) is True


def begun_run(path: Path, others: Sequence[str]) -> BegunRun:
    """Find the run in a directory.

    Args:
        path: Its directory.
        others: The names of options given with --resume, which takes none of them.
    """
    if others:
        raise ConfigError(f"--resume continues a run with its own options, but got {flag(others[0])} as well")
    directory = RunDirectory(path)
    state = directory.state()
    if state == "empty":
        raise ConfigError(f"--resume {path} must be the directory of a run, but got none")
    metrics = directory.read_metrics() if state == "finished" else None
    return BegunRun(directory.read_config(), directory.read_environment(), metrics)


def _progress(config: RunConfig, device: str) -> ProgressDisplay:
    """Make the display of a run, under what the user should know of it."""
    options = config.options
    notes = [f"note: {note}" for note in [*config.notes, *precision_notes(options.precision, device)]]
    what = " + ".join([options.method, *options.regularizer])
    title = "\n".join([*notes, f"{what} on {options.stream}, seed {options.seed}, {device}"])
    hint = "--protocol desk is the variant for a desk" if config.origin["epochs"] == "protocol paper" else ""
    return ProgressDisplay(Console(), title, hint)


def precision_notes(precision: str, device: str) -> list[str]:
    """Warn of bf16 on a CPU that has no instructions for it: every product is emulated, and takes longer."""
    import torch

    slow = precision == "bf16" and device == "cpu" and torch.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2")
    return ["--precision bf16 is slower than fp32 on this CPU, which has no instructions for it"] if slow else []


def _analyse_finished(path: Path, device: str, data_dir: str | None, keep_checkpoints: bool) -> None:
    """Look into the latent space of a run that has just ended; states that were kept on purpose stay."""
    run = RunDirectory(path)
    keep = keep_checkpoints or run.read_environment().get("keep_checkpoints") is True
    try:
        show_analysis(run, None, device, data_dir, keep_checkpoints=keep)
    except KeyboardInterrupt:
        go_on = f"the run is finished, its analysis is not; go on with: casper analyse {shlex.quote(str(path))}"
        raise RunInterrupted(signal.SIGINT, f"interrupted; {go_on}") from None


def _show_metrics(metrics: dict[str, Any]) -> None:
    """Print the accuracy matrix of the stream's main scenario and every summary."""
    scenario = next(name for name in ("class_il", "domain_il") if metrics[name])
    show(matrix_table(SCENARIO_TITLES[scenario], metrics[scenario]["accuracy_matrix"]))
    show(summary_table(metrics))
    say(latent_line(metrics["latent"]))
    seconds = metrics["seconds"]
    say(f"{metrics['steps']:d} steps, {seconds['train']:.1f} s training, {seconds['evaluate']:.1f} s evaluation")


def _show_finished(metrics: dict[str, Any], directory: Path) -> None:
    """Print the result of a run that is done."""
    try:
        _show_metrics(metrics)
    except (ArithmeticError, AttributeError, LookupError, StopIteration, TypeError, ValueError) as error:
        raise ConfigError(f"{directory / 'metrics.json'} must hold the result of a run, but it does not") from error
    say(f"finished before; in {directory}")
