import sys
from pathlib import Path

import pytest

from casper.config import ConfigError, resolve_config, to_yaml
from casper.sweeps import expand, read_sweep
from casper.sweeps.sweep_file import modules_of_sweep, runs_of_sweep


def chosen(configs, *options):
    """What each configuration has under some options."""
    return [tuple(getattr(config.options, option) for option in options) for config in configs]


def complaint(layout):
    with pytest.raises(ConfigError) as caught:
        expand(layout)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def complaint_about(path):
    with pytest.raises(ConfigError) as caught:
        read_sweep(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def written(path, text):
    path.write_text(text)
    return path


def test_a_grid_is_multiplied_out_with_its_last_key_changing_fastest():
    configs = expand({"grid": {"method": ["er", "der++"], "buffer_size": [100, 50], "seed": [2, 0]}})
    assert chosen(configs, "method", "buffer_size", "seed") == [
        ("er", 100, 2),
        ("er", 100, 0),
        ("er", 50, 2),
        ("er", 50, 0),
        ("der++", 100, 2),
        ("der++", 100, 0),
        ("der++", 50, 2),
        ("der++", 50, 0),
    ]


def test_runs_are_listed_in_their_order_and_share_what_is_common():
    configs = expand({"epochs": 3, "seed": 9, "runs": [{"method": "er"}, {"method": "der++", "seed": 4}]})
    assert chosen(configs, "method", "seed", "epochs") == [("er", 9, 3), ("der++", 4, 3)]


def test_the_grid_is_multiplied_out_for_each_run():
    configs = expand({"runs": [{"method": "er"}, {"method": "x-der", "epochs": 2}], "grid": {"seed": [1, 0]}})
    assert chosen(configs, "method", "seed") == [("er", 1), ("er", 0), ("x-der", 1), ("x-der", 0)]
    assert [config.options.epochs for config in configs[2:]] == [2, 2]


def test_without_grid_and_runs_there_is_one_run_as_casper_run_would_make_it():
    (config,) = expand({"epochs": 2, "seed": 3})
    assert config == resolve_config({"epochs": 2, "seed": 3})


def test_nested_and_dotted_keys_mean_the_same_everywhere():
    nested = expand(
        {
            "backbone": {"name": "convnet", "width": 4},
            "runs": [{"casper": {"num_classes": 3}}],
            "grid": {"casper": {"weight": [0.5, 0.25]}},
        }
    )
    dotted = expand(
        {
            "backbone": "convnet",
            "backbone.width": 4,
            "runs": [{"casper.num_classes": 3}],
            "grid": {"casper.weight": [0.5, 0.25]},
        }
    )
    assert nested == dotted
    assert [config.hyper["casper"]["weight"] for config in nested] == [0.5, 0.25]
    assert [config.hyper["casper"]["num_classes"] for config in nested] == [3, 3]
    assert [config.hyper["backbone"]["width"] for config in nested] == [4, 4]


def test_what_is_common_may_belong_to_a_part_that_only_some_runs_have():
    configs = expand({"casper": {"weight": 0.5}, "grid": {"regularizer": ["none", "casper"]}})
    assert ["casper" in config.hyper for config in configs] == [False, True]
    assert configs[1].hyper["casper"]["weight"] == 0.5


def test_of_runs_that_are_the_same_there_is_one_at_the_place_of_the_first():
    configs = expand({"grid": {"seed": [1, 0, 1]}})
    assert chosen(configs, "seed") == [(1,), (0,)]
    configs = expand({"method": "finetune", "grid": {"buffer_size": [50, 100], "seed": [0, 1]}})  # it keeps no memory
    assert chosen(configs, "buffer_size", "seed") == [(0, 0), (0, 1)]
    configs = expand({"runs": [{"seed": 5}, {"seed": 5, "regularizer": ["casper"]}]})
    assert len(configs) == 1


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("casper", ["casper"]),
        ("none", []),
        (["none"], []),
        ([], []),
        (["forward-only", "casper"], ["forward-only", "casper"]),
    ],
)
def test_a_regularizer_is_a_name_none_or_several(given, found):
    assert [config.options.regularizer for config in expand({"regularizer": given})] == [found]
    assert [config.options.regularizer for config in expand({"grid": {"regularizer": [given]}})] == [found]


