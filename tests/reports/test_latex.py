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
    assert text.startswith("% Digits\n% 4 runs")


def test_the_legend_is_printed_below_every_table():
    runs = [
        finished_run({"method": "er", "regularizer": [name], "seed": seed}, rising(name, final, seed), recalibrated=70)
        for name, final in (("none", 60.0), ("casper", 61.0))
        for seed in (0, 1)
    ]
    paths = [ACCURACY, f"recalibrated.{ACCURACY}", "latent.same_class_variance", "seconds.train"]
    text = to_latex(make_report(runs, paths=paths), "Digits")
    tables = [part.partition(r"\end{table}")[0] for part in text.split(r"\begin{table}")[1:]]
    notes = [table.partition(r"\end{tabular}")[2].strip().splitlines() for table in tables]
    assert [note[0] for note in notes] == [r"\par\smallskip"] * 4
    assert all(note[1].startswith(r"\parbox{\linewidth}{\footnotesize Mean $\pm$ sample") for note in notes)
    accuracy, recalibrated, variance, time = (note[1] for note in notes)
    signs = r"(Student's t): $\blacktriangle$ above zero, $\blacktriangledown$ below, $\circ$ not distinguishable"
    assert all(signs in note for note in (accuracy, recalibrated, variance))
    assert [note.count("F*: adjusted") for note in (accuracy, recalibrated, variance, time)] == [1, 1, 0, 0]
    assert [note.count("Recalibrated:") for note in (accuracy, recalibrated, variance, time)] == [0, 1, 0, 0]
    assert "Difference: over the plain method" in variance
    assert time.endswith(r"with its 95 \% interval (Student's t).}")


def test_a_table_without_gains_explains_none():
    text = to_latex(make_report([finished_run({}, 60.0)], paths=[ACCURACY]), "Digits")
    assert r"{\footnotesize Mean $\pm$ sample standard deviation over seeds (number of seeds). F*: adjusted" in text


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
