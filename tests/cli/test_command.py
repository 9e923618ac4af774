"""The help pages: order of the panels, usage lines, options without a value."""

import pytest

from casper.cli.app import main
from casper.cli.options import PANELS


def page(capsys, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    assert main([command, "--help"]) == 0
    return capsys.readouterr().out


def panels(text):
    return [line.strip("╭╮─ ") for line in text.splitlines() if line.startswith("╭")]


@pytest.mark.parametrize("command", ["run", "sweep", "search", "reproduce", "analyse"])
def test_panels_have_the_same_order_in_every_command(command, capsys, monkeypatch):
    found = panels(page(capsys, monkeypatch, command))
    shared = [panel for panel in found if panel in PANELS]
    assert shared == sorted(shared, key=PANELS.index)
    assert shared[-1] == "Help"


def test_a_panel_of_one_command_alone_comes_after_what_to_run(capsys, monkeypatch):
    found = panels(page(capsys, monkeypatch, "search"))
    assert found[found.index("What to run") + 1] == "Search"


@pytest.mark.parametrize(("command", "usage"), [("sweep", "FILE.yaml"), ("report", "RUNS..."), ("list", "KIND [NAME]")])
def test_the_usage_line_has_no_braces(command, usage, capsys, monkeypatch):
    assert f"Usage: casper {command} [OPTIONS] {usage} " in page(capsys, monkeypatch, command)


@pytest.mark.parametrize("command", ["run", "sweep", "list", "doctor"])
def test_an_option_without_a_value_has_no_type_and_no_default(command, capsys, monkeypatch):
    text = page(capsys, monkeypatch, command)
    assert "bool" not in text
    assert "[default: estimate]" not in text
    assert "[default: no-" not in text
