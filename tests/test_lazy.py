"""Packages that import their public names when they are first used."""

import compileall
import importlib
import os
import shutil
import subprocess
import sys
from operator import attrgetter
from pathlib import Path

import pytest

import casper

PACKAGE = Path(casper.__file__).parent
LAZY = ["casper", "casper.training", "casper.runs", "casper.sweeps", "casper.paper"]


@pytest.mark.parametrize("package", LAZY)
def test_every_name_is_there_and_listed(package):
    module = importlib.import_module(package)
    assert {*module.__all__} <= {*dir(module)}
    for name in module.__all__:
        assert getattr(module, name) is vars(module)[name]  # found, and found once


@pytest.mark.parametrize("package", LAZY)
def test_an_unknown_name_is_named(package):
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        attrgetter("nothing")(importlib.import_module(package))
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        exec(f"from {package} import nothing")


@pytest.mark.parametrize("package", [*LAZY, "casper.config", "casper.reports", "casper.metrics", "casper.cli.app"])
def test_importing_it_imports_no_pytorch(package):
    code = f"import sys, {package}; print(sorted({{'torch', 'scipy', 'matplotlib', 'sklearn'}} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def answer(place):
    """Import the package from a place, use a new and an old name, and say where it came from."""
    code = "import casper; from casper.experiments import RunConfig; print(casper.ER().__class__, casper.__file__)"
    environment = {**os.environ, "PYTHONPATH": str(place)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.startswith("<class 'casper.methods.er.ER'>")
    assert str(place) in done.stdout


def test_it_works_from_a_zip_file(tmp_path):
    answer(shutil.make_archive(str(tmp_path / "package"), "zip", PACKAGE.parent, PACKAGE.name))


def test_it_works_without_its_source(tmp_path):
    copied = shutil.copytree(PACKAGE, tmp_path / "casper", ignore=shutil.ignore_patterns("__pycache__"))
    assert compileall.compile_dir(copied, quiet=1, legacy=True)
    for file in copied.rglob("*.py"):
        file.unlink()
    answer(tmp_path)
