import pytest

from casper.experiments import METHODS, STREAMS, hyper_parameters, resolve_config
from casper.experiments.presets import fitted_to_batch, fitted_to_epochs, preset, unpublished_values
from casper.experiments.protocols import packaged, usual_protocol


def has_preset():
    return [stream for stream in STREAMS if preset(stream, "er-ace")]


def joined(stream, method="er-ace"):
    return {key: value for values, _ in preset(stream, method) for key, value in values.items()}


def test_every_stream_is_in_the_paper_or_has_one_that_says_where_it_comes_from():
    for stream in STREAMS:
        assert (usual_protocol(stream) == "paper") != (stream in has_preset())
    for stream in [*has_preset(), "any"]:
        assert joined(stream)["casper.weight"] > 0
        assert all(origin.startswith(f"preset {stream}") for _, origin in preset(stream, "er-ace"))
        assert "origin" not in joined(stream)


def test_the_control_draws_as_many_classes_as_casper():
    for stream in [*has_preset(), "any"]:
        values = joined(stream)
        assert values["forward-only.num_classes"] == values["casper.num_classes"]


def test_an_unknown_stream_has_none():
    assert preset("own:stream", "er-ace") == []


def test_a_method_of_ones_own_has_a_line_too():
    assert joined("split-digits", "own:Method")["lr"] == 0.1
    assert joined("split-digits", "own:Method")["casper.num_neighbors"] == 4


@pytest.mark.parametrize("method", METHODS)
def test_the_digits_have_a_line_for_every_method(method):
    (_, common), (values, origin) = preset("split-digits", method)
    line = packaged("presets.yaml")["split-digits"]["methods"][method]
    assert (common, origin) == ("preset split-digits, chosen here", "preset split-digits, chosen here on seeds 100-104")
    assert values["lr"] == line["lr"]
    own = hyper_parameters(METHODS[method])
    assert {key.partition(".")[2] for key in values if key.startswith(f"{method}.")} <= own.keys()
    config = resolve_config({"method": method, **({} if METHODS[method].keeps_memory else {"regularizer": ["none"]})})
    assert (config.origin["batch_size"], config.origin["lr"]) == (common, origin)
    assert config.options.lr == line["lr"]
    if METHODS[method].keeps_memory:
        assert config.hyper["casper"]["weight"] == line["casper"]["weight"]
        assert values["forward-only.num_classes"] == line["casper"]["num_classes"]


@pytest.mark.parametrize("protocol", ["paper", "desk"])
@pytest.mark.parametrize("stream", ["split-cifar100", "split-mini-imagenet"])
def test_another_optimizer_has_a_rate_of_its_own(stream, protocol):
    config = resolve_config({"stream": stream, "protocol": protocol, "method": "ccic"})
    assert (config.options.lr, config.origin["lr"]) == (0.001, "not published, CCIC's released code")
    assert config.origin["casper.weight"].startswith("not published, lent by paper")
    assert resolve_config({"stream": stream, "protocol": protocol, "method": "ccic", "lr": 0.5}).options.lr == 0.5
    assert resolve_config({"stream": stream, "protocol": protocol}).options.lr > 0.001


def test_streams_outside_the_paper_have_that_rate_too(tmp_path):
    for given in ({"stream": "split-mnist"}, {"stream": f"folder:{tmp_path}", "tasks": 2}):
        config = resolve_config({**given, "method": "ccic"})
        assert (config.options.lr, config.origin["lr"]) == (0.001, "not published, CCIC's released code")
        assert resolve_config(given).options.lr == 0.1
    assert unpublished_values("split-mnist", "er-ace") == ({}, "")
    assert unpublished_values("split-cifar10", "scr") == ({"lr": 0.1}, "not published, SCR's released code")
    for method in ("scr", "ccic"):
        assert unpublished_values("split-digits", method) == ({}, "")  # its preset has a line


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
    config = resolve_config({"stream": "split-cifar100", "batch_size": 16, "casper.num_neighbors": 2})
    assert config.hyper["casper"]["num_classes"] == 8
    assert fitted_to_batch(values, 64) == values
    changed = fitted_to_batch(values, 16)
    assert (changed["casper.num_classes"], changed["forward-only.num_classes"]) == (4, 4)
    assert changed["casper.num_neighbors"] == 4
    assert fitted_to_batch(values, 5)["casper.num_classes"] == 2
    assert fitted_to_batch(values, 16, 2)["casper.num_classes"] == 8
