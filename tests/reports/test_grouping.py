import pytest

from casper.config import ConfigError
from casper.reports.grouping import MissingDataError, gather, listed, name_variants, shared_title, variant_order
from casper.reports.variants import Variant
from finished import finished_run


def read(run):
    if run.value("class_il.final_average_accuracy") < 50:
        raise MissingDataError("a good result", "train longer")
    return run.value("class_il.final_average_accuracy")


def runs(*finals, **values):
    return [finished_run({"method": "er", "seed": seed, **values}, final) for seed, final in enumerate(finals)]


def test_seeds_of_a_variant_come_together_from_the_lowest():
    told = []
    added = list(reversed(runs(71.0, 72.0, regularizer=["casper"])))
    found = gather([*added, *runs(61.0, regularizer=["none"])], read, told.append)
    assert [(group.name.text, dict(group.by_seed)) for group in found.groups] == [
        ("ER", {0: 61.0}),
        ("ER + CaSpeR", {0: 71.0, 1: 72.0}),
    ]
    assert list(found.groups[1].by_seed) == [0, 1]
    assert found.groups[1].of_lowest_seed == 71.0
    assert found.shared.startswith("split-digits, ")
    assert found.shared.endswith(", 1 to 2 seeds")
    assert found.one_shown == f"{found.shared}, lowest drawn"
    assert told == []


def test_one_seed_needs_no_word_on_which_is_shown():
    found = gather(runs(61.0), read, pytest.fail)
    assert found.one_shown == found.shared


def test_what_is_left_out_is_said():
    told = []
    several = runs(61.0, 1.0, 2.0)
    assert list(gather(several, read, told.append).groups[0].by_seed) == [0]
    assert told == [f"left out, without a good result (train longer): {several[1].name}, {several[2].name}"]


def test_a_run_that_was_made_twice_counts_once_and_the_other_is_named():
    told = []
    first, second = runs(61.0)[0], runs(62.0, recalibrate=True)[0]
    found = gather([first, second], read, told.append)
    assert dict(found.groups[0].by_seed) == {0: 62.0}
    assert told == [f"left out, because another run has the same variant and seed: {first.name}"]


def test_a_run_that_lacks_it_does_not_drive_out_its_twin():
    found = gather([runs(61.0)[0], runs(1.0, recalibrate=True)[0]], read, lambda _: None)
    assert dict(found.groups[0].by_seed) == {0: 61.0}


def test_nothing_to_show_is_an_error():
    with pytest.raises(ConfigError) as error:
        gather(runs(1.0, 2.0), read, pytest.fail)
    assert str(error.value) == "RUNS must have a good result, but got 2 runs without a good result (train longer)"
    with pytest.raises(ConfigError, match="at least one finished run, but got none"):
        gather([], read, pytest.fail)


def test_streams_are_not_mixed_unless_they_may_be():
    mixed = [*runs(61.0), *runs(62.0, stream="split-mnist")]
    with pytest.raises(ConfigError) as error:
        gather(mixed, read, pytest.fail)
    assert str(error.value) == "RUNS must be of one stream for this figure, but got split-digits, split-mnist"
    found = gather(mixed, read, pytest.fail, one_stream=False)
    assert ["split-digits" in group.name.text for group in found.groups] == [True, False]


def test_more_variants_than_have_room_are_refused():
    several = [*runs(61.0), *runs(62.0, method="icarl"), *runs(63.0, method="x-der")]
    assert len(gather(several, read, pytest.fail, most=3).groups) == 3
    with pytest.raises(ConfigError, match="RUNS must have at most 2 variants for this figure, but got 3"):
        gather(several, read, pytest.fail, most=2)


def test_many_names_are_counted():
    assert listed(["a", "b", "c"]) == "a, b, c"
    assert listed(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"


def variant(method="er-ace", regularizers="", buffer_size=500, **changes):
    return Variant("split-cifar100", method, regularizers, buffer_size, "paper", **{"settings": (), **changes})


def texts(*variants):
    return [name.text for name in name_variants(variants).values()]


def test_short_where_nothing_else_differs():
    assert texts(variant(), variant(regularizers="casper")) == ["ER-ACE", "ER-ACE + CaSpeR"]
    assert texts(variant("der++", "casper+cscct", method_changes=("alpha=1",))) == ["DER++ + CaSpeR + CSCCT"]
    assert texts(variant("mine.module:Method", "forward-only")) == ["Method + forward-only"]


def test_the_memory_is_told_where_it_differs():
    assert texts(variant(), variant("er", buffer_size=200), variant("finetune", buffer_size=0)) == [
        "ER-ACE (buffer 500)",
        "ER (buffer 200)",
        "fine-tuning",
    ]


def test_departures_are_told_where_they_differ_for_the_same_method():
    plain, other = variant(method_changes=("gamma=0.5", "lr=0.1")), variant("er", method_changes=("lr=1",))
    added = variant(regularizers="casper", method_changes=("gamma=0.5", "lr=0.2"), regularizer_changes=("weight=1",))
    assert texts(plain, other, added) == ["ER-ACE (lr=0.1)", "ER", "ER-ACE + CaSpeR (lr=0.2)"]
    assert texts(variant(regularizers="casper"), variant(regularizers="casper", regularizer_changes=("weight=1",))) == [
        "ER-ACE + CaSpeR",
        "ER-ACE + CaSpeR (weight=1)",
    ]


def test_protocols_and_settings_are_told_where_they_differ():
    other = Variant("split-cifar100", "er-ace", "", 500, "desk", ("batch_size=8", "epochs=5"))
    assert texts(variant(settings=("batch_size=8", "epochs=7")), other) == [
        "ER-ACE (paper protocol, epochs=7)",
        "ER-ACE (desk protocol, epochs=5)",
    ]


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
    variants = [
        variant(settings=("batch_size=8", "epochs=5")),
        variant("finetune", buffer_size=0, settings=("epochs=5",)),
    ]
    assert shared_title(variants, [3, 3]) == "split-cifar100, paper protocol, epochs=5, buffer 500, 3 seeds"
    assert shared_title([variant(), variant(buffer_size=9)], [1, 2]) == "split-cifar100, paper protocol, 1 to 2 seeds"
    assert shared_title([variant()], [1]).endswith(", 1 seed")
