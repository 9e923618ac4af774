import pickle

import numpy as np
import pytest
import torch

from casper.errors import ParameterError, out_of_memory, require, require_weights


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


@pytest.mark.parametrize(
    ("allocate", "message"),
    [
        (lambda: torch.empty(2**50, dtype=torch.uint8), r"out of memory (tried to allocate 1125899906842624 bytes)"),
        (lambda: torch.empty(2**62, 2**62), "out of memory"),
        (lambda: np.empty(2**50), "out of memory"),
        (lambda: bytearray(2**60), "out of memory"),
    ],
)
def test_failed_allocations_are_recognized(allocate, message):
    with pytest.raises((MemoryError, RuntimeError)) as caught:
        allocate()
    assert out_of_memory(caught.value) == message


def test_cuda_says_it_in_other_words():
    text = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 15.77 GiB ..."
    assert out_of_memory(torch.OutOfMemoryError(text)) == "out of memory (tried to allocate 2.00 GiB)"


@pytest.mark.parametrize("error", [RuntimeError("shapes differ"), ValueError("out of memory"), KeyError("x")])
def test_other_errors_are_none_of_memory(error):
    assert out_of_memory(error) is None
