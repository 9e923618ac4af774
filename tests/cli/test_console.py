import io
import re

import pytest
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from casper.cli.console import (
    SafeConsole,
    comparison_table,
    difference_table,
    latent_line,
    matrix_table,
    number,
    show,
    spread,
    summary_table,
    warn,
)
from casper.metrics import summarize

MATRIX = [[90.0, 10.0, None], [60.0, 80.0, 5.0], [45.0, 60.0, 70.0]]


def text(table):
    console = Console(file=io.StringIO(), width=200)
    console.print(table)
    return console.file.getvalue()


HOSTILE = "set \x1b]0;title\x07 \x1b[31m [/bold] [red] :smile: \x9b2J"


@pytest.mark.parametrize(
    "content", [HOSTILE, Text(HOSTILE), Table(HOSTILE, title=HOSTILE), Group(Text("x"), Text(HOSTILE))]
)
def test_nothing_raw_reaches_the_terminal(content, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    show(content)
    shown = capsys.readouterr().out
    assert all(letter.isprintable() or letter == "\n" for letter in shown)
    assert "set ?]0;title ?[31m [/bold] [red] :smile: ?2J" in shown


def test_a_live_display_still_moves_the_cursor(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    console = SafeConsole()
    console.file = io.StringIO()
    with Live(Text("one\x1b"), console=console, auto_refresh=False, transient=True) as live:
        live.update(Text("two\x1b"), refresh=True)
    shown = console.file.getvalue()
    assert "two?" in shown
    assert "\x1b[2K" in shown  # erases the line


def test_matrix_shows_what_was_learnt_and_not_what_is_to_come():
    shown = text(matrix_table("Class-IL", MATRIX))
    assert all(value in shown for value in ("90.00", "60.00", "80.00", "45.00", "70.00"))
    assert "10.00" not in shown
    assert " 5.00" not in shown


@pytest.mark.parametrize(("tasks", "value"), [(8, "77.77"), (10, "77.8"), (20, "78")])
def test_a_large_matrix_fits_into_80_columns(tasks, value):
    matrix = [[77.77] * tasks for _ in range(tasks)]
    matrix[-1][0] = 100.0
    console = Console(file=io.StringIO(), width=80)
    console.print(matrix_table("Class-IL", matrix))
    shown = console.file.getvalue()
    assert "…" not in shown
    assert shown.count(f"{value} ") + shown.count(f"{value}\n") == tasks * (tasks + 1) // 2 - 1


def test_summaries_have_a_column_per_scenario_and_evaluation():
    block = summarize(MATRIX, [1.0, 2.0, 3.0])
    metrics = {"class_il": block, "task_il": block, "domain_il": None, "recalibrated": {"class_il": block}}
    shown = text(summary_table(metrics))
    assert "Class-IL, recalibrated" in shown
    assert "Domain-IL" not in shown
    assert "58.33" in shown
    assert "37.50" in shown


def test_what_is_undefined_is_a_dash():
    assert number(None) == "-"


def test_the_latent_space_in_one_line():
    latent = {
        "same_class_variance": 0.04696,
        "same_class_variance_ratio": 0.3755,
        "knn_5_majority": 87.548,
        "knn_11_majority": 87.8942,
    }
    variance, votes = "variance within a class 0.047, 38 % of all", "87.55 % (k = 5), 87.89 % (k = 11)"
    assert latent_line(latent) == f"features: {variance}; k-NN probe, plain vote, {votes}"
    nothing = {
        "same_class_variance": 0.0,
        "same_class_variance_ratio": None,
        "knn_5_majority": None,
        "knn_11_majority": None,
    }
    assert latent_line(nothing) == "features: variance within a class 0"


def test_spread_is_mean_and_sample_standard_deviation():
    assert spread([1.0, 2.0, 3.0]) == "2.00 ± 1.00"
    assert spread([1.0]) == "1.00"


ACCURACIES = {
    "plain": {"as trained": [50.0, 60.0], "recalibrated": [55.0, 65.0]},
    "other": {"as trained": [53.0, 59.0], "recalibrated": [55.0, 64.999]},
}


def test_comparison_shows_mean_and_deviation_of_each_evaluation():
    shown = text(comparison_table("title", ACCURACIES))
    assert "55.00 ± 7.07" in shown
    assert "60.00 ± 7.07" in shown


def test_differences_are_paired_by_seed():
    rows = [line for line in text(difference_table(ACCURACIES, [0, 1])).splitlines() if "other" in line]
    found = [re.split(r"\s{2,}", row.strip()) for row in rows]
    expected = [["as trained", "+1.00", "+3.00", "-1.00"], ["recalibrated", "+0.00", "+0.00", "+0.00"]]
    assert found == [["other", *row] for row in expected]


def test_a_warning_is_one_line_without_signs_that_steer(capsys):
    warn("a\nb\x1b[31m")
    captured = capsys.readouterr()
    assert captured.err == "casper: warning: a b?[31m\n"
    assert captured.out == ""
