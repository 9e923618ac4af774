import re

import pytest

from casper.cli.report import show_report
from casper.reports import make_report
from casper.reports.html import to_html
from casper.reports.latex import to_latex
from casper.reports.markdown import to_markdown
from finished import analysis_of, finished_run


def test_every_measure_that_the_runs_have():
    class_il = finished_run({}, 60.0, recalibrated=61.0)
    domain = finished_run({"stream": "rotated-digits"}, 70.0, scenario="domain_il")
    titles = [table.title for table in make_report([class_il, domain]).tables]
    assert titles == [
        "Class-IL: final average accuracy (%) on split-digits",
        "Domain-IL: final average accuracy (%) on rotated-digits",
        "Class-IL, recalibrated: final average accuracy (%) on split-digits",
        *(
            f"{k}-NN probe, {vote} vote: accuracy (%) on {stream}-digits"
            for vote in ("plain", "weighted")
            for k in (5, 11)
            for stream in ("rotated", "split")
        ),
        "Nearest class mean of the memory: accuracy (%) on rotated-digits",
        "Nearest class mean of the memory: accuracy (%) on split-digits",
        "Variance over the coordinates of a feature vector on rotated-digits",
        "Variance over the coordinates of a feature vector on split-digits",
        "Variance of features within a class on rotated-digits",
        "Variance of features within a class on split-digits",
        "Variance of features within a class, as a share of all variance on rotated-digits",
        "Variance of features within a class, as a share of all variance on split-digits",
        "Wall-clock time of training (s) on rotated-digits",
        "Wall-clock time of training (s) on split-digits",
    ]


def test_what_was_found_of_the_latent_space():
    runs = [
        finished_run({"regularizer": [name], "seed": seed}, 60.0, analysis_of(sigma=sigma + seed, energy=energy))
        for name, sigma, energy in (("none", 10.0, 9.0), ("casper", 8.0, 7.5))
        for seed in (0, 1)
    ]
    tables = {table.title: table for table in make_report(runs).tables if "split-digits" in table.title}
    sigma = tables["Label-signal variation of the memory after the last task on split-digits, sigma_neighbors=10"]
    assert [row.cells[50].spread.mean for row in sigma.rows] == [pytest.approx(21.0), pytest.approx(17.0)]
    energy = tables["Functional map: off-diagonal energy on split-digits, map_neighbors=10"]
    assert [row.cells[50].spread.mean for row in energy.rows] == [9.0, 7.5]
    assert "The same as a share of all edges on split-digits, sigma_neighbors=10" in tables
    assert "Eigengap of the memory's graph after the last task on split-digits, sigma_neighbors=10" in tables


def test_analyses_with_different_numbers_of_neighbors_are_not_averaged():
    analyses = [analysis_of(sigma=sigma, energy=9.0) for sigma in (10.0, 20.0, 60.0)]
    for analysis, neighbors in zip(analyses, (5, 5, 20), strict=True):
        analysis.update(sigma_neighbors=neighbors, map_neighbors=20)
    analyses[1]["functional_maps"][-1]["num_neighbors"] = 7  # lowered, for want of test images
    runs = [finished_run({"seed": seed}, 60.0, analysis) for seed, analysis in enumerate(analyses)]
    assert {run.neighbors("sigma") for run in runs} == {5, 20}
    found = {
        table.settings: [cell.seeds for row in table.rows for cell in row.cells.values()]
        for table in make_report(runs).tables
        if table.measure.path in ("analysis.label_signal_variation", "analysis.functional_map.off_diagonal_energy")
    }
    runs[0].analysis["code"] = "1.0 xyz"
    notes = {table.settings: table.notes for table in make_report(runs).tables}
    assert notes["sigma_neighbors=5"] == (
        "The analyses come from 2 versions of the code: 1.0 abc (1 run); 1.0 xyz (1 run).",
    )
    assert notes["sigma_neighbors=20"] == notes[""] == ()
    of_maps = {"map_neighbors=20": [(0, 2)], "map_neighbors=7": [(1,)]}
    assert found == {"sigma_neighbors=20": [(2,)], "sigma_neighbors=5": [(0, 1)], **of_maps}


def test_times_have_no_sign_and_say_why(capsys):
    runs = [
        finished_run({"regularizer": [name], "seed": seed}, 60.0, seconds=seconds + seed * seconds / 1000)
        for name, seconds in (("none", 10.0), ("casper", 20.0))
        for seed in (0, 1)
    ]
    report = make_report(runs, paths=["seconds.train"])
    (note,) = report.tables[0].notes
    assert note == "Times depend on the load of the machine as well, so their differences have no verdict."
    for text in (to_markdown(report, "T"), to_latex(report, "T"), to_html(report, "T")):
        assert note in text
        (cell,) = re.findall(r"\+10\.0 [^\n]*?,[^\n]*?(?:\||</td>|\\\\)", text)
        assert not any(sign in cell for sign in ("▲", "▼", "○", "blacktriangle", "circ"))
    show_report(report)
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "+10.0" in line]
    assert line.endswith("]")
    assert make_report(runs[:1], paths=["seconds.train"]).tables[0].notes == ()
