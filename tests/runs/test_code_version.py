import ast
import re
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

import pytest

import casper
from casper.config import resolve_config
from casper.config.yaml import parse_yaml
from casper.runs import execute
from casper.runs.code_version import code_digest, code_version, listed_digests, module_text, same_computation

PACKAGE = Path(casper.__file__).parent
NET = '''
"""A network."""

from typing import TYPE_CHECKING

import torch
from torch import nn
from casper.losses.masking import masked
from casper.types import Batch as Items

if TYPE_CHECKING:
    from casper.memory import Buffer


class Net(nn.Module):
    """It has a width."""

    width: int = 4

    def forward(self, x, *, scale, shift=None):
        """Multiply."""
        # In place.
        x *= scale
        return masked(x, {**self.options}, f"{x:.{self.width}f}")
'''.strip()
FILES = {
    "nets/net.py": NET,
    "methods/er.py": "x = 1\n",
    "types.py": "y = 2\n",
    "cli/app.py": "z = 3\n",
    "runs/run.py": "z = 3\n",
    "formatting.py": "z = 3\n",
}


@pytest.fixture
def package(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_it_is_the_packages_version_and_ten_digits():
    version, _, digits = code_version().partition(" ")
    assert version == metadata.version("casper-il")
    assert re.fullmatch("[0-9a-f]{10}", digits)


def test_the_digest_of_the_present_code_is_listed():
    digest = code_version().split()[-1]
    assert digest in listed_digests(), (
        f"{digest}, the digest of the modules that compute, must be in src/casper/runs/code_versions.yaml, but is not. "
        "Run `python tests/same_results.py COMMIT` with the last commit before the change. If all is identical, add "
        "the digest to the group of that commit's digest, with the command as `shown_by`. If not, start a new group, "
        "and say there what differs."
    )


def test_every_digest_is_listed_once_with_what_shows_it():
    groups = parse_yaml((PACKAGE / "runs" / "code_versions.yaml").read_text("utf-8"))
    entries = [entry for group in groups for entry in group["digests"]]
    assert all(re.fullmatch("[0-9a-f]{10}", entry["digest"]) and entry["shown_by"] for entry in entries)
    assert len({entry["digest"] for entry in entries}) == len(entries) == len(listed_digests())


def test_every_digest_of_a_published_run_is_listed():
    runs = [*PACKAGE.parents[1].glob("results/**/metrics.json")]
    assert runs
    found = {re.search(r'"code": "\S+ (\w+)"', path.read_text("utf-8"))[1] for path in runs}
    assert found <= listed_digests().keys()


def test_it_takes_little_more_time_than_parsing_the_package():
    def seconds(function):
        start = time.process_time()
        function()
        return time.process_time() - start

    def parse():
        for file in PACKAGE.rglob("*.py"):
            ast.parse(file.read_bytes())

    assert min(seconds(lambda: code_digest(PACKAGE)) / seconds(parse) for _ in range(3)) < 4


@pytest.mark.parametrize("name", ["nets/net.py", "methods/er.py", "types.py"])
def test_a_change_of_what_a_result_depends_on_is_another_version(package, name):
    before = code_digest(package)
    assert code_digest(package) == before
    (package / name).write_text("x = 3\n")
    assert code_digest(package) != before


@pytest.mark.parametrize("name", ["cli/app.py", "runs/run.py", "formatting.py", "__init__.py", "nets/notes.txt"])
def test_a_change_of_what_only_shows_or_starts_runs_is_none(package, name):
    before = code_digest(package)
    (package / name).write_text("x = 3\n")
    assert code_digest(package) == before


def test_a_renamed_or_moved_module_is_none(package):
    before = code_digest(package)
    (package / "nets" / "net.py").rename(package / "methods" / "abc.py")
    assert code_digest(package) == before
    (package / "types.py").write_text(FILES["methods/er.py"])
    (package / "methods" / "er.py").write_text(FILES["types.py"])
    assert code_digest(package) == before


def test_a_module_more_or_less_is_another_version(package):
    before = code_digest(package)
    (package / "methods" / "copy.py").write_text(FILES["methods/er.py"])
    assert code_digest(package) != before
    (package / "methods" / "copy.py").unlink()
    (package / "methods" / "er.py").unlink()
    assert code_digest(package) != before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""A network."""', ""),
        ('"""It has a width."""', '"""It has\n\n    one."""'),
        ('        """Multiply."""\n', ""),
        ("# In place.", "# Not here."),
        ("width: int = 4", "width: int = (\n        4\n    )"),
        ("\n", "\r\n"),
        ("casper.losses.masking", "casper.losses.columns"),
        ("from casper.types import Batch as Items", "from casper.batch import Batch as Items"),
        ("    from casper.memory import Buffer", "    from casper.data import Data"),
        ("if TYPE_CHECKING:\n    from casper.memory import Buffer\n", ""),
        ("from typing import TYPE_CHECKING\n", ""),
        ("if TYPE_CHECKING:", "if typing.TYPE_CHECKING:"),
    ],
)
def test_what_has_no_effect_does_not_count(old, new):
    assert old in NET
    assert module_text(NET.replace(old, new).encode()) == module_text(NET.encode())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("= 4", "= 5"),
        ("= 4", "= 4.0"),
        ("= 4", "= True"),
        ("= 4", "= '4'"),
        ("= 4", "= -4"),
        ("*=", "+="),
        ("        x *= scale\n", ""),
        ("x *= scale", "x *= shift"),
        ("width", "depth"),
        ("class Net", "class Other"),
        ("nn.Module", "nn.Sequential"),
        ("scale, shift=None", "scale=None, shift=None"),
        ("shift=None", "shift"),
        ("{**self.options}", "{None: self.options}"),
        (":.{", ":+.{"),
        ("f}", "e}"),
        ("import masked", "import other as masked"),
        ("Batch as Items", "Batch"),
        ("from torch import nn", "from torch.fx import nn"),
        ("import torch\n", ""),
        ("if TYPE_CHECKING:", "if DEBUGGING:"),
    ],
)
def test_what_has_an_effect_counts(old, new):
    assert old in NET
    assert module_text(NET.replace(old, new).encode()) != module_text(NET.encode())


def test_names_from_one_module_or_from_two_are_the_same():
    one = b"from casper.nets import MLP, ConvNet\n"
    assert module_text(one) == module_text(b"from casper.nets.mlp import MLP\nfrom casper.nets.conv import ConvNet\n")
    assert module_text(b"import casper.nets as nets") == module_text(b"import casper.networks as nets")
    assert module_text(b"from .nets import MLP") == module_text(b"from casper.nets import MLP")
    assert module_text(b"import casperine") != module_text(b"import casper")


def test_patterns_of_a_match_count():
    texts = {
        module_text(f"match x:\n    case {value}:\n        y()".encode()) for value in ("None", "True", "False", "0")
    }
    assert len(texts) == 4


def test_fields_that_are_empty_are_left_out():
    """A version of Python that adds one changes nothing."""
    assert module_text(b"def f(): return") == "Module(body=FunctionDef(name='f' args=arguments() body=Return())) "


# This Python, and others that are installed next to it.
PYTHONS = sorted(Path(sys.base_prefix).parent.glob("*/bin/python3.1[1-9]"))


@pytest.mark.parametrize("python", PYTHONS, ids=lambda python: python.name)
def test_it_is_the_same_on_other_versions_of_python(python, tmp_path):
    source = (PACKAGE / "runs" / "code_version.py").read_text("utf-8")
    (tmp_path / "alone.py").write_text(source.replace("from casper.config.yaml import parse_yaml\n", ""))
    texts = ['f"{x:{width}}{{"', '"a" f"b{x!r}" "c"', 'x = u"\u1fae8"', "def f(a, /, *, b): pass"]
    call = "import alone, pathlib, sys; print(alone.code_digest(pathlib.Path(sys.argv[1])))"
    call += "; print(*(alone.module_text(text.encode()) for text in sys.argv[2:]), sep='\\n')"
    done = subprocess.run(
        [python, "-c", call, str(PACKAGE), *texts], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    assert done.stdout.splitlines() == [code_digest(PACKAGE), *(module_text(text.encode()) for text in texts)]


def test_digests_of_one_group_are_one_version(monkeypatch):
    monkeypatch.setattr("casper.runs.code_version.listed_digests", lambda: {"aaa": 0, "bbb": 0, "ccc": 1})
    assert same_computation("0.1.0 aaa", "0.1.0 bbb")
    assert same_computation("0.1.0 aaa", "0.2.0 bbb, 0.1.0 aaa")
    assert same_computation("0.1.0 new", "0.1.0 new")
    assert not same_computation("0.1.0 aaa", "0.1.0 ccc")
    assert not same_computation("0.1.0 aaa", "0.1.0 aaa, 0.1.0 ccc")
    assert not same_computation("0.1.0 aaa", "0.1.0 new")
    assert not same_computation("unknown", "0.1.0 aaa")


def test_a_result_says_which_code_made_it(tmp_path):
    metrics = execute(resolve_config({"epochs": 1, "backbone.width": 4, "tasks": 1}), tmp_path / "run")
    assert metrics["code"] == code_version()
