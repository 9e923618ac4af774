import json
import os

import pytest
import torch

from casper.runs.environment import describe_environment, differences


def test_environment_tells_versions_threads_and_where_the_data_is():
    environment = describe_environment("cpu", "data")
    assert environment["torch"] == torch.__version__
    assert environment["threads"] == torch.get_num_threads()
    assert environment["device"] == "cpu"
    assert environment["data_dir"] == os.path.abspath("data")
    assert describe_environment("cpu")["data_dir"] is None
    json.dumps(environment)


@pytest.mark.parametrize("key", ["torch", "device", "processor", "threads"])
def test_what_decides_about_the_last_digits_is_named(key):
    here = {
        name: value if isinstance(value, str) else repr(value) for name, value in describe_environment("cpu").items()
    }
    assert differences({**here, key: "other"}, here) == [f"{key} 'other' then, {here[key]!r} now"]


def test_what_does_not_is_not():
    here = describe_environment("cpu")
    assert differences(here, {**here, "command": ["other"], "python": "9.9", "data_dir": "x"}) == []
    assert differences({}, here) == []
