"""Nothing in any file that casper opens can run, and no name in a data set leads anywhere."""

import ast
import io
import json
import os
import pickle
import struct
from pathlib import Path

import numpy
import pyarrow
import pytest
import torch
import xxhash
from pyarrow import parquet

import casper
from casper.cli.app import main
from casper.data import cache_directory
from image_files import encoded, picture
from support import Trap

SOURCE = Path(casper.__file__).parent
QUICK = ["--epochs", "1", "--set", "backbone.width=4", "--tasks", "2", "--batch-size", "8", "--regularizer", "none"]


@pytest.fixture(autouse=True)
def in_a_directory_of_its_own(tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("CASPER_CACHE", str(tmp_path / "work" / "cache"))


def trap():
    """A directory that a sprung trap would make, and a pickle that would make it."""
    place = Path("sprung").absolute()
    return place, pickle.dumps(Trap(place))


def objects(count):
    """An array whose file is a pickle."""
    array = numpy.empty(count, dtype=object)
    array[:] = [Trap(Path("sprung").absolute()) for _ in range(count)]
    return array


def arrays(labels=("a", "b")):
    images = numpy.stack([numpy.asarray(picture(number)) for number in range(12)])
    names = numpy.array([labels[number % len(labels)] for number in range(12)])
    return {"x_train": images, "y_train": names, "x_test": images, "y_test": names}


def test_the_trap_works():
    place, data = trap()
    pickle.loads(data)
    assert place.exists()
    buffer = io.BytesIO()
    numpy.save(buffer, objects(2), allow_pickle=True)
    with pytest.raises(FileExistsError):
        numpy.load(io.BytesIO(buffer.getvalue()), allow_pickle=True)


@pytest.mark.parametrize("name", ["checkpoint.pt", "checkpoint.previous.pt", "both"])
def test_checkpoints(name, capsys):
    assert main(["run", *QUICK, "--out", "A", "--checkpoint-every", "5steps"]) == 0
    Path("A/metrics.json").unlink()
    buffer = io.BytesIO()
    torch.save({"format": 1, "trainer": Trap(Path("sprung").absolute())}, buffer)
    data = buffer.getvalue()[:-2] + struct.pack("<H", 41)
    signed = data + b"xxh3-128 " + xxhash.xxh3_128_hexdigest(data).encode()
    for file in ("checkpoint.pt", "checkpoint.previous.pt"):
        if name in (file, "both"):
            (Path("A") / file).write_bytes(signed)
    capsys.readouterr()
    main(["doctor", "A"])
    assert main(["run", "--resume", "A"]) == (2 if name == "both" else 0)
    assert ("it holds more than tensors and plain values" in capsys.readouterr().err) == (
        name != "checkpoint.previous.pt"
    )
    assert not Path("sprung").exists()


@pytest.mark.parametrize("name", ["config.yaml", "environment.json", "log.jsonl", "metrics.json", ".owner", ".lock"])
@pytest.mark.parametrize("finished", [True, False])
def test_the_other_files_of_a_run(name, finished, capsys):
    assert main(["run", *QUICK, "--out", "A"]) == 0
    if not finished:
        Path("A/metrics.json").unlink()
    place, data = trap()
    (Path("A") / name).write_bytes(data)
    for command in (["doctor", "A"], ["run", "--resume", "A"], ["run", *QUICK, "--out", "A"]):
        assert main(command) in (0, 1, 2)
    assert "Traceback" not in capsys.readouterr().err
    assert not place.exists()


@pytest.mark.parametrize("name", ["train_images.npy", "train_labels.npy", "test_images.npy", "facts.json"])
def test_the_cache(name):
    numpy.savez("own.npz", **arrays())
    command = ["run", *QUICK, "--stream", "npz:own.npz"]
    assert main([*command, "--out", "A"]) == 0
    (entry,) = cache_directory().iterdir()
    whole = (entry / name).read_bytes()
    if name == "facts.json":
        (entry / name).write_bytes(trap()[1])
    else:
        numpy.save(entry / name, objects(12), allow_pickle=True)
    assert main([*command, "--out", "B"]) == 0
    assert not Path("sprung").exists()
    assert (entry / name).read_bytes() == whole  # made anew


@pytest.mark.parametrize("name", ["x_train", "y_train", "x_test", "y_test"])
def test_arrays_of_ones_own(name, capsys):
    numpy.savez("own.npz", allow_pickle=True, **{**arrays(), name: objects(12)})
    assert main(["run", *QUICK, "--stream", "npz:own.npz"]) == 2
    assert "own.npz" in capsys.readouterr().err
    assert not Path("sprung").exists()


@pytest.mark.parametrize("where", ["images", "labels", "description"])
def test_tables(where, capsys):
    place, data = trap()
    images = [data if where == "images" else encoded(picture(number)) for number in range(4)]
    labels = [data if where == "labels" else b"a" for _ in images]
    table = pyarrow.table({"image": pyarrow.array(images, pyarrow.binary()), "label": labels})
    if where == "description":
        table = table.replace_schema_metadata({"huggingface": data, "ARROW:extension:name": "arrow.py_extension_type"})
    Path("data/owner/set").mkdir(parents=True)
    for split in ("train", "test"):
        parquet.write_table(table, f"data/owner/set/{split}.parquet")
    settings = [] if where == "images" else ["--set", "hub:owner/set.image_column=image"]
    assert main(["run", *QUICK, "--stream", "hub:owner/set", "--data-dir", "data", *settings]) == 2
    assert capsys.readouterr().err.startswith("casper: ")
    assert not place.exists()


def test_images(capsys):
    place, data = trap()
    for name in ("cat", "dog"):
        Path("pets", name).mkdir(parents=True)
        for number in range(4):
            picture(number).save(f"pets/{name}/{number}.png")
    Path("pets/dog/3.png").write_bytes(data)
    assert main(["run", *QUICK, "--stream", "folder:pets"]) == 2
    assert "pets/dog/3.png: cannot be read as an image" in capsys.readouterr().err
    picture(3).convert("RGB").save("pets/dog/3.png", "EPS")
    assert main(["run", *QUICK, "--stream", "folder:pets"]) == 2
    assert "pets/dog/3.png: cannot be read as an image: unknown format" in capsys.readouterr().err
    assert not place.exists()


@pytest.mark.parametrize(
    "text",
    [
        "seed: !!python/object/apply:os.mkdir [sprung]",
        "seed: !!python/name:os.mkdir",
        "stream: 'os:mkdir'\nos:mkdir: {path: sprung}",
        "method: 'os:mkdir'\nos:mkdir: {path: sprung}",
        "regularizer: ['os:mkdir']\nos:mkdir: {path: sprung}",
        "backbone: {name: 'os:mkdir', path: sprung}",
        "stream: 'pathlib:Path.mkdir'",
        "seed: __import__('os').mkdir('sprung')",
        "lr: \"${os.mkdir('sprung')}\"",
    ],
)
def test_configurations(text, capsys):
    Path("own.yaml").write_text(text)
    assert main(["run", "--config", "own.yaml", "--out", "A"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["run", *(part for line in text.splitlines() for part in ("--set", line.replace(": ", "=", 1)))]) == 2
    assert not Path("sprung").exists()
    Path("B").mkdir()
    Path("B/config.yaml").write_text(text)
    assert main(["run", "--resume", "B"]) == 2
    assert main(["doctor", "B"]) in (0, 1)  # it looks up nothing that a configuration names
    assert not Path("sprung").exists()


NAMES = [
    "../../x",
    "/etc/passwd",
    "..",
    ".",
    "a/b",
    "<script>alert(1)</script>",
    "\x1b[31mred",
    "[bold]",
    "a\nb",
    "ü" * 300,
    "",
    " ",
]


def everything(path):
    return {str(file.relative_to(path)) for file in path.rglob("*")}


def test_class_names_lead_nowhere(tmp_path, capfd):
    numpy.savez("own.npz", **arrays(NAMES))
    before = everything(tmp_path)
    assert (
        main(["run", *QUICK, "--stream", "npz:own.npz", "--out", "A", "--method", "icarl", "--buffer-size", "24"]) == 0
    )
    new = everything(tmp_path) - before
    assert {path for path in new if not path.startswith(("work/cache", "work/A"))} == set()
    assert all(os.path.basename(path).isascii() for path in new)
    first = json.loads(Path("A/log.jsonl").read_text().splitlines()[0])
    assert sorted(first["classes"]) == sorted(NAMES)
    assert "\x1b[31m" not in capfd.readouterr().out


def test_a_data_sets_name_leads_nowhere(tmp_path, capfd):
    name = "..; \x1b[31m$(touch x) [red]"
    for label in ("cat", "dog"):
        Path(name, label).mkdir(parents=True)
        for number in range(4):
            picture(number).save(Path(name, label, f"{number}.png"))
    before = everything(tmp_path)
    assert main(["run", *QUICK, "--stream", f"folder:{name}"]) == 0
    assert {path for path in everything(tmp_path) - before if not path.startswith(("work/cache", "work/runs"))} == set()
    assert "\x1b[31m" not in capfd.readouterr().out
    assert main(["run", *QUICK, "--stream", f"folder:{name}/missing"]) == 2
    assert "\x1b" not in capfd.readouterr().err


def calls(path):
    """Every call in a module: the name as it is written, and the keywords that are plain values."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), {word.arg: getattr(word.value, "value", None) for word in node.keywords}


def test_the_program_has_no_call_that_could_run_what_it_reads():
    loads = 0
    for path in SOURCE.rglob("*.py"):
        for name, keywords in calls(path):
            assert name not in ("eval", "exec", "compile", "__import__"), path
            assert not name.startswith(("pickle.", "marshal.", "shelve.", "dill.", "joblib.")), path
            assert keywords.get("allow_pickle") is not True, path
            assert keywords.get("trust_remote_code") is not True, path
            assert keywords.get("shell") is not True, path
            assert name not in ("os.system", "os.popen"), path
            if name == "torch.load":
                loads += 1
                assert keywords["weights_only"] is True, path
            if name.startswith("yaml.") and "load" in name:
                loads += 1
                assert path.name == "yaml.py"  # whose loader is a SafeLoader: see its tests
    assert loads >= 2
