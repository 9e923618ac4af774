import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from casper.cli import sweep_progress as module
from casper.cli.sweep_progress import SweepDisplay, counts, ending
from casper.config import resolve_config
from casper.runs import RunDirectory
from casper.sweeps import SweepRun

METRICS = {"class_il": {"final_average_accuracy": 71.238}, "domain_il": None, "seconds": {"total": 754.0}}
DOMAIN = {"class_il": None, "domain_il": {"final_average_accuracy": None}, "seconds": {"total": 3.2}}
CONTROLS = "\x1b]0;x\x07\x1b[31m\r\x08\n\x9b"


def run(state="missing", path="nowhere", settings=None, **fields):
    return SweepRun(resolve_config({"seed": 3, **(settings or {})}), RunDirectory(Path(path)), state, **fields)


@pytest.fixture
def console():
    return Console(file=io.StringIO(), width=150, height=40)


def written(console):
    return console.file.getvalue()


def table(console, runs):
    console.print(SweepDisplay(console, runs))
    return written(console)


def test_runs_are_counted_by_state_and_those_that_are_none_left_out():
    states = ["missing"] * 3 + ["done"] * 2 + ["running", "failed", "elsewhere", "unfinished"]
    assert counts([run(state) for state in states]) == (
        "9 runs: 2 done, 3 missing, 1 unfinished, 1 elsewhere, 1 failed, 1 running"
    )
    assert counts([run("done")] * 4) == "4 runs: 4 done"


def test_an_ending_is_accuracy_and_time_or_the_reason():
    assert ending(run("done", metrics=METRICS)) == "71.24 %, 13 min"
    assert ending(run("done", metrics=DOMAIN)) == "- %, 3 s"
    assert ending(run("failed", reason="no memory")) == "no memory"
    assert ending(run()) == ""


def test_a_line_per_run_that_has_ended(console):
    runs = [run("done", metrics=METRICS), run("failed", reason="no memory"), run("done", earlier=True), run()]
    display = SweepDisplay(console, runs)
    with display:
        display.changed(runs[3])
        for state in ("running", "elsewhere"):
            display.changed(run(state))
        display.changed(runs[0])
        display.changed(runs[1])
    name = runs[0].config.name
    assert written(console).splitlines() == [
        f"1/3  {name}  missing  ",
        f"2/3  {name}  done  71.24 %, 13 min",
        f"3/3  {name}  failed  no memory",
    ]


def test_a_long_line_is_not_broken(console):
    failed = run("failed", reason="because " * 60)
    SweepDisplay(console, [failed]).changed(failed)
    assert written(console).count("\n") == 1


def test_text_from_elsewhere_is_no_markup(console):
    failed = run("failed", reason="[red]x[/red] [/]")
    SweepDisplay(console, [failed]).changed(failed)
    assert "[red]x[/red] [/]" in written(console)
    assert "[red]x[/red] [/]" in table(console, [failed])


def test_the_table_has_what_happens_first_and_what_is_over_last(console):
    runs = [
        run("done", metrics=METRICS),
        run("missing"),
        run("failed", reason="no memory"),
        run("running"),
        run("elsewhere", reason="in use by process 7"),
        run("unfinished"),
    ]
    lines = table(console, runs).splitlines()
    assert lines[0].split() == ["run", "seed", "buffer", "state"]
    states = ["running", "failed", "elsewhere", "unfinished", "missing", "done"]
    for line, state in zip(lines[2:8], states, strict=True):
        assert state in line
    assert f"er-ace + casper on split-digits {runs[0].config.hash}" in lines[2]
    assert "no memory" in lines[3]
    assert "in use by process 7" in lines[4]
    assert "71.24 %, 13 min" in lines[7]
    assert lines[8].startswith("6 runs: 1 done, 1 missing, ")
    options = runs[0].config.options
    assert lines[2].split()[6:8] == [str(options.seed), str(options.buffer_size)]


def test_a_run_without_regularizer_is_its_method(console):
    assert "\ner on split-digits " in table(console, [run(settings={"method": "er", "regularizer": "none"})])


def test_a_run_under_way_says_how_far_it_is(console, tmp_path):
    line = {"event": "task started", "task": 1, "images": 5, "steps": 40}
    (tmp_path / "log.jsonl").write_text(json.dumps(line) + "\n")
    assert "task 2, step 0/40" in table(console, [run("running", tmp_path)])
    console.file = io.StringIO()
    assert "task 2" not in table(console, [run("unfinished", tmp_path)])


def test_what_does_not_fit_is_counted(console):
    text = table(Console(file=console.file, width=150, height=16), [run("done")] * 7 + [run("running")] * 8)
    assert text.count("running") == 8 + 1  # and in the counts
    assert "... and 5 more" in text
    assert "15 runs: 7 done, 8 running" in text
    console.file = io.StringIO()
    assert "more" not in table(Console(file=console.file, width=150, height=16), [run()] * 10)


def test_a_low_terminal_shows_three_runs(console):
    assert "... and 4 more" in table(Console(file=console.file, width=150, height=2), [run()] * 7)


def test_the_time_that_is_left_is_guessed_from_what_this_sweep_has_made(console, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    runs = [run("done", earlier=True), run("done"), run("done"), run("running"), run("missing"), run("failed")]
    display = SweepDisplay(console, runs)
    now[0] = 1060.0
    console.print(display)
    assert written(console).splitlines()[-1].endswith("; 60 s, about 60 s left")


def test_nothing_is_guessed_before_a_run_was_made_or_when_none_is_left(console):
    for runs in ([run("done", earlier=True), run("running")], [run("done"), run("failed")]):
        console.file = io.StringIO()
        assert "left" not in table(console, runs)


def test_signs_that_steer_a_terminal_never_reach_it(console):
    made = run("failed", reason=f"bad {CONTROLS} image")
    object.__setattr__(
        made.config, "options", made.config.options.model_copy(update={"stream": f"npz:{CONTROLS}", "method": CONTROLS})
    )
    SweepDisplay(console, [made]).changed(made)
    text = written(console)
    assert "bad ?" in text
    assert all(letter.isprintable() for letter in text.removesuffix("\n"))
    console.file = io.StringIO()
    text = table(console, [made])
    assert "bad ?" in text
    assert "npz:?" in text
    assert all(letter.isprintable() for letter in text.replace("\n", ""))


def test_a_terminal_has_a_live_table_and_the_lines_stay():
    console = Console(file=io.StringIO(), width=150, height=40, force_terminal=True)
    runs = [run("running"), run("done", metrics=METRICS)]
    with SweepDisplay(console, runs) as display:
        display._live.refresh()
        display.changed(runs[1])
    text = written(console)
    assert "er-ace + casper on split-digits" in text
    assert f"1/2  {runs[1].config.name}  done  71.24 %, 13 min" in text
    assert "\x1b[?25h" in text  # the cursor is back


def test_a_file_has_no_live_table(console):
    with SweepDisplay(console, [run("running")]):
        pass
    assert written(console) == ""
