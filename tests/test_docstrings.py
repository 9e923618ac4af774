"""Examples in docstrings: every public object has one, and all of them run."""

import doctest
import inspect
import pkgutil
from importlib import import_module

import pytest

import casper

MODULES = [name for _, name, _ in pkgutil.walk_packages(casper.__path__, "casper.") if not name.endswith("__main__")]
# All but the command line, which exports nothing.
PACKAGES = [
    "casper",
    *(
        name
        for _, name, is_package in pkgutil.iter_modules(casper.__path__, "casper.")
        if is_package and name != "casper.cli"
    ),
]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def examples():
    """Find the docstrings with examples, also in the package itself."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [test for name in ["casper", *MODULES] for test in finder.find(import_module(name)) if test.examples]
    return {test.name: test for test in found}


def exports(module):
    """List the classes and functions that a package exports."""
    found = [getattr(module, name) for name in module.__all__]
    return [each for each in found if inspect.isclass(each) or inspect.isfunction(each)]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_exported_object_has_an_example(package):
    missing = [each.__name__ for each in exports(import_module(package)) if ">>> " not in (inspect.getdoc(each) or "")]
    assert missing == []


@pytest.mark.parametrize("test", examples().values(), ids=lambda test: test.name)
def test_an_example_runs(test, tmp_path, monkeypatch, data_dir):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CASPER_DATA", str(data_dir))
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append)
    assert result.failed == 0, "".join(report)


def test_only_examples_that_need_a_package_or_a_gpu_are_skipped():
    skipped = {test.name for test in examples().values() if any(doctest.SKIP in each.options for each in test.examples)}
    assert skipped == {"casper.nets.timm_backbone.TimmBackbone", "casper.nets.trunk.TimmTrunk"}
