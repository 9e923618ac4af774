"""`casper run`: one run."""

import shlex
import signal
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from typer import Option

from casper.cli.analyse import show_analysis
from casper.cli.console import SCENARIO_TITLES, latent_line, matrix_table, summary_table, warn
from casper.cli.options import begun_run, choose_device, precision_notes, use_threads
from casper.cli.progress import ProgressDisplay
from casper.config import ConfigError, flattened, parse_settings, read_layout, resolve_config
from casper.config.yaml import read_preset
from casper.runs import CheckpointEvery, Interruption, RunDirectory, RunInterrupted, execute


def run(
    stream: Annotated[
        str | None,
        Option(
            help="See `casper list streams`; or images of your own: `folder:PATH`, `npz:FILE`, `hub:OWNER/NAME`. "
            "Default: split-digits."
        ),
    ] = None,
    method: Annotated[str | None, Option(help="See `casper list methods`. Default: er-ace.")] = None,
    regularizer: Annotated[
        list[str] | None,
        Option(help="A term added to the method's loss, or `none`; may be repeated. Default: casper."),
    ] = None,
    protocol: Annotated[
        str | None,
        Option(
            help="`paper`: the paper's network, epochs and schedule. `desk`: the same stream and hyper-parameters in "
            "minutes on one CPU core (small network, few epochs, smaller images). "
            "Default: paper on the paper's streams, the stream's own settings on others."
        ),
    ] = None,
    tasks: Annotated[int | None, Option(help="Number of tasks; a divisor of the number of classes.")] = None,
    class_order: Annotated[
        str | None, Option(help="`label`: as numbered. `shuffled`: by the seed. Default: label.")
    ] = None,
    image_size: Annotated[int | None, Option(help="Scale images to N x N. Default: as they are.")] = None,
    buffer_size: Annotated[int | None, Option(help="How many items the memory holds.")] = None,
    epochs: Annotated[int | None, Option(help="Passes over each task.")] = None,
    batch_size: Annotated[int | None, Option(help="Stream items in a step, and replayed ones.")] = None,
    lr: Annotated[float | None, Option(help="Learning rate of the method's optimizer.")] = None,
    seed: Annotated[int | None, Option(help="Determines everything random. Default: 0.")] = None,
    backbone: Annotated[str | None, Option(help="See `casper list backbones`. Default: convnet.")] = None,
    precision: Annotated[str | None, Option(help="fp32 or bf16. Default: fp32.")] = None,
    recalibrate: Annotated[
        bool | None,
        Option(
            help="Evaluate a second time after every task, with BatchNorm statistics recomputed from the memory.",
            show_default=False,
        ),
    ] = None,
    validation: Annotated[
        float | None,
        Option(
            metavar="FRACTION",
            help="Hold this part of the training images out and test on it; the test images are not looked at.",
        ),
    ] = None,
    labels: Annotated[
        float | None,
        Option(
            metavar="FRACTION",
            help="Keep this part of each class's training labels and hide the others; for er-ace, pser-ace and ccic.",
        ),
    ] = None,
    labels_per_class: Annotated[
        int | None, Option(metavar="N", help="Keep N labels of each class and hide the others; instead of --labels.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="KEY=VALUE",
            help="Any other setting, such as `casper.weight=1e-3`, `backbone.width=64` or `milestones=[35,45]`; "
            "may be repeated.",
        ),
    ] = None,
    config: Annotated[
        Path | None, Option(help="A configuration file, such as another run's config.yaml; flags are stronger.")
    ] = None,
    preset: Annotated[
        Path | None,
        Option(
            help="A file with settings of your own, such as `casper search` writes; weaker than --config, "
            "stronger than --protocol."
        ),
    ] = None,
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
    checkpoint_every: Annotated[
        str,
        Option(
            metavar="auto|30s|200steps|task|never",
            help="How often the run's state is written; a crash costs what was done since. auto: every half minute, or "
            "as often as costs 2 % of the time, but every minute. never: only at the end, and when stopped.",
        ),
    ] = "auto",
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
    data_dir: Annotated[
        Path | None,
        Option(
            help="Where data sets lie as parquet files, such as DIR/cifar100/train.parquet. "
            "Looked into first, then the directory in CASPER_DATA, then the hub."
        ),
    ] = None,
    device: Annotated[str, Option(help="auto, cpu, cuda or cuda:N.")] = "auto",
    threads: Annotated[int | None, Option(help="CPU threads. Default: PyTorch's choice.")] = None,
) -> None:
    """Train a method on a stream of tasks, evaluate it after each, and write everything to a directory.

    With no options: ER-ACE with CaSpeR on split-digits, in a few seconds. What is not given comes from the stream's
    preset; `config.yaml` in the run's directory says where each value came from, and repeats the run:

    `casper run --config RUN/config.yaml --out OTHER`

    A run may be stopped at any time, by Ctrl-C or by a power cut, and goes on to the same result:

    `casper run --resume RUN`
    """
    flags = {
        "stream": stream,
        "method": method,
        "protocol": protocol,
        "tasks": tasks,
        "class_order": class_order,
        "image_size": image_size,
        "regularizer": regularizer,
        "buffer_size": buffer_size,
        "epochs": epochs,
        "batch_size": batch_size,
        "lr": lr,
        "seed": seed,
        "backbone": backbone,
        "precision": precision,
        "recalibrate": recalibrate,
        "validation": validation,
        "labels": labels,
        "labels_per_class": labels_per_class,
    }
    flags = {key: value for key, value in flags.items() if value is not None}
    console = Console()
    every = CheckpointEvery.parse(checkpoint_every)
    found_in = None if data_dir is None else str(data_dir)
    if resume is None:
        given = _joined(flags, parse_settings(settings or []))
        file = flattened(read_layout(config)) if config else None
        resolved = resolve_config(given, file, read_preset(preset) if preset else None)
        directory = out or Path("runs") / resolved.name
    else:
        others = {
            **flags,
            "set": settings,
            "config": config,
            "preset": preset,
            "out": out,
            "overwrite": overwrite or None,
        }
        begun = begun_run(resume, [name for name, value in others.items() if value is not None])
        device, threads, found_in = begun.as_before(device, threads, found_in)
        analyse, keep_checkpoints = (
            analyse or begun.wished("analyse"),
            keep_checkpoints or begun.wished("keep_checkpoints"),
        )
        if begun.metrics is not None:
            show_finished(console, begun.metrics, resume)
            if analyse and not RunDirectory(resume).analysis.exists():
                use_threads(threads)
                analyse_finished(console, resume, choose_device(device), found_in, keep_checkpoints)
            return
        resolved, directory = begun.config, resume
    chosen_device = choose_device(device)
    use_threads(threads)
    options = resolved.options
    what = " + ".join([options.method, *options.regularizer])
    notes = [f"note: {note}" for note in [*resolved.notes, *precision_notes(options.precision, chosen_device)]]
    title = "\n".join([*notes, f"{what} on {options.stream}, seed {options.seed}, {chosen_device}"])
    hint = "--protocol desk is the variant for a desk" if resolved.origin["epochs"] == "protocol paper" else ""
    with ProgressDisplay(console, title, hint) as display:
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
    show_metrics(console, metrics)
    console.print(f"written to {directory}", highlight=False, markup=False, soft_wrap=True)
    if analyse:
        analyse_finished(console, directory, chosen_device, found_in, keep_checkpoints)


