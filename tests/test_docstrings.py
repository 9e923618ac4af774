"""Examples in docstrings: every public object has one, and all of them run."""

import doctest
import inspect
import pkgutil
from importlib import import_module

import pytest

import casper

MODULES = [name for _, name, _ in pkgutil.walk_packages(casper.__path__, "casper.") if not name.endswith("__main__")]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def examples():
    """Find the docstrings with examples, also in the package itself."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [test for name in ["casper", *MODULES] for test in finder.find(import_module(name)) if test.examples]
    return {test.name: test for test in found}


@pytest.mark.parametrize("name", casper.__all__)
def test_every_public_object_has_an_example(name):
    assert ">>> " in (inspect.getdoc(getattr(casper, name)) or "")


@pytest.mark.parametrize("test", examples().values(), ids=lambda test: test.name)
def test_an_example_runs(test, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append)
    assert result.failed == 0, "".join(report)
