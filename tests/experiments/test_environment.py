import json
import os

import torch

from casper.experiments.environment import describe_environment, differences


def test_environment_tells_versions_threads_and_where_the_data_is():
    environment = describe_environment("cpu", "data")
    assert environment["torch"] == torch.__version__
    assert environment["threads"] == torch.get_num_threads()
    assert environment["device"] == "cpu"
    assert environment["data_dir"] == os.path.abspath("data")
    assert describe_environment("cpu")["data_dir"] is None
    json.dumps(environment)


def test_what_decides_about_the_last_digits_is_named():
    here = describe_environment("cpu")
    assert differences(here, {**here, "command": ["other"], "python": "9.9"}) == []
    there = {**here, "threads": 7, "torch": "1.0"}
    assert differences(there, here) == [
        f"torch 1.0 then, {torch.__version__} now",
        f"threads 7 then, {here['threads']} now",
    ]
    assert differences({}, here) == []
