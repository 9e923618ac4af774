import pytest

from casper import ERACE, Finetune, rotated_digits, split_digits
from casper.streams import hide_labels
from casper.training import check_compatible
from support import regularizer


def fit(stream=None, method=None, regularizers=(), *, buffer_size=10, batch_size=16):
    stream = split_digits() if stream is None else stream
    check_compatible(stream, method or ERACE(), regularizers, buffer_size=buffer_size, batch_size=batch_size)


def test_what_fits_passes():
    fit(regularizers=[regularizer("casper"), regularizer("forward-only")])
    fit(method=Finetune(), buffer_size=0)


def test_a_method_refuses_a_stream_of_another_kind(monkeypatch):
    monkeypatch.setattr(ERACE, "scenarios", frozenset({"class"}))
    fit()
    with pytest.raises(ValueError, match=r"class-incremental .* a domain-incremental stream"):
        fit(rotated_digits(num_tasks=2))


def test_a_rehearsing_method_needs_a_memory():
    with pytest.raises(ValueError, match="`buffer_size` must be at least 1 for a method that rehearses"):
        fit(buffer_size=0)


def test_a_regularizer_that_needs_a_memory_needs_a_method_with_one():
    with pytest.raises(ValueError, match="'casper' with Finetune"):
        fit(method=Finetune(), regularizers=[regularizer("casper")])


def test_regularizers_are_different():
    with pytest.raises(ValueError, match="`regularizers` must be distinct"):
        fit(regularizers=[regularizer("casper"), regularizer("casper")])


def test_regularizers_check_the_batch_size():
    with pytest.raises(ValueError, match="less than the draw of 3 items"):
        fit(regularizers=[regularizer("casper")], batch_size=3)


def test_hidden_labels_need_a_method_that_can_do_without():
    fit(hide_labels(split_digits(), per_class=4))
    with pytest.raises(ValueError, match=r"`method` must be one that supports hidden labels .*, but got Finetune"):
        fit(hide_labels(split_digits(), per_class=4), method=Finetune(), buffer_size=0)
