import pickle

import pytest

from casper.errors import ParameterError, require


def test_message_says_parameter_requirement_and_what_was_found():
    error = ParameterError("size", "at least 1", "0")
    assert str(error) == "Parameter `size` should be at least 1. Found 0."
    assert (error.parameter, error.requirement, error.found) == ("size", "at least 1", "0")


def test_parameter_error_is_a_value_error():
    with pytest.raises(ValueError, match="size"):
        raise ParameterError("size", "at least 1", "0")


def test_parameter_error_survives_pickling():
    error = pickle.loads(pickle.dumps(ParameterError("size", "at least 1", "0")))
    assert type(error) is ParameterError
    assert str(error) == "Parameter `size` should be at least 1. Found 0."
    assert (error.parameter, error.requirement, error.found) == ("size", "at least 1", "0")


def test_subclass_survives_pickling_as_itself():
    error = pickle.loads(pickle.dumps(_SpecialError("size", "at least 1", "0")))
    assert type(error) is _SpecialError


class _SpecialError(ParameterError):
    pass


def test_require_is_silent_where_the_condition_holds():
    assert require(True, "size", "at least 1", 0) is None


@pytest.mark.parametrize(("value", "shown"), [(0, "0"), ("a", "'a'"), ((1, 2), r"\(1, 2\)"), (None, "None")])
def test_require_shows_the_value_as_it_is(value, shown):
    with pytest.raises(ParameterError, match=rf"^Parameter `size` should be at least 1\. Found {shown}\.$"):
        require(False, "size", "at least 1", value)