def test_none_in_yaml_is_no_regularizer(tmp_path):
    file = written(tmp_path / "s.yaml", "grid: {regularizer: [none, casper, [forward-only, casper]]}")
    found = [config.options.regularizer for config in read_sweep(file)]
    assert found == [[], ["casper"], ["forward-only", "casper"]]


def test_the_protocol_may_be_common_or_of_the_grid():
    stream = {"stream": "split-cifar100", "method": "er-ace", "buffer_size": 500}
    (desk,) = expand({**stream, "protocol": "desk"})
    both = expand({**stream, "grid": {"protocol": ["paper", "desk"]}})
    assert desk == resolve_config({**stream, "protocol": "desk"})
    assert both == [resolve_config({**stream, "protocol": "paper"}), desk]
    assert both[0].options.epochs != desk.options.epochs


def test_values_of_the_file_say_so():
    (config,) = expand({"lr": 0.3, "grid": {"seed": [4]}})
    assert (config.origin["lr"], config.origin["seed"]) == ("file", "file")


def test_a_preset_is_looked_for_beside_the_file_whatever_the_present_directory(tmp_path, monkeypatch):
    folder = tmp_path / "sweeps"
    folder.mkdir()
    (tmp_path / "own.yaml").write_text("lr: 0.9")
    monkeypatch.chdir(tmp_path)
    written(folder / "own.yaml", "lr: 0.3\nepochs: 7\ncasper: {weight: 0.125}\n")
    written(folder / "s.yaml", "preset: own.yaml\nepochs: 2\ngrid: {seed: [0, 1]}\n")
    for config in read_sweep(Path("sweeps/s.yaml")):
        assert (config.options.lr, config.options.epochs, config.hyper["casper"]["weight"]) == (0.3, 2, 0.125)
        assert config.origin["lr"] == config.origin["casper.weight"] == "preset own.yaml"
        assert config.origin["epochs"] == "file"


def test_each_run_may_have_a_preset_of_its_own(tmp_path):
    written(tmp_path / "a.yaml", "lr: 0.3")
    written(tmp_path / "b.yaml", "lr: 0.4")
    file = written(tmp_path / "s.yaml", "grid: {preset: [b.yaml, a.yaml, null]}")
    found = [(config.options.lr, config.origin["lr"]) for config in read_sweep(file)]
    assert found[:2] == [(0.4, "preset b.yaml"), (0.3, "preset a.yaml")]
    assert found[2] == (resolve_config({}).options.lr, resolve_config({}).origin["lr"])


@pytest.mark.parametrize("preset", [3, ["a.yaml"], True])
def test_a_preset_that_is_no_name_is_refused(preset):
    assert complaint({"preset": preset}) == f"preset must be the name of a file, but got {preset!r}"


def test_a_preset_that_is_not_there_is_named(tmp_path):
    file = written(tmp_path / "s.yaml", "preset: gone.yaml\nseed: 1\n")
    assert complaint_about(file) == f"{file}: {tmp_path / 'gone.yaml'} cannot be read: No such file or directory"


@pytest.mark.parametrize("runs", [None, [], {}, {"seed": 1}, [3], ["er"], "er", [{"seed": 0}, None]])
def test_runs_that_are_no_list_of_mappings_are_refused(runs):
    assert complaint({"runs": runs}).startswith("runs must be a list of one or more mappings, but got ")


