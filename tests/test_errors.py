import pickle

import numpy as np
import pytest

from casper.errors import ParameterError, require, require_weights


def test_message_says_parameter_requirement_and_what_was_found():
    error = ParameterError("size", "at least 1", "0")
    assert str(error) == "`size` must be at least 1, but got 0"
    assert (error.parameter, error.requirement, error.found) == ("size", "at least 1", "0")


def test_parameter_error_is_a_value_error():
    with pytest.raises(ValueError, match="size"):
        raise ParameterError("size", "at least 1", "0")


def test_parameter_error_survives_pickling():
    error = pickle.loads(pickle.dumps(ParameterError("size", "at least 1", "0")))
    assert type(error) is ParameterError
    assert str(error) == "`size` must be at least 1, but got 0"
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
    with pytest.raises(ParameterError, match=rf"^`size` must be at least 1, but got {shown}$"):
        require(False, "size", "at least 1", value)


def test_require_shows_the_shape_of_an_array_in_one_line():
    with pytest.raises(ParameterError, match=r"^`size` must be at least 1, but got ndarray of shape \(99, 2\)$"):
        require(False, "size", "at least 1", np.zeros((99, 2)))


def test_weights_are_finite_and_not_negative():
    require_weights(alpha=0, beta=1e9)
    for bad in (-1e-9, float("inf"), float("nan")):
        with pytest.raises(ParameterError, match="`beta` must be a finite number, at least 0"):
            require_weights(alpha=1.0, beta=bad)
