import pytest

from casper.config import ConfigError, flattened, parse_settings, resolve_config


@pytest.mark.parametrize(
    "given", [{"tasks": 0}, {"tasks": 2.5}, {"class_order": "random"}, {"image_size": 0}, {"image_size": "big"}]
)
def test_values_that_make_no_sense(given):
    with pytest.raises(ConfigError, match=f"--{next(iter(given)).replace('_', '-')}"):
        resolve_config(given)


def test_an_order_of_ones_own():
    order = [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]
    assert resolve_config({"class_order": order}).options.class_order == order


def test_the_stronger_layer_wins_and_every_origin_is_told():
    config = resolve_config({"lr": 0.5, "casper.weight": 2}, {"lr": 0.4, "epochs": 9, "casper.num_classes": 3})
    assert (config.options.lr, config.options.epochs, config.hyper["casper"]["num_classes"]) == (0.5, 9, 3)
    origin = config.origin
    assert (origin["lr"], origin["casper.weight"], origin["epochs"]) == ("user", "user", "file")
    assert origin["batch_size"].startswith("preset split-digits")
    assert (origin["seed"], origin["casper.sampling"]) == ("default", "default")
    layout = config.as_dict()
    assert set(origin) == set(flattened(layout))


def test_a_configuration_read_back_is_the_same():
    config = resolve_config({"seed": 5, "casper.weight": 0.2, "backbone.width": 8, "milestones": [2]})
    again = resolve_config({}, flattened(config.as_dict()))
    assert again == config
    assert again.hash == config.hash


@pytest.mark.parametrize("given", [{"method": "finetune"}, {"regularizer": ["none"]}, {"stream": "rotated-digits"}])
def test_other_configurations_read_back_are_the_same(given):
    config = resolve_config(given)
    assert resolve_config({}, flattened(config.as_dict())) == config


def test_flags_over_a_file_may_leave_out_its_regularizer():
    config = resolve_config({"regularizer": ["none"]}, flattened(resolve_config({}).as_dict()))
    assert config.options.regularizer == []
    assert "casper" not in config.hyper


def test_without_a_memory_the_default_regularizer_is_left_out_with_a_note():
    config = resolve_config({"method": "finetune"})
    assert config.options.regularizer == []
    assert config.options.buffer_size == 0
    assert "without casper, the default regularizer: finetune keeps no memory" in config.notes


@pytest.mark.parametrize("layer", [0, 1])
def test_without_a_memory_a_regularizer_asked_for_is_refused(layer):
    layers = [{"method": "joint"}, {}]
    layers[layer]["regularizer"] = ["casper"]
    with pytest.raises(ConfigError, match="--regularizer casper needs a memory, but --method joint has none"):
        resolve_config(*layers)


def test_options_without_effect_are_noted():
    notes = resolve_config({"method": "finetune", "buffer_size": 10, "recalibrate": True}).notes
    assert any("--buffer-size has no effect" in note for note in notes)
    assert any("--recalibrate has no effect" in note for note in notes)


