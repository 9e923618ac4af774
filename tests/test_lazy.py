"""Packages that import their public names when they are first used."""

import importlib
import subprocess
import sys
from operator import attrgetter

import pytest

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