@pytest.mark.parametrize("grid", [None, [], [{"seed": [1]}], "seed", 3])
def test_a_grid_that_is_no_mapping_is_refused(grid):
    assert complaint({"grid": grid}).startswith("grid must be a mapping of keys to lists, but got ")


@pytest.mark.parametrize("values", [3, "er", None, []])
def test_a_key_of_the_grid_without_a_list_is_refused(values):
    expected = f"grid casper.weight must be a list of one or more values, but got {values!r}"
    assert complaint({"grid": {"casper": {"weight": values}}}) == expected


def test_a_key_in_grid_and_in_runs_is_refused():
    layout = {"runs": [{"method": "er"}, {"casper": {"weight": 1.0}}], "grid": {"casper.weight": [0.1]}}
    assert complaint(layout) == "casper.weight must be given once, but is in grid and in runs"


def test_keys_that_are_no_text_are_refused():
    assert complaint({"grid": {3: [1]}}) == "the keys of a configuration must be text, but got 3"


def test_a_complaint_names_what_the_run_has_of_its_own_and_nothing_else():
    text = complaint({"epochs": 2, "runs": [{"method": "er"}, {"method": "err"}], "grid": {"seed": [5, 6]}})
    assert text.startswith("unknown method 'err'; did you mean 'er'?")
    assert text.endswith("(in the run with method 'err', seed 5)")
    text = complaint({"grid": {"method": ["er-ace", "finetune"], "regularizer": ["casper"]}})
    assert text.endswith("use --regularizer none (in the run with method 'finetune', regularizer 'casper')")


def test_a_complaint_about_what_is_common_names_no_run():
    assert complaint({"epochs": 0}).startswith("--epochs must be ")
    assert "in the run" not in complaint({"epochs": 0})


def test_unknown_keys_are_refused_wherever_they_are():
    for layout in ({"sed": 1}, {"runs": [{"sed": 1}]}, {"grid": {"sed": [1]}}, {"grids": {"seed": [1]}}):
        assert complaint(layout).startswith("unknown key '")


def test_a_key_with_a_line_break_makes_no_second_line():
    assert complaint({"grid": {"a\nb": [1]}}).startswith("unknown key ")
    assert complaint({"grid": {"a\nb": 1}}).startswith("grid ")
    assert complaint({"grid": {"a\nb": [1]}, "runs": [{"a\nb": 1}]}).endswith("but is in grid and in runs")


def test_a_complaint_names_the_file(tmp_path):
    file = written(tmp_path / "s.yaml", "grid: {seed: [0, -1]}")
    text = complaint_about(file)
    assert text.startswith(f"{file}: --seed must be ")
    assert text.endswith("(in the run with seed -1)")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a: [", " must be plain YAML, but line 1, column 5: "),
        ("- 3", " must contain a mapping of keys to values, but got list"),
        ("", " must contain a mapping of keys to values, but got an empty file"),
        ("seed: !!python/object/apply:os.getcwd []", " must be plain YAML, but "),
    ],
)
def test_a_file_that_holds_no_sweep_is_named_once(tmp_path, content, expected):
    file = written(tmp_path / "s.yaml", content)
    text = complaint_about(file)
    assert text.startswith(f"{file}{expected}")


def test_a_file_that_is_not_there_is_named(tmp_path):
    assert complaint_about(tmp_path / "s.yaml") == f"{tmp_path / 's.yaml'} cannot be read: No such file or directory"
    assert complaint_about(tmp_path) == f"{tmp_path} cannot be read: Is a directory"


def test_the_name_of_a_preset_may_end_like_that_of_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(Path("s.yaml"), "preset: other-s.yaml")
    assert complaint_about(Path("s.yaml")) == "s.yaml: other-s.yaml cannot be read: No such file or directory"


def test_a_grid_without_end():
    axis = list(range(1000))
    with pytest.raises(ConfigError, match="a sweep must have at most 10,000 runs, but got 1,000,000"):
        expand({"grid": {"seed": axis, "epochs": axis}})


