from casper.reports.naming import (
    name_variants,
    settings,
    shared_title,
    variant_order,
)
from casper.reports.variants import Variant


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
