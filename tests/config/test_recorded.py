import sys

import pytest

from casper.config import ConfigError, hyper_parameters, resolve_config
from casper.config.recorded import recorded_parts
from casper.config.registry import find_part

LAYOUT = {
    "stream": "own:stream",
    "method": "own:Method",
    "regularizer": ["casper", "own:Term"],
    "backbone": {"name": "own:Net", "width": 4},
    "buffer_size": 50,
    "tasks": 3,
    "image_size": None,
    "own:Method": {"alpha": 0.5, "beta": 2, "not a name": 1, "class": 1},
    "origin": {"own:Method.alpha": "default", "own:Method.beta": "file", "backbone.width": "default", "tasks": "user"},
}


def test_a_part_has_the_arguments_that_the_run_recorded():
    find = recorded_parts(LAYOUT)
    alpha, beta = hyper_parameters(find("method", "own:Method")).values()
    assert (alpha.name, alpha.default, alpha.annotation) == ("alpha", 0.5, float)
    assert (beta.name, beta.required) == ("beta", True)
    (width,) = hyper_parameters(find("backbone", "own:Net")).values()
    assert (width.name, width.default) == ("width", 4)
    assert hyper_parameters(find("regularizer", "own:Term")) == {}
    every = recorded_parts(LAYOUT, all_defaults=True)
    assert [each.default for each in hyper_parameters(every("method", "own:Method")).values()] == [0.5, 2]
    assert "own" not in sys.modules


def test_parts_of_the_package_are_looked_up_as_ever():
    find = recorded_parts(LAYOUT)
    assert find("method", "er") is find_part("method", "er")
    with pytest.raises(ConfigError, match="unknown method"):
        find("method", "err")


def test_a_configuration_with_recorded_parts_is_the_recorded_one():
    given = {key: LAYOUT[key] for key in ("stream", "method", "regularizer")} | {"backbone": "own:Net"}
    config = resolve_config({}, given, find=recorded_parts(LAYOUT, all_defaults=True))
    assert config.options.tasks == 3
    assert config.hyper["own:Method"] == {"alpha": 0.5, "beta": 2}
    assert config.hyper["backbone"] == {"width": 4}
    with pytest.raises(ConfigError, match="--tasks must be given"):  # where its value came from is not known
        resolve_config({}, given, find=recorded_parts(LAYOUT))


def test_a_run_without_memory_was_of_a_method_without():
    find = recorded_parts({**LAYOUT, "buffer_size": 0}, all_defaults=True)
    given = {"stream": "split-digits", "method": "own:Method", "regularizer": "none", "buffer_size": 200}
    assert resolve_config({}, given, find=find).options.buffer_size == 0
