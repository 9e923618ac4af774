import pytest

from casper.reporting.figures.names import (
    VariantName,
    additions,
    bases,
    broken,
    name_variants,
    settings,
    shared_title,
    variant_order,
)
from casper.reporting.variants import Variant


def variant(method="er-ace", regularizers="", buffer_size=500, **changes):
    return Variant("split-cifar100", method, regularizers, buffer_size, "paper", **{"settings": "", **changes})


def texts(*variants):
    return [name.text for name in name_variants(variants).values()]


def test_short_where_nothing_else_differs():
    assert texts(variant(), variant(regularizers="casper")) == ["ER-ACE", "ER-ACE + CaSpeR"]
    assert texts(variant("der++", "casper+cscct", method_changes="alpha=1")) == ["DER++ + CaSpeR + CSCCT"]
    assert texts(variant("mine.module:Method", "forward-only")) == ["Method + forward-only"]


def test_the_memory_is_told_where_it_differs():
    assert texts(variant(), variant("er", buffer_size=200), variant("finetune", buffer_size=0)) == [
        "ER-ACE (buffer 500)",
        "ER (buffer 200)",
        "fine-tuning",
    ]


def test_departures_are_told_where_they_differ_for_the_same_method():
    plain, other = variant(method_changes="gamma=0.5, lr=0.1"), variant("er", method_changes="lr=1")
    added = variant(regularizers="casper", method_changes="gamma=0.5, lr=0.2", regularizer_changes="weight=1")
    assert texts(plain, other, added) == ["ER-ACE (lr=0.1)", "ER", "ER-ACE + CaSpeR (lr=0.2)"]
    assert texts(variant(regularizers="casper"), variant(regularizers="casper", regularizer_changes="weight=1")) == [
        "ER-ACE + CaSpeR",
        "ER-ACE + CaSpeR (weight=1)",
    ]


def test_protocols_and_settings_are_told_where_they_differ():
    other = Variant("split-cifar100", "er-ace", "", 500, "desk", "batch_size=8, epochs=5")
    assert texts(variant(settings="batch_size=8, epochs=7"), other) == [
        "ER-ACE (paper protocol, epochs=7)",
        "ER-ACE (desk protocol, epochs=5)",
    ]


def test_lists_stay_whole():
    assert settings("epochs=5, milestones=[3, 4], x.y=1") == ["epochs=5", "milestones=[3, 4]", "x.y=1"]
    assert settings("") == []


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


def test_the_papers_order():
    variants = [variant(method, regularizers) for method in ("der++", "er-ace") for regularizers in ("casper", "")]
    ordered = sorted(variants, key=variant_order)
    assert [(own.method, own.regularizers) for own in ordered] == [
        ("er-ace", ""),
        ("er-ace", "casper"),
        ("der++", ""),
        ("der++", "casper"),
    ]


def test_what_is_shared():
    variants = [variant(settings="batch_size=8, epochs=5"), variant("finetune", buffer_size=0, settings="epochs=5")]
    assert shared_title(variants, [3, 3]) == "split-cifar100, paper protocol, epochs=5, buffer 500, 3 seeds"
    assert shared_title([variant(), variant(buffer_size=9)], [1, 2]) == "split-cifar100, paper protocol, 1 to 2 seeds"
    assert shared_title([variant()], [1]).endswith(", 1 seed")
