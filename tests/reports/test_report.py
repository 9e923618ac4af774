import pytest

from casper.cli.report import show_report
from casper.config import ConfigError, resolve_config
from casper.paper import plan_runs
from casper.paper.tables import PAPER_TABLES, paper_table
from casper.reports import grid_of, make_report
from casper.reports.csv import to_csv
from casper.reports.html import to_html
from casper.reports.latex import to_latex
from casper.reports.markdown import to_markdown
from casper.reports.report import PublishedValue, published_value
from casper.reports.statistics import paired_gain
from casper.reports.variants import variant_of
from finished import finished_run

ACCURACY = "class_il.final_average_accuracy"
CIFAR = {"stream": "split-cifar100", "method": "er-ace", "regularizer": ["casper"], "buffer_size": 500}


def variant(**values):
    return variant_of(resolve_config({**CIFAR, **values}).as_dict())


def test_every_cell_finds_its_own_figure():
    count = 0
    for table in map(paper_table, PAPER_TABLES):
        for protocol in ("paper", "desk"):
            for cell, config in zip(table.cells, plan_runs(table, protocol, 1), strict=True):
                found = variant_of(config.as_dict())
                assert not found.changes
                for name, path in table.measures.items():
                    printed = published_value(found, path, table.name)
                    assert (printed and printed.value) == cell.values.get(name), config.name
                    count += 1
    assert count > 400


def test_a_departure_or_a_control_has_no_figure_in_the_paper():
    assert published_value(variant(protocol="desk"), ACCURACY) == PublishedValue(36.7)
    assert published_value(variant(protocol="desk", **{"casper.self_neighbor": True}), ACCURACY) is None
    assert published_value(variant(protocol="desk", epochs=5), ACCURACY) is None
    assert published_value(variant(protocol="desk", regularizer=["forward-only"]), ACCURACY) is None
    assert published_value(variant(protocol="desk", buffer_size=700), ACCURACY) is None
    assert published_value(variant(protocol="desk"), f"recalibrated.{ACCURACY}") is None


def test_runs_of_earlier_versions_have_a_dash_for_a_value_that_they_lack():
    runs = [finished_run({"regularizer": [name], "method": "er"}, 60.0) for name in ("none", "casper")]
    del runs[0].metrics["latent"]["coordinate_variance"]
    variance = "latent.coordinate_variance"
    for report in (make_report(runs), make_report(runs, paths=[variance])):
        (table,) = [table for table in report.tables if table.measure.path == variance]
        plain, casper = (row.cells[50] for row in table.rows)
        assert (plain.spread, plain.seeds, casper.gain) == (None, (), None)
        assert [row[1].text[0] for row in grid_of(table).rows] == ["–", "0"]
        assert all("–" in write(report, "T") for write in (to_markdown, to_html, to_latex))
    assert "| er | – |" in to_markdown(report, "T")
    (line,) = [line for line in to_csv(report).splitlines() if ",er,none," in line]
    assert line.startswith(f"{variance},split-digits,,,er,none,,50,,,,")
    show_report(report)

    del runs[1].metrics["latent"]["coordinate_variance"]
    assert [table.measure.path for table in make_report(runs, paths=[variance]).tables] == [variance]
    assert variance not in [table.measure.path for table in make_report(runs).tables]


def test_a_cell_that_is_printed_twice():
    found = variant(method="icarl")
    assert published_value(found, ACCURACY) == PublishedValue(40.87)
    assert published_value(found, ACCURACY, "scr") == PublishedValue(40.57)
    assert published_value(found, ACCURACY, "domain") == PublishedValue(40.87)


def test_settings_of_a_table():
    assert published_value(variant(epochs=50, batch_size=32, milestones=[35, 45]), ACCURACY) == PublishedValue(38.4)
    desk = variant(protocol="desk", epochs=10, batch_size=32, milestones=[7, 9])
    assert published_value(desk, ACCURACY) == PublishedValue(38.4)


def test_a_deviation_where_one_is_printed():
    assert published_value(variant(), "task_il.final_average_accuracy") == PublishedValue(75.14, 0.42)
    assert published_value(variant(), "task_il.adjusted_forgetting") == PublishedValue(4.91)


DESK = {"stream": "split-cifar100", "protocol": "desk", "recalibrate": True}
REPORT_ACCURACY = "class_il.final_average_accuracy"


def runs_of(method, regularizer, finals, buffer_size=500, **values):
    given = {**DESK, "method": method, "regularizer": [regularizer], **values}
    if method not in ("joint", "finetune"):
        given["buffer_size"] = buffer_size
    return [finished_run({**given, "seed": seed}, final) for seed, final in enumerate(finals)]


def table_of(runs, path=ACCURACY):
    (table,) = make_report(runs, paths=[path]).tables
    return table


