from types import SimpleNamespace

import pytest

from casper.config import ConfigError, flattened, resolve_config
from casper.config.yaml import read_preset, to_yaml
from casper.sweeps import USUAL_SPACE, candidates, preset_layout, ranked, usual_space

SPACE = {"lr": [0.1, 0.2], "casper.weight": [1e-3, 1e-2, 1e-1]}


def test_every_combination_on_held_out_images_and_other_seeds():
    found = candidates({"method": "er"}, SPACE, seeds=2)
    assert sorted((each.values["lr"], each.values["casper.weight"]) for each in found) == [
        (0.1, 1e-3),
        (0.1, 1e-2),
        (0.1, 1e-1),
        (0.2, 1e-3),
        (0.2, 1e-2),
        (0.2, 1e-1),
    ]
    for each in found:
        assert [config.options.seed for config in each.configs] == [100, 101]
        for config in each.configs:
            assert config.options.validation == 0.1
            assert config.options.method == "er"
            assert config.options.lr == each.values["lr"]
            assert config.hyper["casper"]["weight"] == each.values["casper.weight"]


def test_combinations_drawn_at_random():
    drawn = [[each.values for each in candidates({}, SPACE, count=3, draw=draw)] for draw in (0, 0, 1)]
    assert len(drawn[0]) == 3
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]
    every = [each.values for each in candidates({}, SPACE)]
    assert all(values in every for values in drawn[0])


def test_p_times_k_stays_within_the_batch():
    space = {"casper.num_classes": [2, 4, 8], "casper.num_neighbors": [4, 8]}
    found = candidates({"batch_size": 32}, space)
    pairs = sorted((each.values["casper.num_classes"], each.values["casper.num_neighbors"]) for each in found)
    assert pairs == [(2, 4), (2, 8), (4, 4), (4, 8), (8, 4)]
    with pytest.raises(ConfigError, match=r"no combination of --over has num_classes \* num_neighbors <= batch size"):
        candidates({"batch_size": 8}, {"casper.num_classes": [4], "casper.num_neighbors": [4]})


def test_drawing_counts_what_fits():
    space = {"casper.num_classes": [2, 40, 41, 42, 43, 44], "casper.num_neighbors": [4]}
    assert len(candidates({"batch_size": 32}, space, count=1)) == 1


def test_the_usual_space_is_what_the_run_has():
    assert usual_space({}) == USUAL_SPACE
    assert usual_space({"regularizer": ["none"]}) == {"lr": USUAL_SPACE["lr"]}
    assert usual_space({"method": "finetune"}) == {"lr": USUAL_SPACE["lr"]}


@pytest.mark.parametrize("values", [[], 3, "a", None])
def test_what_is_no_list(values):
    with pytest.raises(ConfigError, match="--over lr must be a list of values"):
        candidates({}, {"lr": values})


def test_a_key_given_twice():
    with pytest.raises(ConfigError, match="lr must be given once, but is given as a setting and with --over"):
        candidates({"lr": 0.1}, SPACE)


def done(config, accuracy, scenario="class_il"):
    blocks = {"class_il": None, "domain_il": None, scenario: {"final_average_accuracy": accuracy}}
    return SimpleNamespace(config=config, metrics=blocks)


def test_the_best_mean_comes_first():
    found = candidates({}, {"lr": [0.1, 0.2, 0.3]}, seeds=2)
    accuracies = {0.1: (50.0, 60.0), 0.2: (70.0, 58.0), 0.3: (10.0, 99.0)}
    runs = [
        done(config, accuracy)
        for each in found
        for config, accuracy in zip(each.configs, accuracies[each.values["lr"]], strict=True)
    ]
    assert [(each.values["lr"], each.accuracies) for each in ranked(found, runs)] == [
        (0.2, (70.0, 58.0)),
        (0.1, (50.0, 60.0)),
        (0.3, (10.0, 99.0)),
    ]
    runs[0].metrics = None  # a combination of which one run is missing is not judged
    assert len(ranked(found, runs)) == 2


def test_a_domain_stream_is_judged_by_its_own_scenario():
    found = candidates({"stream": "rotated-digits"}, {"lr": [0.1]})
    (best,) = ranked(found, [done(found[0].configs[0], 42.0, "domain_il")])
    assert best.accuracies == (42.0,)


def test_the_preset_is_what_run_accepts(tmp_path):
    values = {"lr": 0.25, "casper.num_classes": 3, "casper.num_neighbors": 5, "backbone.width": 8}
    layout = preset_layout(values)
    assert flattened(layout) == values
    (tmp_path / "best.yaml").write_text(to_yaml(layout))
    config = resolve_config({"batch_size": 64}, None, read_preset(tmp_path / "best.yaml"))
    assert config.options.lr == 0.25
    # Found at one batch size, they are not changed at another: they are the user's.
    assert (config.hyper["casper"]["num_classes"], config.hyper["casper"]["num_neighbors"]) == (3, 5)
    assert config.hyper["backbone"]["width"] == 8
    assert config.origin["lr"] == config.origin["casper.num_classes"] == "preset best.yaml"


def test_a_preset_is_weaker_than_flags_and_files_and_stronger_than_a_protocol(tmp_path):
    (tmp_path / "p.yaml").write_text("lr: 0.25\nepochs: 7\nbuffer_size: 77\nprotocol: desk\n")
    preset = read_preset(tmp_path / "p.yaml")
    config = resolve_config({"stream": "split-cifar100", "lr": 0.5}, {"buffer_size": 99}, preset)
    assert (config.options.lr, config.options.buffer_size, config.options.epochs) == (0.5, 99, 7)
    assert config.options.backbone == "convnet"  # the protocol that the preset names
    stronger = resolve_config({"stream": "split-cifar100", "protocol": "paper"}, None, preset)
    assert (stronger.options.backbone, stronger.options.epochs) == ("resnet18", 7)


def test_a_space_without_end():
    with pytest.raises(ConfigError, match="--over must give at most 10,000 combinations"):
        candidates({}, {"lr": [0.1] * 1000, "gamma": [1.0] * 1000, "casper.weight": [1.0] * 1000})


@pytest.mark.parametrize("key", ["seed", "validation"])
def test_what_the_search_sets_itself(key):
    for base, space in (({key: 0.5}, SPACE), ({}, {key: [0.5]})):
        with pytest.raises(ConfigError, match=f"{key} cannot be set in a search; use --{key}"):
            candidates(base, space)
