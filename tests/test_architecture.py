"""The architecture: imports point one way only, and every module has its test."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "casper"

# What each part may import, beside itself. Data flows from the top to the bottom.
LAYERS = [
    {"errors"},
    {"types", "randomness", "files"},
    {"spectral", "losses", "nets"},
    {"data"},
    {"streams", "memory"},
    {"step"},
    {"regularizers"},
    {"methods"},
    {"metrics"},
    {"analysis"},
    {"training"},
    {"experiments"},
    {"sweeps"},
    {"reporting"},
    {"cli"},
]
RANK = {part: rank for rank, parts in enumerate(LAYERS) for part in parts}
MODULES = sorted(PACKAGE.rglob("*.py"))


def part_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_parts(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: imports are absolute"
            names = [node.module]
            if node.module == "casper":
                names = [f"casper.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            if name.startswith("casper."):
                yield name.split(".")[1]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_only_point_left(path):
    part = part_of(path)
    if part in ("__init__", "__main__"):
        return
    for other in imported_parts(path):
        assert other == part or RANK[other] < RANK[part], f"{part} imports {other}"


def test_every_part_has_its_place():
    parts = {part_of(path) for path in MODULES} - {"__init__", "__main__"}
    assert parts == set(RANK)


@pytest.mark.parametrize(
    "path",
    [path for path in MODULES if not path.name.startswith("__")],
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_every_module_has_a_test_file_of_its_name(path):
    place = path.relative_to(PACKAGE).parent
    assert (ROOT / "tests" / place / f"test_{path.name}").exists()


def test_no_method_knows_a_regularizer_and_no_regularizer_a_method():
    for path in (PACKAGE / "methods").glob("*.py"):
        assert "CaSpeR" not in path.read_text("utf-8")
        assert not {"casper.regularizers.casper", "casper.regularizers.forward_only"} & set(_modules(path))
    for path in (PACKAGE / "regularizers").glob("*.py"):
        assert "methods" not in set(imported_parts(path))


def _modules(path):
    tree = ast.parse(path.read_text("utf-8"))
    return [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]


def test_files_are_small():
    assert max(len(path.read_text("utf-8").splitlines()) for path in MODULES) <= 300


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
