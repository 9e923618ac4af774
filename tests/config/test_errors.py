import pytest

from casper.config.errors import brief, explained, flag, unknown
from casper.errors import ParameterError


def test_an_unknown_name_comes_with_the_nearest_and_all_valid_ones():
    message = str(unknown("method", "er_ace", ["er", "er-ace", "joint"]))
    assert message == "unknown method 'er_ace'; did you mean 'er-ace'? valid: er, er-ace, joint"


def test_nothing_near_is_not_guessed():
    assert "did you mean" not in str(unknown("method", "zzz", ["er", "joint"]))


def test_a_constructors_complaint_names_the_option_or_the_key():
    error = ParameterError("buffer_size", "at least 1", "0")
    assert str(explained(error)) == "--buffer-size must be at least 1, but got 0"
    assert str(explained(error, "casper")) == "casper.buffer_size must be at least 1, but got 0"


def test_flags_are_written_as_typed():
    assert flag("batch_size") == "--batch-size"
    assert flag("regularizers") == "--regularizer"
    assert flag("epochs") == "--epochs"
    assert flag("state") == "`state`"  # of a checkpoint, which no option sets


@pytest.mark.parametrize("value", ["x" * 5000, 10**4000, [[[[[[[["deep"] * 50]]]]]]] * 50, {"a": "b" * 5000}])
def test_what_was_found_is_shown_briefly(value):
    assert len(brief(value)) < 400
    assert brief(0.5) == "0.5"
    assert brief("er_ace") == "'er_ace'"
