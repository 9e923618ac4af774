from casper.config import resolve_config
from casper.paper import plan
from casper.paper.tables import PAPER_TABLES, paper_table
from casper.reporting.paper_figures import PaperFigure, paper_figure
from casper.reporting.variants import variant_of

ACCURACY = "class_il.final_average_accuracy"
CIFAR = {"stream": "split-cifar100", "method": "er-ace", "regularizer": ["casper"], "buffer_size": 500}


def variant(**values):
    return variant_of(resolve_config({**CIFAR, **values}).as_dict())


def test_every_cell_finds_its_own_figure():
    count = 0
    for table in map(paper_table, PAPER_TABLES):
        for protocol in ("paper", "desk"):
            for cell, config in zip(table.cells, plan(table, protocol, 1), strict=True):
                found = variant_of(config.as_dict())
                assert not found.changes
                for name, path in table.measures.items():
                    figure = paper_figure(found, path, table.name)
                    assert (figure and figure.value) == cell.figures.get(name), config.name
                    count += 1
    assert count > 400


def test_a_departure_or_a_control_has_no_figure_in_the_paper():
    assert paper_figure(variant(protocol="desk"), ACCURACY) == PaperFigure(36.7)
    assert paper_figure(variant(protocol="desk", **{"casper.self_neighbor": True}), ACCURACY) is None
    assert paper_figure(variant(protocol="desk", epochs=5), ACCURACY) is None
    assert paper_figure(variant(protocol="desk", regularizer=["forward-only"]), ACCURACY) is None
    assert paper_figure(variant(protocol="desk", buffer_size=700), ACCURACY) is None
    assert paper_figure(variant(protocol="desk"), f"recalibrated.{ACCURACY}") is None


def test_a_cell_that_is_printed_twice():
    found = variant(method="icarl")
    assert paper_figure(found, ACCURACY) == PaperFigure(40.87)
    assert paper_figure(found, ACCURACY, "scr") == PaperFigure(40.57)
    assert paper_figure(found, ACCURACY, "domain") == PaperFigure(40.87)


def test_settings_of_a_table():
    assert paper_figure(variant(epochs=50, batch_size=32, milestones=[35, 45]), ACCURACY) == PaperFigure(38.4)
    desk = variant(protocol="desk", epochs=10, batch_size=32, milestones=[7, 9])
    assert paper_figure(desk, ACCURACY) == PaperFigure(38.4)


def test_a_deviation_where_one_is_printed():
    assert paper_figure(variant(), "task_il.final_average_accuracy") == PaperFigure(75.14, 0.42)
    assert paper_figure(variant(), "task_il.adjusted_forgetting") == PaperFigure(4.91)
