import csv
import io

import pytest

from casper.reports import make_report
from casper.reports.text_formats import to_csv, to_latex, to_markdown
from finished import finished_run, rising

ACCURACY = "class_il.final_average_accuracy"


def test_a_table_with_its_notes():
    runs = [finished_run({"method": "er", "regularizer": [name]}, 60.0) for name in ("none", "casper")]
    text = to_markdown(make_report(runs, paths=[ACCURACY]), "Digits")
    lines = text.splitlines()
    assert lines[0] == "# Digits"
    start = lines.index("## Class-IL: final average accuracy (%) on split-digits")
    assert lines[start + 1 : start + 6] == [
        "",
        "| method | buffer 50 | F\\* | gain |",
        "| --- | ---: | ---: | ---: |",
        "| er | 60.00 (1) | 5.00 |  |",
        "| &emsp;+ casper | 60.00 (1) | 5.00 | +0.00 ? |",
    ]
    assert "one version of the code: 1.0 abc." in text


def test_names_are_text():
    run = finished_run({}, 60.0, code="<script>alert(1)</script> *|` [a](b)\nnext ~~x~~ $a$ &lt; \\*")
    text = to_markdown(make_report([run], paths=[ACCURACY]), "a | <b>")
    assert "<script" not in text
    assert "&lt;script>alert(1)&lt;/script> \\*\\|\\` \\[a\\](b) next \\~\\~x\\~\\~ \\$a\\$ &amp;lt; \\\\\\*" in text
    assert text.startswith("# a \\| &lt;b>")


LATEX_ACCURACY = "class_il.final_average_accuracy"


def test_one_table_per_table():
    runs = [
        finished_run({"method": "er", "regularizer": [name], "seed": seed}, rising(name, final, seed))
        for name, final in (("none", 60.0), ("casper", 61.0))
        for seed in (0, 1)
    ]
    text = to_latex(make_report(runs, paths=[LATEX_ACCURACY]), "Digits")
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == 1
    assert r"\caption{Class-IL: final average accuracy (\%) on split-digits.}" in text
    assert r"\begin{tabular}{lrrr}" in text
    assert r"er & 60.50 $\pm$ 0.71 (2) & 5.00 &  \\" in text
    line = r"\quad + casper & 61.50 $\pm$ 0.71 (2) & 5.00 & +1.00 {[}+1.00, +1.00{]} $\blacktriangle$ \\"
    assert line in text
    assert text.startswith("% Digits\n% Mean")


def test_every_sign_has_its_symbol():
    runs = [
        finished_run({"method": method, "regularizer": [name], "seed": seed}, final + seed * slope)
        for method, change, other in (("er", -1.0, 1e-7), ("er-ace", 0.0, 1.0))
        for name, final, slope in (("none", 60.0, 0.0), ("casper", 60.0 + change, other))
        for seed in (0, 1)
    ]
    text = to_latex(make_report(runs, paths=[LATEX_ACCURACY]), "Digits")
    assert r"$\blacktriangledown$" in text
    assert r"$\circ$" in text
    lines = [line for line in text.splitlines() if not line.startswith("%")]
    assert not any(sign in line for line in lines for sign in "○▼▲")


def test_names_are_text_of_latex():
    run = finished_run({}, 60.0, code="x")
    run.layout["stream"] = 'folder:\\input{/etc/passwd}_&%$#~^{}<>\n\n|"'
    text = to_latex(make_report([run], paths=[LATEX_ACCURACY]), "a\n\\end")
    escaped = r"folder:\textbackslash{}input\{/etc/passwd\}\_\&\%\$\#\textasciitilde{}\textasciicircum{}\{\}"
    assert escaped + r"\textless{}\textgreater{} \textbar{}\textquotedbl{}" in text
    assert text.startswith("% a \\end\n")  # a comment stays in its line


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