def test_a_key_beside_the_grid_and_in_it():
    with pytest.raises(ConfigError, match="seed must be given once, but is in grid and outside it"):
        expand({"seed": 0, "grid": {"seed": [1, 2]}})
    assert len(expand({"seed": 0, "runs": [{"seed": 1}, {}]})) == 2  # a run's own are stronger


OWN = """
from casper import ConvNet, ERACE, Finetune, Regularizer, split_digits
from casper.streams import TaskStream

class Replay(ERACE):
    def __init__(self, alpha: float = 0.5, depth: int = 2) -> None:
        super().__init__()

class Forgetful(Finetune):
    pass

class Term(Regularizer):
    name = generator_name = "term"

    def __init__(self, weight: float = 0.1) -> None:
        self.weight = weight

    def loss(self, step, passes, generator):
        return None

class Net(ConvNet):
    def __init__(self, image_shape: tuple[int, int, int], width: int = 4) -> None:
        super().__init__(image_shape, width)

def digits(num_tasks: int = 2, seed: int = 0) -> TaskStream:
    return split_digits(num_tasks)
"""


@pytest.mark.parametrize(
    "layout",
    [
        {"regularizer": "own_sweep:Term", "grid": {"seed": [0, 1]}},
        {"grid": {"regularizer": ["none", "own_sweep:Term", ["casper", "own_sweep:Term"]], "seed": [0, 1]}},
        {"grid": {"own_sweep:Term.weight": [1, 0.5]}, "regularizer": "own_sweep:Term"},
        {"method": "own_sweep:Replay", "regularizer": "none", "own_sweep:Replay": {"alpha": 1}, "protocol": "desk"},
        {"grid": {"method": ["own_sweep:Forgetful", "er"], "buffer_size": [50, 100]}, "regularizer": "none"},
        {"stream": "own_sweep:digits", "grid": {"epochs": [1, 2], "tasks": [2, 5]}},
        {"backbone": "own_sweep:Net", "grid": {"backbone.width": [4, 8], "lr": [0.1, 0.2]}, "epochs": 1},
        {"preset": "preset.yaml", "grid": {"method": ["er", "er-ace"]}},
    ],
)
def test_runs_are_found_without_importing_the_users_module(layout, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    (tmp_path / "own_sweep.py").write_text(OWN)
    (tmp_path / "preset.yaml").write_text("regularizer: own_sweep:Term\nown_sweep:Term: {weight: 3}")
    file = tmp_path / "sweep.yaml"
    file.write_text(to_yaml(layout))
    assert modules_of_sweep(file) == ["own_sweep"]
    configs = read_sweep(file)
    layouts = [{**config.as_dict(), "origin": dict(config.origin)} for config in configs]
    others = [resolve_config(values) for values in ({"seed": 7}, {"regularizer": ["own_sweep:Term"], "epochs": 77})]
    set_weight = {"regularizer": ["own_sweep:Term"], "own_sweep:Term.weight": 0.25}
    others += [resolve_config(set_weight)]
    layouts += [{**config.as_dict(), "origin": dict(config.origin)} for config in others]
    del sys.modules["own_sweep"]
    (tmp_path / "own_sweep.py").write_text("raise SystemExit('imported')")
    assert runs_of_sweep(file, layouts) == ({*range(len(configs))}, [])
    found, missing = runs_of_sweep(file, layouts[1:])
    assert found == {*range(len(configs) - 1)}
    assert missing
    assert "own_sweep" not in sys.modules


def test_errors_of_a_sweep_name_its_file(tmp_path):
    file = tmp_path / "sweep.yaml"
    file.write_text("grid: {seed: []}")
    for read in (read_sweep, modules_of_sweep, lambda path: runs_of_sweep(path, [])):
        with pytest.raises(ConfigError, match=r"sweep\.yaml: grid seed must be a list"):
            read(file)
