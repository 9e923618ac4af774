import json
import sys
from importlib import import_module, invalidate_caches, reload
from zipfile import ZipFile

import pytest

from casper.config import resolve_config
from casper.runs import RunDirectory
from casper.runs.code_version import code_version
from casper.runs.user_code import (
    changed_parts,
    joined_user_code,
    loaded_user_code,
    outdated,
    recorded_user_code,
    user_code,
)
from finished import metrics_of

REGULARIZER = '''
from casper import Regularizer
{imports}

class Mine(Regularizer):
    """{docstring}"""

    name = generator_name = "mine"
    needs_memory = False

    def __init__(self, weight: float = 0.1) -> None:
        self.weight = weight

    def loss(self, step, passes, generator):
        {lazy}
        return passes["stream"].features.square().{how}()
'''


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A folder of modules that are forgotten afterwards; returns a function that writes some and gives the digest."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))

    def digest(name="ourpkg.sub.own", files=(), **words):
        texts = {"imports": "", "docstring": "A term.", "lazy": "", "how": "mean", **words}
        files = {f"{name.replace('.', '/')}.py": REGULARIZER.format(**texts), **dict(files)}
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        invalidate_caches()
        import_module(name)
        config = resolve_config({"method": "er", "regularizer": [f"{name}:Mine"]})
        (entry,) = user_code(config).values()
        assert entry["name"] == "mine"
        return entry["digest"]

    return digest


def test_parts_of_the_package_are_not_the_users(tmp_path):
    assert user_code(resolve_config({"stream": f"folder:{tmp_path}", "tasks": 2})) == {}


def test_the_digest_is_of_the_code_and_not_of_its_text(package):
    first = package()
    assert len(first) == 10
    assert package(docstring="Another.") == first
    assert package(how="sum") != first
    assert package() == first


@pytest.mark.parametrize(
    ("imports", "helper"),
    [
        ("from ourpkg.sub.helper import scale", "ourpkg/sub/helper.py"),
        ("from .helper import scale", "ourpkg/sub/helper.py"),
        ("from . import helper", "ourpkg/sub/helper.py"),
        ("from ..far import scale", "ourpkg/far.py"),
        ("from .. import scale", "ourpkg/__init__.py"),
        ("import ourpkg.far", "ourpkg/far.py"),
        ("from ourpkg.inner import scale", "ourpkg/inner/__init__.py"),
        ("import neighbour", "neighbour.py"),
    ],
)
@pytest.mark.parametrize("place", ["imports", "lazy"])
def test_modules_of_the_same_package_count_if_they_are_imported(package, imports, helper, place):
    digests = [package(files={helper: f"scale = {scale}"}, **{place: imports}) for scale in (1, 2, 1)]
    assert digests[0] == digests[2] != digests[1]


def test_modules_count_that_those_import(package):
    files = {"ourpkg/sub/middle.py": "from ..far import scale", "ourpkg/__init__.py": ""}
    digests = [
        package(files={**files, "ourpkg/far.py": f"from .sub import middle\nscale = {n}"}, lazy="from . import middle")
        for n in (1, 2)
    ]
    assert digests[0] != digests[1]


@pytest.mark.parametrize(
    "imports",
    [
        "",
        "import json",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from . import helper",
        "import casper",
    ],
)
def test_other_modules_do_not_count(package, imports):
    helpers = ("ourpkg/sub/helper.py", "ourpkg/__init__.py", "other.py")
    digests = [package(files=dict.fromkeys(helpers, f"a = {n}"), imports=imports) for n in (1, 2)]
    assert digests[0] == digests[1]


def test_installed_packages_next_to_the_users_do_not_count(package, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path / "site-packages"))
    digests = []
    for n in (1, 2):
        folder = tmp_path / "site-packages"
        (folder / "ourlib").mkdir(parents=True, exist_ok=True)
        (folder / "otherlib.py").write_text(f"a = {n}")
        (folder / "ourlib" / "own.py").write_text(
            REGULARIZER.format(imports="import otherlib", docstring="", lazy="", how="mean")
        )
        (entry,) = user_code(resolve_config({"method": "er", "regularizer": ["ourlib.own:Mine"]})).values()
        digests.append(entry["digest"])
    assert digests[0] == digests[1]


