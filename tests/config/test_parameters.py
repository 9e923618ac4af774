from functools import partial
from typing import Literal

import pytest

from casper import ERACE, CaSpeR, ConvNet, Finetune, rotated_digits
from casper.config import ConfigError, hyper_parameters
from casper.config.parameters import takes, validated
from casper.streams import split_folder


def test_names_and_defaults_come_from_the_signature():
    parameters = hyper_parameters(CaSpeR)
    assert list(parameters)[:4] == ["weight", "num_classes", "num_neighbors", "num_samples"]
    assert parameters["weight"].required
    assert str(parameters["weight"]) == "weight (required)"
    assert str(parameters["sampling"]) == "sampling=balanced"


def test_what_the_run_supplies_is_no_hyper_parameter():
    assert list(hyper_parameters(ConvNet)) == ["width"]
    assert list(hyper_parameters(rotated_digits)) == []
    assert list(hyper_parameters(partial(split_folder, "images"))) == ["channels", "padding", "flip"]
    assert takes(rotated_digits, "seed")


@pytest.mark.parametrize("factory", [Finetune, ERACE])
def test_there_may_be_none(factory):
    assert hyper_parameters(factory) == {}


@pytest.mark.parametrize(
    ("annotation", "value"),
    [(int, 3), (float, 0.5), (float, 2), (int | None, None), (Literal["a", "b"], "a"), (bool, True), (list[int], [1])],
)
def test_what_fits_is_taken_as_it_is(annotation, value):
    assert validated("key", annotation, value) == value


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (int, 3.5),
        (int, "3"),
        (int, True),
        (float, "abc"),
        (float, float("nan")),
        (float, float("inf")),
        (float, True),
        (bool, 1),
        (int | None, "x"),
        (Literal["a", "b"], "c"),
        (list[int], 3),
    ],
)
def test_what_does_not_fit_is_named_with_what_was_found(annotation, value):
    with pytest.raises(ConfigError) as caught:
        validated("casper.weight", annotation, value)
    message = str(caught.value)
    assert message.startswith("casper.weight must be")
    assert message.endswith(f", but got {value!r}")
