"""The runs that reproduce a table of the paper."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from casper.config import METHODS, REGULARIZERS, ConfigError, RunConfig, resolve_config
from casper.config.errors import unknown
from casper.config.presets import Protocol
from casper.paper.tables import PaperCell, PaperTable


def plan_runs(
    table: PaperTable,
    protocol: Protocol,
    seeds: int,
    *,
    only: Sequence[str] = (),
    also: Sequence[str] = (),
) -> list[RunConfig]:
    """List the runs that reproduce a table, without duplicates.

    Every run has `recalibrate` set, which adds a second evaluation and changes nothing else. Methods that the protocol
    cannot use are left out, see `refusing_methods`.

    Args:
        table: The table.
        protocol: The protocol of the runs.
        seeds: The number of seeds, starting at 0.
        only: Filters, each a list of words separated by commas: methods, regularizers, streams, buffer sizes, fractions
            of labels. A cell is selected if it matches one of the filters; methods without a memory match every buffer
            size.
        also: Further regularizers; for each of them a run is added to every cell of CaSpeR.

    Raises:
        ConfigError: For a word that no cell has, or an unknown regularizer.

    Example:
        >>> from casper.paper import plan_runs
        >>> from casper.paper.tables import paper_table
        >>> configs = plan_runs(paper_table("cil"), "desk", seeds=1, only=["er-ace,split-cifar10,500"])
        >>> [config.options.regularizer for config in configs]
        [[], ['casper']]
    """
    known = {*REGULARIZERS, *(cell.regularizer for cell in table.cells)} - {"none"}
    for name in also:
        if name not in known:
            raise unknown("regularizer", name, known)
    refused = refusing_methods(table, protocol)
    fitting = [cell for cell in table.cells if cell.method not in refused]
    cells = [cell for cell in fitting if not only or any(_agrees(cell, table, words) for words in only)]
    if protocol == "pretrained" and any(cell.stream == "rotated-mnist" for cell in cells):
        cost = "every seed has other angles, so features of 1.4 million images would be computed for each"
        raise ConfigError(f"the table {table.name} cannot be reproduced with --protocol pretrained: {cost}")
    if not cells and refused:
        hint = f"{', '.join(refused)} cannot be used with its trunk"
        raise ConfigError(f"no cell of the table {table.name} matches --only {' '.join(only)}: {hint}")
    if not cells:
        raise ConfigError(f"no cell of the table {table.name} matches --only {' '.join(only)}")
    configs = (
        _config(replace(cell, regularizer=name), protocol, seed)
        for cell in cells
        for name in [cell.regularizer, *(also if cell.regularizer == "casper" else ())]
        for seed in range(seeds)
    )
    return list({config.name: config for config in configs}.values())


def refusing_methods(table: PaperTable, protocol: Protocol) -> list[str]:
    """List the methods of a table that cannot be used with the trunk of the `pretrained` protocol.

    Example:
        >>> from casper.paper.plan import refusing_methods
        >>> from casper.paper.tables import paper_table
        >>> refusing_methods(paper_table("scr"), "pretrained"), refusing_methods(paper_table("scr"), "desk")
        (['scr', 'podnet'], [])
    """
    methods = dict.fromkeys(cell.method for cell in table.cells) if protocol == "pretrained" else ()
    return [name for name in methods if METHODS[name].needs_images or METHODS[name].needs_maps]


def _agrees(cell: PaperCell, table: PaperTable, words: str) -> bool:
    """Return whether a cell matches a filter: for every kind of word in the filter, one of its words."""
    wanted = [word.strip() for word in words.split(",") if word.strip()]
    known = {word for each in table.cells for word in _words(each) if word}
    for word in wanted:
        if word not in known:
            raise unknown(f"word in --only for the table {table.name}:", word, known)
    for kind in range(len(_words(cell))):
        accepted = [word for word in wanted if any(_words(each)[kind] == word for each in table.cells)]
        word_of_cell = _words(cell)[kind]
        if accepted and word_of_cell and word_of_cell not in accepted:
            return False
    return True


def _words(cell: PaperCell) -> tuple[str, ...]:
    memory = "" if cell.buffer_size is None else str(cell.buffer_size)
    return cell.method, cell.regularizer, cell.stream, memory, str(cell.settings["paper"].get("labels", ""))


def _config(cell: PaperCell, protocol: Protocol, seed: int) -> RunConfig:
    values: dict[str, Any] = {"stream": cell.stream, "method": cell.method, "regularizer": cell.regularizer}
    values |= {"protocol": protocol, "seed": seed, "recalibrate": True, **cell.settings[protocol]}
    if cell.buffer_size is not None:
        values["buffer_size"] = cell.buffer_size
    return resolve_config({}, values)
