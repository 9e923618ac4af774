from casper.reports import make_report
from casper.reports.latex import to_latex
from finished import finished_run, rising

ACCURACY = "class_il.final_average_accuracy"


def test_one_table_per_table():
    runs = [
        finished_run({"method": "er", "regularizer": [name], "seed": seed}, rising(name, final, seed))
        for name, final in (("none", 60.0), ("casper", 61.0))
        for seed in (0, 1)
    ]
    text = to_latex(make_report(runs, paths=[ACCURACY]), "Digits")
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
    text = to_latex(make_report(runs, paths=[ACCURACY]), "Digits")
    assert r"$\blacktriangledown$" in text
    assert r"$\circ$" in text
    lines = [line for line in text.splitlines() if not line.startswith("%")]
    assert not any(sign in line for line in lines for sign in "○▼▲")


def test_names_are_text():
    run = finished_run({}, 60.0, code="x")
    run.layout["stream"] = 'folder:\\input{/etc/passwd}_&%$#~^{}<>\n\n|"'
    text = to_latex(make_report([run], paths=[ACCURACY]), "a\n\\end")
    escaped = r"folder:\textbackslash{}input\{/etc/passwd\}\_\&\%\$\#\textasciitilde{}\textasciicircum{}\{\}"
    assert escaped + r"\textless{}\textgreater{} \textbar{}\textquotedbl{}" in text
    assert text.startswith("% a \\end\n")  # a comment stays in its line
