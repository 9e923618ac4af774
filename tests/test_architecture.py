"""The architecture: imports point one way only, in every folder, and every module has its test."""

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "casper"

# A part imports itself and those before it.
ORDER = [
    "_lazy",
    "_deprecated",
    "_repr",
    "errors",
    "formatting",
    "types",
    "randomness",
    "files",
    "spectral",
    "losses",
    "nets",
    "data",
    "streams",
    "memory",
    "step",
    "regularizers",
    "methods",
    "metrics",
    "analysis",
    "training",
    "config",
    "runs",
    "sweeps",
    "paper",
    "plots",
    "reports",
    "cli",
]
MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(path):
    """Name a module as it is imported: `casper.nets.mlp`; a folder for its `__init__`."""
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


NAMES = {name_of(path) for path in MODULES}


def imported(path):
    """List the modules of the package that a file imports, wherever in it: in a function, for type checkers alone."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            if name.split(".")[0] == "casper":
                yield name if name in NAMES else name.rpartition(".")[0]


def part_of(module):
    """Name the part that a module belongs to; empty for the package itself."""
    return module.partition(".")[2].partition(".")[0]


def inside(module, folder):
    return module == folder or module.startswith(f"{folder}.")


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_only_point_left(path):
    part = part_of(name_of(path))
    if part in ("", "__main__"):
        return
    for other in imported(path):
        assert part_of(other) != "", f"{name_of(path)} imports the package's front door"
        assert ORDER.index(part_of(other)) <= ORDER.index(part), f"{name_of(path)} imports {other}"


def test_every_part_has_its_place():
    assert {part_of(name) for name in NAMES} - {"", "__main__"} == {*ORDER}


@pytest.mark.parametrize("folder", sorted({path.parent for path in MODULES} - {PACKAGE}), ids=name_of)
def test_imports_inside_a_folder_have_no_circles(folder):
    """What is in a folder imports neither the folder itself, nor what imports it; a subfolder counts as one module."""
    here = name_of(folder)
    graph = {}
    for path in folder.rglob("*.py"):
        module = name_of(path)
        if module == here:
            continue
        member = ".".join(module.split(".")[: len(here.split(".")) + 1])
        for other in imported(path):
            assert other != here, f"{module} imports its own folder's front door"
            if inside(other, here) and not inside(other, member):
                graph.setdefault(member, set()).add(".".join(other.split(".")[: len(here.split(".")) + 1]))
    TopologicalSorter(graph).prepare()  # raises CycleError


@pytest.mark.parametrize("path", [path for path in MODULES if not path.name.startswith("__")], ids=name_of)
def test_every_module_has_a_test_file_of_its_name(path):
    place = path.relative_to(PACKAGE).parent
    assert (ROOT / "tests" / place / f"test_{path.name.lstrip('_')}").exists()


def test_no_folder_of_tests_without_a_folder_of_modules():
    folders = {path.parent.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("test_*.py")}
    assert {str(folder) for folder in folders if not (PACKAGE / folder).is_dir()} == {"benchmarks", "pairs"}


def test_no_method_knows_a_regularizer_and_no_regularizer_a_method():
    for path in (PACKAGE / "methods").glob("*.py"):
        assert "CaSpeR" not in path.read_text("utf-8")
        assert not {"casper.regularizers.casper", "casper.regularizers.forward_only"} & {*imported(path)}
    for path in (PACKAGE / "regularizers").glob("*.py"):
        assert "methods" not in {part_of(other) for other in imported(path)}


def test_plots_know_no_runs():
    """They draw plain data: whoever calls them brings it into their dataclasses."""
    for path in (PACKAGE / "plots").glob("*.py"):
        assert not {"config", "runs", "sweeps", "paper"} & {part_of(other) for other in imported(path)}, path


def test_files_are_small():
    assert max(len(path.read_text("utf-8").splitlines()) for path in MODULES) <= 350


def test_importing_the_loss_imports_nothing_heavier_than_torch():
    code = """
import sys
from casper import spectral_gap_loss
import torch
spectral_gap_loss(torch.rand(8, 3), 2, 2)
heavy = ["datasets", "sklearn", "scipy", "threadpoolctl", "matplotlib", "typer", "pydantic", "rich", "yaml"]
print([name for name in heavy if name in sys.modules])
"""
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == "[]"


@pytest.mark.parametrize("path", [path for path in MODULES if path.name != "trainer.py"], ids=name_of)
def test_no_other_module_assigns_to_a_trainer(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets:
            for part in ast.walk(target) if isinstance(target, ast.Attribute) else ():
                owner = part.value if isinstance(part, ast.Attribute) else None
                name = owner.id if isinstance(owner, ast.Name) else getattr(owner, "attr", None)
                assert name != "trainer", f"{path}: {ast.unparse(target)}"


def test_the_layout_in_the_documentation_is_that_of_the_package():
    layout = (ROOT / "docs" / "design.md").read_text("utf-8").partition("## Layout")[2].partition("\n## ")[0]
    rows = [line.split("`")[1] for line in layout.splitlines() if line.startswith("| `")]
    parts = {path.name + "/" * path.is_dir() for path in PACKAGE.iterdir() if path.suffix in (".py", "")}
    assert {*rows} == {part for part in parts if not part.startswith("_")}