def test_another_batch_size_fits_the_draw():
    assert resolve_config({"batch_size": 16}).hyper["casper"]["num_classes"] == 4
    assert resolve_config({"batch_size": 16, "casper.num_classes": 3}).hyper["casper"]["num_classes"] == 3


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"epochs": 0}, "--epochs must be at least 1, but got 0"),
        ({"epochs": 2.5}, "--epochs must be a valid integer"),
        ({"epochs": True}, "--epochs must be a valid integer, but got True"),
        ({"batch_size": -1}, "--batch-size must be at least 1, but got -1"),
        ({"buffer_size": -5}, "--buffer-size must be at least 0, but got -5"),
        ({"lr": float("nan")}, "--lr must be a finite number, but got nan"),
        ({"lr": float("inf")}, "--lr must be a finite number, but got inf"),
        ({"lr": 0}, "--lr must be greater than 0, but got 0"),
        ({"lr": "fast"}, "--lr must be a valid number, but got 'fast'"),
        ({"seed": -1}, "--seed must be at least 0"),
        ({"precision": "fp8"}, "--precision must be 'fp32' or 'bf16', but got 'fp8'"),
        ({"stream": "split-digit"}, "unknown stream 'split-digit'; did you mean 'split-digits'?"),
        ({"method": "icarus"}, "unknown method 'icarus'"),
        ({"regularizer": ["caspar"]}, "unknown regularizer 'caspar'; did you mean 'casper'?"),
        ({"regularizer": ["none", "casper"]}, "--regularizer none must be the only one, but got none, casper"),
        ({"regularizer": ["casper", "casper"]}, "--regularizer must name each regularizer once"),
        ({"backbone": "resnet"}, "unknown backbone 'resnet'"),
        ({"casper.weigth": 1}, "unknown key 'casper.weigth'; did you mean 'casper.weight'?"),
        ({"learning_rate": 1}, "unknown key 'learning_rate'"),
        (
            {"regularizer": ["none"], "casper.weight": 1},
            "casper.weight needs --regularizer casper, which is not in this run",
        ),
        ({"casper.weight": "much"}, "casper.weight must be a valid number, but got 'much'"),
        ({"casper.num_neighbors": 1.5}, "casper.num_neighbors must be a valid integer"),
        ({"casper.sampling": "some"}, "casper.sampling must be 'balanced', 'uniform' or 'all', but got 'some'"),
        ({"milestones": [0]}, "--set milestones must be at least 1, but got 0"),
        ({"method": "derpp"}, "unknown method 'derpp'; did you mean 'der++'?"),
        ({"method": "iCaRL"}, "unknown method 'iCaRL'; did you mean 'icarl'?"),
        ({"method": "xder"}, "unknown method 'xder'; did you mean 'x-der'?"),
        ({"method": "podnt"}, "unknown method 'podnt'; did you mean 'podnet'?"),
        ({"method": "icarl", "l2": True}, "unknown key 'l2'; did you mean 'icarl.l2'?"),
        ({"method": "podnet", "podnet.lambda_c": 1.0}, "unknown key 'podnet.lambda_c'; valid:"),
        ({"method": "podnet", "podnet.scal": 1.0}, "unknown key 'podnet.scal'; did you mean 'podnet.scale'?"),
    ],
)
def test_bad_values_are_one_line(given, complaint):
    with pytest.raises(ConfigError) as caught:
        resolve_config(given)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_with_an_unknown_key_is_refused():
    with pytest.raises(ConfigError, match=r"unknown key 'casper\.wait'"):
        resolve_config({}, {"casper.wait": 1})


def test_a_required_hyper_parameter_without_a_preset_is_asked_for(tmp_path, monkeypatch):
    text = "from casper import ER\nclass Mine(ER):\n    def __init__(self, *, strength: float):\n        pass\n"
    (tmp_path / "own_method.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"own_method:Mine\.strength must be given; .* use --set .*strength=VALUE"):
        resolve_config({"method": "own_method:Mine"})


def test_a_stream_of_ones_own_has_settings(tmp_path, monkeypatch):
    text = "from casper import TaskStream, split_digits\ndef mine() -> TaskStream:\n    return split_digits()\n"
    (tmp_path / "own_stream.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    config = resolve_config({"stream": "own_stream:mine"})
    assert config.origin["casper.weight"].startswith("preset any")
    assert config.options.tasks is None


def test_settings_are_yaml_values():
    settings = ["casper.weight=1e-3", "a = true", "b=[1, 2]", "c=text", "d=null", "e=x=y"]
    expected = {"casper.weight": 1e-3, "a": True, "b": [1, 2], "c": "text", "d": None, "e": "x=y"}
    assert parse_settings(settings) == expected


@pytest.mark.parametrize(
    "setting",
    ["no-equals", "=3", "a=[1", "a=!!timestamp x", "a=" + "[" * 5000, "a=!!python/object/apply:os.system ['true']"],
)
def test_settings_that_are_none_are_refused(setting):
    with pytest.raises(ConfigError, match="--set"):
        parse_settings([setting])


@pytest.mark.parametrize("second", ["epochs=4", " epochs = 4", "epochs=3"])
def test_a_setting_given_twice_is_an_error(second):
    with pytest.raises(ConfigError) as caught:
        parse_settings(["epochs=3", "lr=0.1", second])
    assert str(caught.value) == f"epochs must be given once, but got 3 and {second[-1]}"


def test_a_files_choices_are_fitted_to_as_well():
    config = resolve_config({}, {"stream": "split-cifar100", "batch_size": 16})
    assert config.hyper["casper"]["num_classes"] == 4
    assert resolve_config({}, {"stream": "split-mini-imagenet", "epochs": 10}).options.milestones == [7, 9]


def test_the_nearest_line_is_said_without_casper_too():
    notes = resolve_config({"stream": "split-cifar100", "regularizer": ["none"], "buffer_size": 1900}).notes
    assert notes == ("there is no line for --buffer-size 1900: nearest buffer 2000 is taken",)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"labels": 0.1, "labels_per_class": 4}, "--labels and --labels-per-class must not both be given"),
        (
            {"labels": 0.1, "method": "icarl"},
            r"--labels needs a method that uses unlabelled images \(er-ace, .*\), but got icarl",
        ),
        ({"labels_per_class": 4, "method": "er"}, "--labels-per-class needs a method that uses unlabelled images"),
        ({"labels": 1.0}, "--labels must be less than 1, but got 1"),
        ({"labels": 0}, "--labels must be greater than 0, but got 0"),
        ({"labels_per_class": 0}, "--labels-per-class must be at least 1, but got 0"),
    ],
)
def test_hidden_labels_that_make_no_sense_are_refused(given, complaint):
    with pytest.raises(ConfigError, match=complaint):
        resolve_config(given)


