import importlib.util
import re
from importlib import metadata
from pathlib import Path

import pytest

import casper
from casper.config import resolve_config
from casper.runs import execute
from casper.runs.code_version import code_version

SOURCE = Path(casper.__file__).parent / "runs" / "code_version.py"


@pytest.fixture
def package(tmp_path):
    """A small package around a copy of the module."""
    package = tmp_path / "casper"
    for name in ("nets/net.py", "methods/er.py", "types.py", "cli/app.py", "sweeps/sweep.py", "reporting/tables.py"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(f"# {name}\nx = 1\n")
    (package / "runs").mkdir()
    (package / "runs" / "code_version.py").write_bytes(SOURCE.read_bytes())
    return package


def version_of(package):
    specification = importlib.util.spec_from_file_location("copied", package / "runs" / "code_version.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module.code_version()


def test_it_is_the_packages_version_and_ten_digits():
    version, _, digits = code_version().partition(" ")
    assert version == metadata.version("casper-il")
    assert re.fullmatch("[0-9a-f]{10}", digits)


@pytest.mark.parametrize("name", ["nets/net.py", "methods/er.py", "types.py"])
def test_a_change_of_what_a_result_depends_on_is_another_version(package, name):
    before = version_of(package)
    assert version_of(package) == before
    (package / name).write_text("x = 2\n")
    assert version_of(package) != before


@pytest.mark.parametrize(
    "name", ["cli/app.py", "sweeps/sweep.py", "reporting/tables.py", "runs/new.py", "nets/notes.txt"]
)
def test_a_change_of_what_only_shows_or_starts_runs_is_none(package, name):
    before = version_of(package)
    (package / name).write_text("x = 2\n")
    assert version_of(package) == before


def test_names_of_modules_count(package):
    before = version_of(package)
    (package / "nets" / "net.py").rename(package / "nets" / "other.py")
    assert version_of(package) != before


def test_line_endings_of_another_system_do_not(package):
    before = version_of(package)
    for file in package.rglob("*.py"):
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert version_of(package) == before


def test_a_result_says_which_code_made_it(tmp_path):
    metrics = execute(resolve_config({"epochs": 1, "backbone.width": 4, "tasks": 1}), tmp_path / "run")
    assert metrics["code"] == code_version()
