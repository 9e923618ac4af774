"""`casper search`: settings, found on a validation split."""

import shlex
from pathlib import Path
from statistics import mean
from typing import Annotated, Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from typer import Exit, Option

from casper.cli.console import say, show, spread
from casper.cli.options import (
    HowToRun,
    PresetOption,
    ProtocolOption,
    SettingsOption,
    joined,
    makes_many_runs,
    with_run_options,
)
from casper.config import ConfigError, parse_settings, to_yaml
from casper.config.errors import printable
from casper.config.yaml import read_preset
from casper.files import make_directory, write_whole
from casper.formatting import counted
from casper.sweeps.search import Ranked, candidates, preset_layout, ranked, usual_space

_SHOWN = 10


@with_run_options("stream", "method", "regularizer", "buffer_size")
@makes_many_runs
def search(
    *,
    flags: dict[str, Any],
    protocol: ProtocolOption = None,
    settings: SettingsOption = None,
    preset: PresetOption = None,
    over: Annotated[
        list[str] | None,
        Option(
            metavar="KEY=[V1,V2,...]",
            help="What to search over; may be repeated. Default: learning rate and CaSpeR's weight, number of classes "
            "and number of neighbours, around the paper's values.",
        ),
    ] = None,
    random: Annotated[
        int | None, Option(metavar="N", help="Try N combinations, drawn at random. Default: every one of them.")
    ] = None,
    draw: Annotated[int, Option(help="Determines which combinations are drawn.")] = 0,
    validation: Annotated[
        float, Option(metavar="FRACTION", help="The part of the training images that is held out and tested on.")
    ] = 0.1,
    seeds: Annotated[int, Option(help="How many seeds, from 100: those of a table begin at 0.")] = 1,
    out: Annotated[Path, Option(help="Where the runs' directories go.")] = Path("runs/search"),
    best: Annotated[
        Path | None, Option(metavar="FILE.yaml", help="Where to write the best. Default: best.yaml beside the runs.")
    ] = None,
    how: HowToRun,
) -> None:
    """Search for settings on a validation split of the training images; the test images are never looked at.

    Every combination is a run, as in `casper sweep`: started again, what is missing is made. Combinations with
    num_classes * num_neighbors above the batch size are left out. The best is printed, and written as a preset:

    `casper run --preset runs/search/best.yaml`
    """
    if seeds < 1:
        raise ConfigError(f"--seeds must be at least 1, but got {seeds}")
    if random is not None and random < 1:
        raise ConfigError(f"--random must be at least 1, but got {random}")
    given = flags if protocol is None else {**flags, "protocol": protocol}
    base = joined(given, parse_settings(settings or []))
    own = read_preset(preset) if preset else None
    space = parse_settings(over, "--over") if over else usual_space(base, own)
    found = candidates(base, space, validation=validation, seeds=seeds, count=random, draw=draw, preset=own)
    from casper.cli.make_runs import make_runs

    heading = f"{counted(len(found), 'combination')} of {', '.join(space)}; {counted(seeds, 'seed')} each"
    say(heading)
    configs = {config.name: config for candidate in found for config in candidate.configs}
    made = make_runs(list(configs.values()), out, how)
    results = ranked(found, made.runs)
    if how.dry_run:
        return
    if not results:
        say("no combination was run to its end; failure.json in the runs' directories says why")
        raise Exit(1)
    _show(results)
    file = best or out / "best.yaml"
    options = made.runs[0].config.options
    what = f"{options.method} on {options.stream}, buffer {options.buffer_size}"
    about = (
        f"# Best of {counted(len(results), 'combination')} for {what}:\n"
        f"# {mean(results[0].accuracies):.2f} % on {validation:.0%} of the training images, held out; "
        f"{counted(seeds, 'seed')}.\n"
    )
    chosen = {**(own[0] if own else {}), **base, **results[0].values}
    try:
        make_directory(file.parent)
        write_whole(file, (about + to_yaml(preset_layout(chosen))).encode())
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror}") from error
    say(f"written to {file}; use it with: casper run --preset {shlex.quote(str(file))}")
    if len(made.having("done")) < len(made.runs):
        raise Exit(1)


def _show(results: list[Ranked]) -> None:
    table = Table(title=f"\nThe best of {len(results)}, on the validation split", title_justify="left", box=SIMPLE_HEAD)
    for key in results[0].values:
        table.add_column(printable(key), justify="right")
    table.add_column("accuracy (%)", justify="right")
    for each in results[:_SHOWN]:
        table.add_row(*(printable(str(value)) for value in each.values.values()), spread(each.accuracies))
    show(table)
