import pytest

from casper.experiments.names import STREAMS
from casper.experiments.presets import fitted_to_batch, fitted_to_epochs, preset
from casper.experiments.protocols import usual_protocol


def has_preset():
    return [stream for stream in STREAMS if preset(stream)[0]]


def test_every_stream_is_in_the_paper_or_has_one_that_says_where_it_comes_from():
    for stream in STREAMS:
        assert (usual_protocol(stream) == "paper") != (stream in has_preset())
    for stream in [*has_preset(), "any"]:
        values, origin = preset(stream)
        assert values["casper.weight"] > 0
        assert origin.startswith(f"preset {stream}")
        assert "origin" not in values


def test_the_control_draws_as_many_classes_as_casper():
    for stream in [*has_preset(), "any"]:
        values, _ = preset(stream)
        assert values["forward-only.num_classes"] == values["casper.num_classes"]


def test_an_unknown_stream_has_none():
    assert preset("own:stream") == ({}, "")


@pytest.mark.parametrize(
    ("epochs", "milestones"), [(50, [35, 45]), (10, [7, 9]), (100, [70, 90]), (5, [4, 4]), (2, [1]), (1, []), (3, [2])]
)
def test_milestones_keep_their_place_in_the_task(epochs, milestones):
    values = {"epochs": 50, "milestones": [35, 45], "lr": 0.1}
    assert fitted_to_epochs(values, epochs) == {**values, "milestones": milestones}


def test_a_milestone_never_falls_before_the_first_epoch():
    assert fitted_to_epochs({"epochs": 50, "milestones": [1, 45]}, 10)["milestones"] == [9]


def test_another_batch_size_keeps_the_neighbors_and_changes_the_classes():
    values = {"batch_size": 64, "casper.num_classes": 16, "casper.num_neighbors": 4, "forward-only.num_classes": 16}
    assert fitted_to_batch(values, 64) == values
    changed = fitted_to_batch(values, 16)
    assert (changed["casper.num_classes"], changed["forward-only.num_classes"]) == (4, 4)
    assert changed["casper.num_neighbors"] == 4
    assert fitted_to_batch(values, 5)["casper.num_classes"] == 2
