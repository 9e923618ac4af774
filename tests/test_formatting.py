import pytest

from casper.formatting import counted, duration, printable, printable_lines, signed


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.4, "0 s"),
        (45.2, "45 s"),
        (99.4, "99 s"),
        (99.6, "2 min"),
        (12 * 60, "12 min"),
        (59 * 60 + 29, "59 min"),
        (59 * 60 + 31, "1 h"),
        (3600 + 29, "1 h"),
        (3600 + 31, "1 h 1 min"),
        (3 * 3600 + 20 * 60, "3 h 20 min"),
        (47 * 3600 + 59 * 60, "47 h 59 min"),
        (48 * 3600, "2 d"),
        (53 * 3600 + 1800, "2 d 5 h"),
        (10 * 24 * 3600, "10 d"),
    ],
)
def test_a_duration_is_said_as_people_say_it(seconds, text):
    assert duration(seconds) == text


def test_a_difference_has_its_sign_and_zero_has_plus():
    assert [signed(value) for value in (1.234, -1.236, -0.004, 0.0)] == ["+1.23", "-1.24", "+0.00", "+0.00"]
    assert signed(-0.04, 1) == "+0.0"


def test_one_is_not_many():
    assert [counted(number, "run") for number in (0, 1, 2)] == ["0 runs", "1 run", "2 runs"]


def test_control_characters_and_halves_of_characters_are_question_marks():
    assert printable("a\x1b[31m\x00\r\n\udc80\ufffe ñ€") == "a?[31m????? ñ€"
    assert printable_lines("one\x07\ntwo\x0b") == "one?\ntwo?"
