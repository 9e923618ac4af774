"""The plan of runs behind a table of the paper."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from casper.config import REGULARIZERS, ConfigError, RunConfig, resolve_config
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
    """List the runs behind a table, each once.

    Every run is evaluated a second time with recalibrated statistics, which changes nothing else.

    Args:
        table: The table.
        protocol: The protocol of the runs.
        seeds: How many seeds, from 0.
        only: Lists of words, joined by commas: methods, regularizers, streams, buffer sizes, parts of labels. A cell is
            taken if it matches one of the lists; methods without a memory match every buffer size.
        also: Further regularizers, each added to every cell of CaSpeR.

    Raises:
        ConfigError: For a word that no cell has, or a regularizer that is not known.
    """
    known = {*REGULARIZERS, *(cell.regularizer for cell in table.cells)} - {"none"}
    for name in also:
        if name not in known:
            raise unknown("regularizer", name, known)
    cells = [cell for cell in table.cells if not only or any(_agrees(cell, table, words) for words in only)]
    if not cells:
        raise ConfigError(f"--only {' '.join(only)} must leave a cell of the table {table.name}, but it leaves none")
    configs = (
        _config(replace(cell, regularizer=name), protocol, seed)
        for cell in cells
        for name in [cell.regularizer, *(also if cell.regularizer == "casper" else ())]
        for seed in range(seeds)
    )
    return list({config.name: config for config in configs}.values())


def _agrees(cell: PaperCell, table: PaperTable, words: str) -> bool:
    wanted = [word.strip() for word in words.split(",") if word.strip()]
    known = {word for each in table.cells for word in _words(each) if word}
    for word in wanted:
        if word not in known:
            raise unknown(f"word in --only for the table {table.name}:", word, known)
    for kind in range(len(_words(cell))):
        asked = [word for word in wanted if any(_words(each)[kind] == word for each in table.cells)]
        own = _words(cell)[kind]
        if asked and own and own not in asked:
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
