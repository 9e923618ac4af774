import pytest

from casper.config import ConfigError
from casper.reports.grouping import MissingDataError, gather, listed
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
    assert found.one_shown == f"{found.shared}, the lowest shown"
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
    assert told == [f"left out, the same variant and seed as another run: {first.name}"]


def test_a_run_that_lacks_it_does_not_drive_out_its_twin():
    found = gather([runs(61.0)[0], runs(1.0, recalibrate=True)[0]], read, lambda _: None)
    assert dict(found.groups[0].by_seed) == {0: 61.0}


def test_nothing_to_show_is_an_error():
    with pytest.raises(ConfigError) as error:
        gather(runs(1.0, 2.0), read, pytest.fail)
    assert str(error.value) == "RUNS should have a good result; found 2 runs without a good result (train longer)"
    with pytest.raises(ConfigError, match="at least one finished run; found none"):
        gather([], read, pytest.fail)


def test_streams_are_not_mixed_unless_they_may_be():
    mixed = [*runs(61.0), *runs(62.0, stream="split-mnist")]
    with pytest.raises(ConfigError) as error:
        gather(mixed, read, pytest.fail)
    assert str(error.value) == "RUNS should be of one stream for this figure; found split-digits, split-mnist"
    found = gather(mixed, read, pytest.fail, one_stream=False)
    assert ["split-digits" in group.name.text for group in found.groups] == [True, False]


def test_more_variants_than_have_room_are_refused():
    several = [*runs(61.0), *runs(62.0, method="icarl"), *runs(63.0, method="x-der")]
    assert len(gather(several, read, pytest.fail, most=3).groups) == 3
    with pytest.raises(ConfigError, match="RUNS should be of at most 2 variants for this figure; found 3"):
        gather(several, read, pytest.fail, most=2)


def test_many_names_are_counted():
    assert listed(["a", "b", "c"]) == "a, b, c"
    assert listed(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
