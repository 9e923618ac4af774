import pytest

from casper.config import ConfigError, resolve_config
from casper.config.build_part import build_part
from casper.errors import DataError
from casper.streams import TaskStream
from support import Rows


def built(kind, name, **given):
    return build_part(resolve_config({"method": "er", "regularizer": "none", **given}), kind, name)


def test_a_part_has_the_hyper_parameters_of_the_configuration():
    assert built("method", "der++", method="der++", **{"der++.alpha": 0.7}).alpha == 0.7
    trunk = built("trunk", "support:Rows", trunk="support:Rows", **{"trunk.views": 2})
    assert (type(trunk), trunk.views) == (Rows, 2)


def test_an_error_names_the_option():
    with pytest.raises(ConfigError, match=r"^trunk\.views must be 1 or 2, but got 3"):
        built("trunk", "support:Rows", trunk="support:Rows", **{"trunk.views": 3})
    with pytest.raises(ConfigError, match=r"^--trunk must be a file written by torch\.export\.save, but got none\.pt2"):
        built("trunk", "file:none.pt2", trunk="file:none.pt2")
    config = resolve_config({"method": "er"})
    with pytest.raises(ConfigError, match=r"^--tasks must be"):
        build_part(config, "stream", "split-digits", {"num_tasks": 11})


def not_a_stream() -> TaskStream:
    return 3


def without_images() -> TaskStream:
    raise DataError("no images")


class Failing(Rows):
    """Cannot be built."""

    def __init__(self, *, image_size=8, views=1):
        raise RuntimeError("the weights are gone")


class Exhausting(Rows):
    """Needs more memory than there is."""

    def __init__(self, *, image_size=8, views=1):
        raise RuntimeError("can't allocate memory: you tried to allocate 8000000 bytes.")


def test_what_the_users_code_raises_is_one_error():
    with pytest.raises(ConfigError, match="must return a TaskStream, but got int"):
        built("stream", f"{__name__}:not_a_stream")
    with pytest.raises(DataError, match="no images"):
        built("stream", f"{__name__}:without_images")
    with pytest.raises(ConfigError, match="rejects its hyper-parameters: the weights are gone"):
        built("trunk", f"{__name__}:Failing", trunk=f"{__name__}:Failing")
    with pytest.raises(RuntimeError, match="allocate"):  # reported as out of memory by the command line
        built("trunk", f"{__name__}:Exhausting", trunk=f"{__name__}:Exhausting")
