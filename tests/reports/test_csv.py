import csv
import io

import pytest

from casper.reports import make_report
from casper.reports.csv import to_csv
from finished import finished_run, rising


def lines(runs):
    return list(csv.DictReader(io.StringIO(to_csv(make_report(runs)))))


def test_one_line_per_cell_at_full_precision():
    given = {"stream": "split-cifar100", "protocol": "desk", "method": "er-ace", "buffer_size": 500}
    runs = [
        finished_run({**given, "regularizer": [name], "seed": seed}, rising(name, final, seed / 3))
        for name, final in (("none", 60.0), ("casper", 61.0))
        for seed in (0, 1)
    ]
    found = [line for line in lines(runs) if line["measure"] == "class_il.final_average_accuracy"]
    assert [line["regularizer"] for line in found] == ["none", "casper"]
    plain, casper = found
    assert (plain["stream"], plain["protocol"], plain["buffer_size"]) == ("split-cifar100", "desk", "500")
    assert plain["mean"] == "60.16666666666667"
    assert (plain["seeds"], plain["gain"], plain["paper"]) == ("0 1", "", "34.99")
    assert (float(casper["gain"]), casper["gain_verdict"], casper["gain_pairs"]) == (pytest.approx(1.0), "higher", "2")
    assert float(casper["gain_low"]) <= float(casper["gain"]) <= float(casper["gain_high"])
    assert (plain["beside"], plain["beside_mean"]) == ("class_il.adjusted_forgetting", "5.0")
    assert (casper["paper_beside"], casper["paper_std"], casper["versions"]) == ("46.61", "", "1.0 abc")


def test_a_difference_of_times_has_no_verdict():
    runs = [
        finished_run({"regularizer": [name], "seed": seed}, 60.0, seconds=seconds + seed * seconds)
        for name, seconds in (("none", 10.0), ("casper", 20.0))
        for seed in (0, 1)
    ]
    *_, casper = lines(runs)
    assert (casper["measure"], casper["gain"], casper["gain_verdict"]) == ("seconds.train", "15.0", "")
    assert float(casper["gain_low"]) < 15 < float(casper["gain_high"])


def test_a_name_is_no_formula():
    run = finished_run({}, 60.0, code="@SUM(A1)")
    run.layout["stream"] = "=cmd|'/c calc'!A1"
    (line, *_) = lines([run])
    assert line["stream"] == "'=cmd|'/c calc'!A1"
    assert line["versions"] == "'@SUM(A1)"
    for first in ("+", "-", "\t=", "\r\n="):
        run.layout["stream"] = f"{first}1\n2"
        assert lines([run])[0]["stream"] == f"'{first.strip()}1 2"


def test_versions_are_those_of_the_cell():
    runs = [finished_run({"method": method}, 60.0, code=code) for method, code in (("er", "1"), ("er-ace", "2"))]
    found = {line["method"]: line["versions"] for line in lines(runs)}
    assert found == {"er": "1", "er-ace": "2"}
