import torch

from same_results import RESUMED, checksums, compare

STATE = {"net": {"weight": torch.tensor([1.0, -0.0])}, "steps": 3, "seconds": 1.5, "groups": [{"lr": 0.1}]}


def recording(**changes):
    return {"one run": {"checkpoint": checksums({**STATE, **changes}), "metrics": {"accuracy": [90.0, float("nan")]}}}


def test_the_same_is_identical_and_times_may_differ():
    table = compare(recording(), recording(seconds=2.0))
    assert [line.differing for line in table.values()] == [[], []]
    assert (table["checkpoint"].values, table["metrics"].values) == (3, 2)


def test_every_bit_is_compared():
    for change in (
        {"net": {"weight": torch.tensor([1.0, 0.0])}},
        {"net": {"weight": torch.tensor([1.0, -0.0]).double()}},
    ):
        assert compare(recording(), recording(**change))["checkpoint"].differing == ["one run net weight"]
    assert compare(recording(), recording(steps=3.0))["checkpoint"].differing == ["one run steps"]
    assert compare(recording(), recording(groups=[{"lr": 0.2}]))["checkpoint"].differing == ["one run groups 0 lr"]


def test_what_is_lost_differs_and_what_is_new_is_counted():
    more = recording(means=1)
    assert compare(recording(), more)["checkpoint"].new == 1
    assert not compare(recording(), more)["checkpoint"].differing
    assert compare(more, recording())["checkpoint"].differing == ["one run means"]
    assert compare(recording(), {})["metrics"].differing == ["one run accuracy 0", "one run accuracy 1"]


def test_a_state_that_cannot_be_resumed_differs():
    after = {"one run": {RESUMED: {"first.pt": True, "second.pt": False}}}
    assert compare({"one run": {}}, after)[RESUMED].differing == ["one run second.pt"]
