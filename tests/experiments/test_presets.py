from casper.experiments.names import STREAMS
from casper.experiments.presets import fitted_to_batch, preset


def test_every_stream_has_one_that_says_where_it_comes_from():
    for stream in STREAMS:
        values, origin = preset(stream)
        assert values["casper.weight"] > 0
        assert origin.startswith(f"preset {stream}")
        assert "origin" not in values


def test_the_control_draws_as_many_classes_as_casper():
    for stream in STREAMS:
        values, _ = preset(stream)
        assert values["forward-only.num_classes"] == values["casper.num_classes"]


def test_an_unknown_stream_has_none():
    assert preset("own:stream") == ({}, "")


def test_another_batch_size_keeps_the_neighbors_and_changes_the_classes():
    values = {"batch_size": 64, "casper.num_classes": 16, "casper.num_neighbors": 4, "forward-only.num_classes": 16}
    assert fitted_to_batch(values, 64) == values
    changed = fitted_to_batch(values, 16)
    assert (changed["casper.num_classes"], changed["forward-only.num_classes"]) == (4, 4)
    assert changed["casper.num_neighbors"] == 4
    assert fitted_to_batch(values, 5)["casper.num_classes"] == 2