def analyse_finished(console: Console, path: Path, device: str, data_dir: str | None, keep_checkpoints: bool) -> None:
    """Look into the latent space of a run that has just ended; states that were kept on purpose stay."""
    run = RunDirectory(path)
    keep = keep_checkpoints or run.read_environment().get("keep_checkpoints") is True
    try:
        show_analysis(console, run, None, device, data_dir, keep_checkpoints=keep)
    except KeyboardInterrupt:
        go_on = f"the run is finished, its analysis is not; go on with: casper analyse {shlex.quote(str(path))}"
        raise RunInterrupted(signal.SIGINT, f"interrupted; {go_on}") from None


def show_metrics(console: Console, metrics: dict[str, Any]) -> None:
    """Print the accuracy matrix of the stream's main scenario and every summary."""
    scenario = next(name for name in ("class_il", "domain_il") if metrics[name])
    console.print(matrix_table(SCENARIO_TITLES[scenario], metrics[scenario]["accuracy_matrix"]))
    console.print(summary_table(metrics))
    console.print(latent_line(metrics["latent"]), highlight=False, soft_wrap=True)
    seconds = metrics["seconds"]
    console.print(
        f"{metrics['steps']:d} steps, {seconds['train']:.1f} s training, {seconds['evaluate']:.1f} s evaluation"
    )


def show_finished(console: Console, metrics: dict[str, Any], directory: Path) -> None:
    """Print the result of a run that is done."""
    try:
        show_metrics(console, metrics)
    except (ArithmeticError, AttributeError, LookupError, StopIteration, TypeError, ValueError) as error:
        raise ConfigError(f"{directory / 'metrics.json'} should hold the result of a run; it does not") from error
    console.print(f"finished before; in {directory}", highlight=False, markup=False, soft_wrap=True)


def _joined(flags: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    if twice := sorted(flags.keys() & settings.keys()):
        raise ConfigError(f"{twice[0]} should be given once; found it as an option and with --set")
    return {**flags, **settings}
