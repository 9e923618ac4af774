"""`casper search`: search for settings on a validation split."""

import shlex
from pathlib import Path
from statistics import mean
from typing import Annotated, Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from typer import Exit, Option

from casper.cli.console import complain, say, show, spread
from casper.cli.options import (
    OUTPUT,
    HowToRun,
    PresetOption,
    ProtocolOption,
    SettingsOption,
    announce_imports,
    joined,
    limit_decoded_size,
    makes_many_runs,
    with_run_options,
)
from casper.config import ConfigError, parse_settings, to_yaml
from casper.config.registry import parts_with_code
from casper.config.yaml import read_preset
from casper.files import check_plain, make_directory, write_whole
from casper.formatting import counted, printable
from casper.sweeps.search import Ranked, candidates, preset_layout, ranked, usual_space

_SHOWN = 10
_SEARCH = "Search"


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
            metavar="KEY=LIST",
            help="What to search over, such as `lr=[0.03,0.1]`; may be repeated. Default: learning rate and CaSpeR's "
            "weight, number of classes and number of neighbours, around the paper's values.",
            rich_help_panel=_SEARCH,
        ),
    ] = None,
    random: Annotated[
        int | None,
        Option(
            metavar="N", help="Try N combinations, drawn at random. Default: all combinations.", rich_help_panel=_SEARCH
        ),
    ] = None,
    draw: Annotated[int, Option(metavar="N", help="Seed of the draw of combinations.", rich_help_panel=_SEARCH)] = 0,
    validation: Annotated[
        float,
        Option(
            metavar="FRACTION",
            help="Fraction of the training images that is held out and tested on.",
            rich_help_panel=_SEARCH,
        ),
    ] = 0.1,
    seeds: Annotated[
        int,
        Option(
            metavar="N",
            help="Number of seeds, counted from 100, as the tables count theirs from 0.",
            rich_help_panel=_SEARCH,
        ),
    ] = 1,
    out: Annotated[
        Path, Option(metavar="DIR", help="Directory of the runs' directories.", rich_help_panel=OUTPUT)
    ] = Path("runs/search"),
    best: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Where to write the best settings. Default: best.yaml in the directory of --out.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    how: HowToRun,
) -> None:
    """Search for settings on a validation split of the training images; the test images are not used.

    - `casper search --method er-ace --random 8`

    - `casper search --over 'lr=[0.03,0.1]' --over 'casper.weight=[0.1,1]'`

    - `casper run --preset runs/search/best.yaml`: use the result

    Every combination is a run, as in `casper sweep`; the same command resumes a search that was stopped. Combinations
    with num_classes * num_neighbors above the batch size are left out. The best settings are printed, and written as a
    preset.
    """
    if seeds < 1:
        raise ConfigError(f"--seeds must be at least 1, but got {seeds}")
    if random is not None and random < 1:
        raise ConfigError(f"--random must be at least 1, but got {random}")
    given = flags if protocol is None else {**flags, "protocol": protocol}
    base = joined(given, parse_settings(settings or []))
    given_preset = read_preset(preset) if preset else None
    searched = parse_settings(over, "--over") if over else {}
    alternatives = [{key: value} for key, values in searched.items() if isinstance(values, list) for value in values]
    parts = [
        parts_with_code(values) for values in ({**(given_preset[0] if given_preset else {}), **base}, *alternatives)
    ]
    if how.dry_run:
        names = {name for several in parts for _, name in several}
        announce_imports({name if name.startswith("file:") else name.partition(":")[0] for name in names})
    limit_decoded_size(how.max_decoded_size)
    data_dir = None if how.data_dir is None else str(how.data_dir)
    space = searched or usual_space(base, given_preset, data_dir)
    found = candidates(
        base, space, validation=validation, seeds=seeds, count=random, draw=draw, preset=given_preset, data_dir=data_dir
    )
    from casper.cli.make_runs import make_runs

    file = best or out / "best.yaml"
    if not how.dry_run:
        check_plain(file)
    heading = f"{counted(len(found), 'combination')} of {', '.join(space)}; {counted(seeds, 'seed')} each"
    say(heading)
    configs = {config.name: config for candidate in found for config in candidate.configs}
    executed = make_runs(list(configs.values()), out, how)
    results = ranked(found, executed.runs)
    if how.dry_run:
        return
    if not results:
        complain("no combination was run to its end; the reasons are in failure.json in the runs' directories")
        raise Exit(1)
    _show(results)
    options = executed.runs[0].config.options
    what = f"{options.method} on {options.stream}, buffer {options.buffer_size}"
    about = (
        f"# Best of {counted(len(results), 'combination')} for {what}:\n"
        f"# {mean(results[0].accuracies):.2f} % on {validation:.0%} of the training images, held out; "
        f"{counted(seeds, 'seed')}.\n"
    )
    chosen = {**(given_preset[0] if given_preset else {}), **base, **results[0].values}
    try:
        make_directory(file.parent)
        write_whole(file, (about + to_yaml(preset_layout(chosen))).encode())
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror}") from error
    say(f"written to {file}; use it with: casper run --preset {shlex.quote(str(file))}")
    if len(executed.having("done")) < len(executed.runs):
        raise Exit(1)


def _show(results: list[Ranked]) -> None:
    table = Table(title=f"\nBest of {len(results)} on the validation split", title_justify="left", box=SIMPLE_HEAD)
    for key in results[0].values:
        table.add_column(printable(key), justify="right")
    table.add_column("accuracy (%)", justify="right")
    for each in results[:_SHOWN]:
        table.add_row(*(printable(str(value)) for value in each.values.values()), spread(each.accuracies))
    show(table)