def test_methods_go_down_buffer_sizes_across():
    runs = [
        *runs_of("der++", "casper", [21.0]),
        *runs_of("der++", "none", [20.0]),
        *runs_of("er-ace", "none", [30.0], 2000),
        *runs_of("er-ace", "forward-only", [31.0]),
        *runs_of("er-ace", "casper", [32.0]),
        *runs_of("er-ace", "casper", [33.0], **{"casper.self_neighbor": True}),
        *runs_of("er-ace", "none", [29.0]),
        *runs_of("finetune", "none", [8.0]),
        *runs_of("joint", "none", [60.0]),
        *runs_of("er", "none", [9.0]),
    ]
    table = table_of(runs)
    assert table.columns == (500, 2000)
    assert [row.name for row in table.rows] == [
        "joint",
        "finetune",
        "er-ace",
        "er-ace + forward-only",
        "er-ace + casper",
        "er-ace + casper (self_neighbor=true)",
        "der++",
        "der++ + casper",
        "er",
    ]
    found = {row.name: {size: cell.spread.mean for size, cell in row.cells.items()} for row in table.rows}
    assert found["joint"] == {500: 60.0, 2000: 60.0}  # the same runs, whatever the others' buffers hold
    assert found["er-ace"] == {500: 29.0, 2000: 30.0}
    assert found["er-ace + casper"] == {500: 32.0}


def test_means_gains_and_the_papers_figures():
    plain, casper = [10.0, 20.0, 30.0], [11.0, 22.0, 33.0]
    table = table_of(runs_of("er-ace", "none", plain) + runs_of("er-ace", "casper", casper))
    base, added = (row.cells[500] for row in table.rows)
    assert (base.spread.mean, base.spread.std, base.spread.count) == (20.0, 10.0, 3)
    assert base.seeds == (0, 1, 2)
    assert base.beside == 5.0
    assert base.gain is None
    assert added.gain == paired_gain(dict(enumerate(casper)), dict(enumerate(plain)))
    assert (base.paper, base.paper_gain, base.paper_beside) == (PublishedValue(34.99), None, 51.41)
    assert added.paper == PublishedValue(36.7)
    assert added.paper_gain == pytest.approx(1.71)
    assert added.versions == ("1.0 abc",)


def test_a_gain_is_over_the_plain_method_with_the_same_buffer():
    runs = runs_of("er-ace", "none", [10.0, 12.0]) + runs_of("er-ace", "none", [50.0, 52.0], 2000)
    table = table_of(runs + runs_of("er-ace", "casper", [11.0, 13.0]) + runs_of("er-ace", "casper", [49.0, 51.0], 2000))
    gains = {size: cell.gain.mean for size, cell in table.rows[1].cells.items()}
    assert gains == {500: 1.0, 2000: -1.0}
    lonely = table_of(runs_of("der++", "casper", [1.0]))
    assert lonely.rows[0].cells[500].gain is None


def test_protocols_and_settings_are_never_mixed():
    runs = runs_of("er-ace", "none", [10.0]) + runs_of("er-ace", "none", [35.0], protocol="paper")
    runs += [*runs_of("er-ace", "none", [12.0], epochs=9, milestones=[3]), finished_run({}, 70.0)]
    tables = make_report(runs, paths=[REPORT_ACCURACY]).tables
    assert [table.title.partition(" on ")[2] for table in tables] == [
        "split-cifar100, desk protocol",
        "split-cifar100, desk protocol, epochs=9",
        "split-cifar100, paper protocol",
        "split-digits",
    ]
    notes = [" ".join(table.notes) for table in tables]
    assert "not the paper's experiments: image_size 16 instead of the original, backbone convnet" in notes[0]
    assert notes[1:] == ["", "", ""]  # no figure of the paper stands there, or it is the paper's own set-up


def test_of_two_runs_of_one_seed_the_one_with_both_evaluations_is_shown():
    runs = [
        finished_run({"recalibrate": True}, 61.0, recalibrated=62.0),
        finished_run({}, 60.0),
        finished_run({"seed": 1}, 70.0),
    ]
    report = make_report(runs, paths=[REPORT_ACCURACY])
    cell = report.tables[0].rows[0].cells[50]
    assert (cell.spread.mean, cell.spread.count) == (65.5, 2)
    assert {run.name for run, _ in report.runs} == {runs[0].name, runs[2].name}
    assert report.notes[-1] == f"Left out, because another run has the same settings and seed: {runs[1].name}."


def test_the_second_figure_is_a_mean():
    runs = runs_of("er-ace", "none", [10.0, 12.0])
    for run, forgetting in zip(runs, (20.0, 30.0), strict=True):
        run.metrics["class_il"]["adjusted_forgetting"] = forgetting
    assert table_of(runs).rows[0].cells[500].beside == 25.0


def test_a_gain_is_over_the_plain_method_of_the_same_settings():
    runs = runs_of("er-ace", "none", [10.0]) + runs_of("er-ace", "none", [30.0], lr=0.3)
    table = table_of(runs + runs_of("er-ace", "casper", [31.0], lr=0.3))
    row = next(row for row in table.rows if row.regularizers)
    assert row.cells[500].gain.mean == 1.0
    alone = table_of(runs_of("er-ace", "none", [10.0]) + runs_of("er-ace", "casper", [31.0], lr=0.3))
    assert next(row for row in alone.rows if row.regularizers).cells[500].gain is None


def test_no_run_is_an_error():
    with pytest.raises(ConfigError, match="at least one finished run, but got none; 1 run not finished"):
        make_report([], ["begun"])
