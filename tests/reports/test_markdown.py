from casper.reports import make_report
from casper.reports.markdown import to_markdown
from finished import finished_run

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
