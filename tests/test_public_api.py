"""The front door: what `casper` exports, and what importing it costs."""

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import casper
from casper.config.registry import KINDS, PATTERNS

PACKAGES = sorted(path.parent.name for path in Path(casper.__file__).parent.glob("*/__init__.py"))


def printed(code, *arguments):
    finished = subprocess.run([sys.executable, *arguments, "-c", code], capture_output=True, text=True, check=True)
    return finished.stdout.strip()


def imports_for_type_checkers():
    """List the `TYPE_CHECKING` block of the package: (module, name)."""
    tree = ast.parse(Path(casper.__file__).read_text("utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    return [(node.module, alias.name) for node in block.body for alias in node.names]


# What importing it costs


@pytest.mark.parametrize("module", ["casper", "casper.errors", "casper.files", "casper.formatting"])
def test_importing_the_package_imports_nothing_else(module):
    heavy = ["torch", "numpy", "scipy", "rich", "typer", "pydantic", "sklearn", "datasets", "yaml"]
    assert printed(f"import sys, {module}; print([name for name in {heavy} if name in sys.modules])") == "[]"


ALONE = """
import sys

class OnlyPyTorch:
    needs = {"casper", "torch", "torchgen", "functorch", "sympy", "mpmath", "networkx", "jinja2", "markupsafe",
             "fsspec", "filelock", "typing_extensions", "triton", "nvidia", *sys.stdlib_module_names}

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in self.needs:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

if "alone" in sys.argv:
    sys.meta_path.insert(0, OnlyPyTorch())
import torch
from casper import spectral_gap_loss

features = torch.randn(256, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64, requires_grad=True)
loss = spectral_gap_loss(features, 5, 10)
loss.backward()
print([name for name in ("numpy", "scipy", "threadpoolctl") if name in sys.modules])
print(loss.item())
print(features.grad.flatten().tolist())
"""


def test_the_loss_needs_no_other_package_than_pytorch():
    runs = [
        subprocess.run([sys.executable, "-c", ALONE, how], capture_output=True, text=True, check=True).stdout
        for how in ("alone", "with all")
    ]
    (modules, *alone), (all_modules, *usual) = ([ast.literal_eval(line) for line in run.splitlines()] for run in runs)
    assert modules == []
    assert all_modules == ["numpy", "scipy", "threadpoolctl"]  # the subset driver: at this size it is another path
    torch.testing.assert_close(torch.tensor(alone[0]), torch.tensor(usual[0]), rtol=0, atol=1e-8)
    torch.testing.assert_close(torch.tensor(alone[1]), torch.tensor(usual[1]), rtol=0, atol=1e-8)


# What it exports


def test_every_name_is_the_one_that_type_checkers_see():
    seen = imports_for_type_checkers()
    assert sorted(name for _, name in seen) == sorted(casper.__all__)
    for module, name in seen:
        assert getattr(casper, name) is getattr(importlib.import_module(module), name), name


def test_type_checkers_see_no_other_name():
    """A `__getattr__` of the module would have every name exist for them."""
    tree = ast.parse(Path(casper.__file__).read_text("utf-8"))
    assert "__getattr__" not in [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]


def test_all_names_are_listed_and_can_be_imported_at_once():
    assert {*casper.__all__, "__version__"} <= {*dir(casper)}
    everything = {}
    exec("from casper import *", everything)
    assert {*casper.__all__} <= everything.keys()


def test_packages_are_attributes_before_they_are_imported():
    assert printed("import casper; print(casper.metrics.__name__)") == "casper.metrics"


def test_a_name_that_does_not_exist_is_an_error_of_the_usual_kind():
    with pytest.raises(AttributeError, match="module 'casper' has no attribute 'nothing'"):
        _ = casper.nothing
    with pytest.raises(ImportError, match="cannot import name 'nothing' from 'casper'"):
        exec("from casper import nothing")


def with_a_name(kind):
    """Name the parts that the command line knows by a name."""
    return {part.__name__ for part in [*KINDS[kind].values(), *PATTERNS[kind].values()]}


def stream_makers():
    """Name the functions of `casper.streams` that make a stream."""
    functions = {name: vars(casper.streams)[name] for name in casper.streams.__all__}
    return {name for name, made in functions.items() if inspect.signature(made).return_annotation is casper.TaskStream}


BASES = [casper.Method, casper.Regularizer, casper.Backbone, casper.Trunk, casper.TaskStream]


def types_of_the_bases():
    """Name the classes of this package in the signatures of the base classes' methods."""
    functions = [member for base in BASES for member in vars(base).values() if inspect.isfunction(member)]
    signatures = [inspect.signature(function, eval_str=True) for function in functions]
    annotations = [
        annotation
        for signature in signatures
        for annotation in (
            signature.return_annotation,
            *(parameter.annotation for parameter in signature.parameters.values()),
        )
    ]
    return {name for annotation in annotations for name in classes_in(annotation)}


def classes_in(annotation):
    """Name the classes of this package in an annotation: in `Mapping[str, Outputs]`, `Outputs`."""
    if inspect.isclass(annotation) and annotation.__module__.startswith("casper."):
        yield annotation.__name__
    for part in getattr(annotation, "__args__", ()):
        yield from classes_in(part)


@pytest.mark.parametrize("kind", KINDS)
def test_everything_with_a_name_on_the_command_line_is_exported(kind):
    missing = with_a_name(kind) - {*casper.__all__}
    assert not missing, f"casper must export every {kind}"


def test_what_else_is_exported():
    """The rest of the rule in the package's docstring."""
    parts = set().union(*map(with_a_name, KINDS))
    losses = {*casper.losses.__all__, "spectral_gap_loss"}
    bases = {base.__name__ for base in BASES}
    not_in_signatures = {"Column", "ParameterError"}  # in a class attribute, and raised
    assert {*casper.__all__} == (
        parts | stream_makers() | losses | {"Trainer"} | bases | types_of_the_bases() | not_in_signatures
    )


@pytest.mark.parametrize("package", [name for name in PACKAGES if name != "cli"])
def test_packages_export_what_they_import(package):
    module = importlib.import_module(f"casper.{package}")
    tree = ast.parse(Path(module.__file__).read_text("utf-8"))
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module.startswith(f"casper.{package}.")
        for alias in node.names
    }
    assert {*module.__all__} == imported
    assert len(module.__all__) == len({*module.__all__})