def test_a_protocol_without_settings_for_the_stream_is_noted():
    assert resolve_config({"stream": "split-digits", "protocol": "desk"}).notes == (
        "--protocol desk has no effect: it has no settings for split-digits, whose preset is used",
    )
    assert resolve_config({"stream": "split-cifar100", "protocol": "desk"}).notes == ()
    assert resolve_config({"stream": "split-digits"}).notes == ()


def test_a_hyper_parameter_of_a_part_that_is_not_in_the_run_says_so():
    with pytest.raises(ConfigError, match=r"^casper\.weight needs --regularizer casper, which is not in this run$"):
        resolve_config({"regularizer": "none", "casper.weight": 0.1})
    with pytest.raises(ConfigError, match=r"^der\+\+\.alpha needs --method der\+\+, which is not in this run$"):
        resolve_config({"der++.alpha": 0.1})


AUTHORS = {"stream_gap": "asked", "stream_neighbors": "classes"}


def streams_term(config):
    return {name: config.hyper["casper"][name] for name in AUTHORS}


@pytest.mark.parametrize("labels", [{"labels": 0.05}, {"labels_per_class": 4}])
def test_hidden_labels_write_the_authors_reading_of_the_streams_term(labels):
    config = resolve_config({"method": "pser-ace", **labels})
    assert streams_term(config) == AUTHORS
    assert config.origin["casper.stream_gap"] == "the authors' development code"
    given = resolve_config(
        {"method": "pser-ace", **labels, "casper.stream_neighbors": 6, "casper.stream_gap": "classes"}
    )
    assert streams_term(given) == {"stream_gap": "classes", "stream_neighbors": 6}


def test_a_file_with_one_of_the_two_settings_has_the_same_reading_as_the_command_line():
    values = {"method": "er-ace", "labels_per_class": 4, "casper.stream_neighbors": 5}
    config = resolve_config({}, values)
    assert streams_term(config) == {"stream_gap": "asked", "stream_neighbors": 5}
    assert config.hash == resolve_config(values).hash


def test_runs_with_all_labels_and_files_of_earlier_versions_keep_their_names():
    assert set(streams_term(resolve_config({})).values()) == {None}
    assert resolve_config({}).name == "split-digits-er-ace-casper-0-e9e9b1bf"
    before = flattened(resolve_config({"method": "pser-ace", "labels": 0.05}).as_dict())
    before["casper.stream_neighbors"] = None
    del before["casper.stream_gap"]
    assert set(streams_term(resolve_config({}, before)).values()) == {None}
    now = flattened(resolve_config({"method": "pser-ace", "labels": 0.05}).as_dict())
    assert streams_term(resolve_config({}, now)) == AUTHORS
