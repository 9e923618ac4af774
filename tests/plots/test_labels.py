import pytest

from casper.plots.labels import VariantName, additions, bases, broken


def test_parts_of_a_name():
    name = VariantName("ER-ACE", "CaSpeR", "buffer 500", "weight=1")
    assert name.text == "ER-ACE + CaSpeR (buffer 500, weight=1)"
    assert name.base == VariantName("ER-ACE", detail="buffer 500").text == "ER-ACE (buffer 500)"
    assert name.addition == "+ CaSpeR (weight=1)"
    assert VariantName("ER").addition == ""


def test_methods_and_additions_each_once():
    names = [VariantName("ER", "CaSpeR"), VariantName("ER"), VariantName("DER++"), VariantName("DER++", "CSCCT")]
    assert bases(names) == ["ER", "DER++"]
    assert additions(names) == ["", "+ CaSpeR", "+ CSCCT"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("ER-ACE (buffer 500)", ["ER-ACE (buffer 500)"]),
        ("ER-ACE + CaSpeR (buffer 500)", ["ER-ACE + CaSpeR", "(buffer 500)"]),
        ("X" * 30, ["X" * 20, "X" * 10]),
    ],
)
def test_long_names_are_broken_before_their_details(text, lines):
    assert broken(text, 20).splitlines() == lines


def test_a_very_long_name_is_cut():
    lines = broken("word " * 40 + "(" + "detail, " * 40 + ")", 20).splitlines()
    assert len(lines) == 4
    assert all(len(line) <= 20 for line in lines)


def test_control_characters_in_a_name_are_question_marks():
    assert broken("er\x1b[31m") == "er?[31m"
