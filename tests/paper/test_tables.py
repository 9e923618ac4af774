import pytest

from casper.config import METHODS, PROTOCOLS, STREAMS
from casper.paper.tables import PAPER_PLOTS, PAPER_TABLES, PUBLISHED_RATIOS, paper_table, settings_of


def printed(table, **wanted):
    found = [cell.values for cell in paper_table(table).cells if all(getattr(cell, k) == v for k, v in wanted.items())]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("cil", 66),
        ("scr", 32),
        ("knn", 10),
        ("til", 44),
        ("domain", 10),
        ("derset", 20),
        ("batchsizes", 20),
        ("cssl", 12),
    ],
)
def test_the_number_of_cells(name, cells):
    table = paper_table(name)
    assert len(table.cells) == cells
    assert all(cell.values for cell in table.cells)
    assert all(set(cell.values) <= {*table.measures, "std"} for cell in table.cells)
    assert name in PAPER_TABLES


def test_values_as_printed():
    cell = {"stream": "split-cifar100", "method": "x-der", "buffer_size": 2000}
    assert printed("cil", **cell, regularizer="casper") == {"accuracy": 48.11, "adjusted_forgetting": 18.47}
    assert printed("cil", stream="split-cifar10", method="joint") == {"accuracy": 87.08}
    assert printed("til", **cell, regularizer="none") == {"accuracy": 82.55, "std": 2.98, "adjusted_forgetting": 0.92}
    assert printed("knn", **cell, regularizer="casper") == {"accuracy_5": 49.47, "accuracy_11": 49.49}
    assert printed("scr", **cell, regularizer="cscct") == {"accuracy": 45.51, "same_class_variance": 0.2242}
    domain = {"stream": "rotated-mnist", "method": "der++", "buffer_size": 200, "regularizer": "casper"}
    assert printed("domain", **domain) == {"accuracy": 90.96}
    few = {protocol: {"labels": 0.008} for protocol in PROTOCOLS}
    assert printed("cssl", method="ccic", regularizer="none", settings=few) == {"accuracy": 11.5}


def test_settings_beside_the_protocol():
    derset = {str(cell.settings) for cell in paper_table("derset").cells}
    assert len(derset) == 1
    cell = paper_table("derset").cells[0]
    assert cell.settings["paper"] == {"epochs": 50, "batch_size": 32, "milestones": [35, 45]}
    assert cell.settings["desk"] == {"epochs": 10, "batch_size": 32, "milestones": [7, 9]}
    assert cell.settings["pretrained"] == cell.settings["desk"]
    assert {cell.settings["paper"]["batch_size"] for cell in paper_table("batchsizes").cells} == {16, 32}
    assert all(cell.settings == {protocol: {} for protocol in PROTOCOLS} for cell in paper_table("cil").cells)


def test_settings_on_a_stream_are_listed_once_and_none_come_first():
    assert [own["desk"] for own in settings_of("split-cifar100")] == [
        {},
        {"epochs": 10, "batch_size": 32, "milestones": [7, 9]},
        {"batch_size": 16},
        {"batch_size": 32},
        {"labels": 0.008},
        {"labels": 0.05},
    ]
    assert settings_of("split-digits") == [{protocol: {} for protocol in PROTOCOLS}]


def test_names_are_the_commands_own():
    cells = [cell for name in PAPER_TABLES for cell in paper_table(name).cells]
    assert {cell.stream for cell in cells} < {*STREAMS}
    assert {cell.method for cell in cells} < {*METHODS}
    assert {cell.regularizer for cell in cells} == {"none", "casper", "cscct"}
    without = {cell.method for cell in cells if cell.buffer_size is None}
    assert without == {"joint", "finetune"}


def cells(name):
    return [(cell.method, cell.regularizer, cell.buffer_size) for cell in PAPER_PLOTS[name].table.cells]


def test_every_method_stands_beside_itself_with_casper():
    for plot in PAPER_PLOTS.values():
        found = [(cell.method, cell.regularizer) for cell in plot.table.cells]
        assert found[::2] == [(method, "none") for method, _ in found[::2]]
        assert found[1::2] == [(method, "casper") for method, _ in found[::2]]
        assert {cell.stream for cell in plot.table.cells} == {"split-cifar100"}


def test_methods_and_memories_as_in_the_captions():
    assert cells("tsne") == [("x-der", "none", 2000), ("x-der", "casper", 2000)]
    assert [method for method, _, _ in cells("fmaps")[::2]] == ["er-ace", "icarl", "x-der"]
    assert {size for _, _, size in cells("fmaps")} == {2000}
    assert {size for _, _, size in cells("sigma")} == {500}
    assert len(cells("sigma")) == len(cells("times")) == 10


def test_the_ratios_of_the_supplement():
    assert PUBLISHED_RATIOS == {"er-ace": 1.43, "x-der": 1.33}
