import re
from pathlib import Path

import numpy
import pytest
import yaml

from casper import TaskStream, embed, split_digits
from casper.config import ConfigError, resolve_config
from casper.sweeps import candidates, expand
from casper.sweeps.sweep_file import read_sweep, runs_of_sweep
from support import Rows


@pytest.mark.parametrize(
    ("given", "each"),
    [
        ({"method": "er"}, 64 + 8),
        ({"method": "der++"}, 64 + 8 + 4 * 10),
        ({"method": "er", "trunk": "support:Rows"}, 2 * 24 + 8),
        ({"method": "er", "trunk": "support:Rows", "trunk.views": 2}, 2 * 2 * 24 + 8),
        ({"method": "x-der", "trunk": "efficientnet-lite0"}, 2 * 1280 + 8 + 4 * 10 + 8),
    ],
)
def test_a_size_is_the_items_that_fit_in(given, each):
    config = resolve_config({**given, "buffer_size": "100KB"})
    assert config.options.buffer_size == 100_000 // each
    assert config.origin["buffer_size"] == "user, 100KB"
    assert f"--buffer-size 100KB: {100_000 // each:,} items of {each:,} bytes" in config.notes
    assert config.name == resolve_config({**given, "buffer_size": 100_000 // each}).name


def test_a_size_in_a_file_and_in_a_preset():
    assert resolve_config({}, {"method": "er", "buffer_size": "7.2KB"}).options.buffer_size == 100
    assert resolve_config({"method": "er"}, None, ({"buffer_size": "7.2KB"}, "mine")).options.buffer_size == 100
    assert resolve_config({"method": "er", "buffer_size": 30}, {"buffer_size": "7.2KB"}).options.buffer_size == 30


def test_sizes_in_a_sweep_and_a_search():
    grid = {"method": "er", "grid": {"buffer_size": ["7.2KB", "14.4KB", 30]}}
    assert [config.options.buffer_size for config in expand(grid)] == [100, 200, 30]
    (found,) = candidates({"method": "er", "buffer_size": "7.2KB"}, {"lr": [0.1]})
    assert found.configs[0].options.buffer_size == 100


def test_the_data_are_searched_in_the_data_directory(data_dir):
    given = {"stream": "split-cifar10", "method": "er", "buffer_size": "308KB"}
    assert resolve_config(given, data_dir=str(data_dir)).options.buffer_size == 1540  # 8 x 8
    assert resolve_config({**given, "image_size": 16}, data_dir=str(data_dir)).options.buffer_size == 396


def test_a_method_without_a_memory():
    config = resolve_config({"method": "joint", "buffer_size": "64MB", "regularizer": "none"})
    assert config.options.buffer_size == 0
    assert config.notes == ("--buffer-size has no effect: joint keeps no memory",)


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ("64M", "--buffer-size must be a number of items or a size such as 500MB or 4GB, but got '64M'"),
        ("many", "--buffer-size must be a number of items or a size such as 500MB or 4GB, but got 'many'"),
        ("50B", "--buffer-size must be at least 72 bytes, the size of an item, but got 50B"),
    ],
)
def test_errors(size, message):
    with pytest.raises(ConfigError, match=f"^{message}$"):
        resolve_config({"method": "er", "buffer_size": size})


def embedded() -> TaskStream:
    return embed(split_digits(), Rows(views=2))


def test_a_stream_of_the_users_that_has_vectors(tmp_path, monkeypatch):
    monkeypatch.setenv("CASPER_CACHE", str(tmp_path))
    given = {"stream": f"{__name__}:embedded", "method": "er", "backbone": "adapter", "lr": 0.1}
    assert resolve_config({**given, "buffer_size": "10.4KB"}).options.buffer_size == 10_400 // (2 * 2 * 24 + 8)


def broken() -> TaskStream:
    raise ValueError("no such camera")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"stream": f"{__name__}:broken"}, f"--stream {__name__}:broken rejects its hyper-parameters: no such camera"),
        ({"trunk": "support:Rows", "trunk.views": 3}, "trunk.views must be 1 or 2, but got 3"),
        ({"trunk": "efficientnet-lite0", "trunk.image_size": 32}, "trunk.image_size must be at least 33, but got 32"),
        ({"trunk": "file:none.pt2"}, "--trunk must be a file written by torch.export.save, but got none.pt2"),
    ],
)
def test_errors_of_the_parts_are_those_of_a_run(given, message):
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}"):
        resolve_config({"method": "er", "lr": 0.1, **given, "buffer_size": "64MB"})


@pytest.mark.parametrize(
    "given", [{}, {"method": "support:MyER"}, {"trunk": "support:Rows"}, {"stream": "npz:gone.npz"}]
)
def test_a_report_finds_the_runs_of_a_size_without_data_or_classes(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arrays = {name: numpy.zeros((8, 4, 4), numpy.uint8) for name in ("x_train", "x_test")}
    numpy.savez("gone.npz", **arrays, y_train=numpy.arange(8) % 4, y_test=numpy.arange(8) % 4)
    file = {"tasks": 2, "method": "er", **given, "grid": {"buffer_size": ["7.2KB", "9KB", 30]}}
    Path("sweep.yaml").write_text(yaml.safe_dump(file))
    layouts = [{**config.as_dict(), "origin": config.origin} for config in read_sweep(Path("sweep.yaml"))]
    Path("gone.npz").unlink()
    monkeypatch.setattr("casper.config.memory_size.items_within", lambda *_: pytest.fail("must not be needed"))
    assert runs_of_sweep(Path("sweep.yaml"), layouts) == ({0, 1, 2}, [])
    found, missing = runs_of_sweep(Path("sweep.yaml"), layouts[1:])
    assert found == {0, 1}
    assert len(missing) == 1


def test_a_size_in_any_unit_is_that_of_each_method_and_of_methods_without_a_memory(tmp_path):
    file = {
        "regularizer": "none",
        "grid": {"method": ["er", "der++", "finetune"], "buffer_size": ["0.01MB", "10KB", "2KB"]},
    }
    (tmp_path / "sweep.yaml").write_text(yaml.safe_dump(file))
    configs = read_sweep(tmp_path / "sweep.yaml")
    assert len(configs) == 5
    (items,) = {config.options.buffer_size for config in configs[2:3]}
    other = resolve_config({"method": "er", "regularizer": "none", "buffer_size": items})
    layouts = [{**config.as_dict(), "origin": config.origin} for config in [*configs, other]]
    assert runs_of_sweep(tmp_path / "sweep.yaml", layouts) == ({0, 1, 2, 3, 4}, [])


def test_a_size_of_too_many_items():
    with pytest.raises(ConfigError, match=r"--buffer-size must be at most 2,147,483,647 items, but 999999TB holds 13,"):
        resolve_config({"method": "er", "buffer_size": "999999TB"})