def test_which_of_two_modules_a_name_comes_from_counts(package):
    files = {"ourpkg/one.py": "f = 1", "ourpkg/two.py": "f = 2", "ourpkg/__init__.py": ""}
    swapped = [("one", "two"), ("two", "one")]
    digests = [
        package(files=files, imports=f"from ..{one} import f\nfrom ..{two} import f as g") for one, two in swapped
    ]
    assert digests[0] != digests[1]


def test_a_source_that_can_no_longer_be_parsed_has_a_digest_too(package, tmp_path):
    first = package()
    (tmp_path / "ourpkg/sub/own.py").write_text("def broken(")
    (entry,) = user_code(resolve_config({"method": "er", "regularizer": ["ourpkg.sub.own:Mine"]})).values()
    assert entry["digest"] != first


def entry(digest, name="mine"):
    return {"own:Mine": {"name": name, "digest": digest}}


def test_a_resumed_run_has_all_its_digests_once():
    assert joined_user_code(entry("a"), entry("a")) == entry("a")
    assert joined_user_code(entry("a"), entry("b")) == entry("a, b")
    assert joined_user_code(entry("a, b"), entry("a")) == entry("a, b")
    assert joined_user_code({}, entry("b")) == entry("unknown, b")


def test_a_part_has_changed_if_its_code_is_not_the_only_one():
    assert changed_parts(entry("a"), entry("a")) == []
    assert changed_parts({}, entry("a")) == []
    assert changed_parts(entry("a"), entry("b")) == changed_parts(entry("a, b"), entry("b")) == ["own:Mine"]


@pytest.mark.parametrize("found", [None, 3, [1], {"own:Mine": 3}, "text"])
def test_a_record_that_is_none_is_empty(found):
    assert recorded_user_code({"user_code": found}) == {}


def test_why_a_run_is_outdated(tmp_path):
    config = resolve_config({})
    run = RunDirectory(tmp_path)
    same = {"code": code_version(), "user_code": entry("a")}
    run.create(config, same)
    assert outdated(run, entry("a")) is None
    assert outdated(run, entry("b")) == "stale"
    run.create(config, {**same, "resumed": [{**same, "user_code": entry("b")}]})
    assert outdated(run, entry("a")) == "stale"
    run.create(config, {**same, "code": "0.0 abc"})
    assert outdated(run, entry("a")) == "other"
    run.create(config, {})  # by a version that did not record it
    assert outdated(run, entry("a")) is None

    run.finish(metrics_of(50.0, **same))
    assert outdated(run, entry("a")) is None
    assert outdated(run, entry("b")) == "stale"
    run.finish(metrics_of(50.0, code="0.0 abc"))
    assert outdated(run, entry("a")) == "unrecorded"
    assert outdated(run, {}) == "other"
    run.metrics.write_text(json.dumps("damaged"))
    assert outdated(run, {}) is None


def test_the_module_of_a_class_counts_if_another_one_passes_it_on(package):
    """As in packages whose `__getattr__` imports their classes at first use."""
    lazy = (
        "def __getattr__(name):\n    from importlib import import_module\n    return import_module('lazy.impl').Mine\n"
    )
    texts = {"imports": "", "docstring": "A term.", "lazy": ""}
    config = {"method": "er", "regularizer": ["lazy:Mine"]}
    package()  # for the folder on the path
    digests = []
    for how in ("mean", "sum"):
        package(files={"lazy/__init__.py": lazy, "lazy/impl.py": REGULARIZER.format(**texts, how=how)})
        (entry,) = user_code(resolve_config(config)).values()
        digests.append(entry["digest"])
    assert digests[0] != digests[1]


def test_code_in_an_archive_is_unknown(tmp_path, monkeypatch):
    with ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.writestr("packed.py", REGULARIZER.format(imports="", docstring="A term.", lazy="", how="mean"))
    monkeypatch.syspath_prepend(str(tmp_path / "packed.zip"))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    (entry,) = user_code(resolve_config({"method": "er", "regularizer": ["packed:Mine"]})).values()
    assert entry == {"name": "mine", "digest": "unknown"}


def test_a_process_records_the_code_that_it_has_imported(package):
    def recorded():
        config = resolve_config({"method": "er", "regularizer": ["ourpkg.sub.own:Mine"]})
        return loaded_user_code(config)["ourpkg.sub.own:Mine"]["digest"]

    first = package()
    assert recorded() == first
    assert package(how="sum") != first  # the file has changed, but not the class in this process
    assert recorded() == first
    reload(sys.modules["ourpkg.sub.own"])
    assert recorded() == package(how="sum")
