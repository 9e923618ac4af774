import pytest

from casper.config import METHODS, STREAMS, ConfigError, flattened, hyper_parameters, resolve_config
from casper.config.presets import (
    fitted_to_batch,
    fitted_to_epochs,
    packaged,
    paper_values,
    preset,
    protocol_values,
    unpublished_values,
    usual_protocol,
)

PAPER = ["split-cifar10", "split-cifar100", "split-mini-imagenet", "rotated-mnist"]


def chosen(**given):
    config = resolve_config(given)
    return {**flattened(config.as_dict())}, config.origin


def test_the_papers_streams_follow_the_paper_unless_asked_otherwise():
    assert [stream for stream in STREAMS if usual_protocol(stream)] == sorted(PAPER, key=list(STREAMS).index)
    assert chosen(stream="split-cifar100") == chosen(stream="split-cifar100", protocol="paper")
    assert chosen(stream="split-cifar100") != chosen(stream="split-cifar100", protocol="desk")


@pytest.mark.parametrize(
    ("stream", "backbone", "epochs", "batch_size", "milestones"),
    [
        ("split-cifar10", "resnet18", 20, 64, []),
        ("split-cifar100", "resnet18", 20, 64, []),
        ("split-mini-imagenet", "efficientnet-b2", 50, 64, [35, 45]),
        ("rotated-mnist", "mlp", 1, 128, []),
    ],
)
def test_the_papers_protocol(stream, backbone, epochs, batch_size, milestones):
    values, origin = chosen(stream=stream)
    found = [values[key] for key in ("backbone", "epochs", "batch_size", "milestones", "image_size")]
    assert found == [backbone, epochs, batch_size, milestones, None]
    assert values.get("backbone.width", 64) == 64
    assert origin["epochs"] == "protocol paper"
    given_by = "not published" if stream == "rotated-mnist" else f"paper {stream}"
    assert origin["lr"].startswith(given_by)


@pytest.mark.parametrize(
    ("stream", "buffer_size", "lr", "weight", "classes", "neighbors"),
    [
        ("split-cifar10", 500, 0.1, 0.01, 8, 8),
        ("split-cifar10", 1000, 0.1, 0.01, 8, 8),
        ("split-cifar100", 500, 0.1, 0.001, 16, 4),
        ("split-cifar100", 2000, 0.1, 0.01, 10, 6),
        ("split-mini-imagenet", 2000, 0.01, 0.01, 5, 10),
        ("split-mini-imagenet", 5000, 0.01, 0.01, 10, 6),
    ],
)
def test_the_papers_hyper_parameters_of_er_ace(stream, buffer_size, lr, weight, classes, neighbors):
    values, _ = chosen(stream=stream, buffer_size=buffer_size)
    keys = ("lr", "casper.weight", "casper.num_classes", "casper.num_neighbors")
    assert [values[key] for key in keys] == [lr, weight, classes, neighbors]


@pytest.mark.parametrize(
    ("stream", "finetune", "joint"),
    [("split-cifar10", 0.03, 0.1), ("split-cifar100", 0.1, 0.1), ("split-mini-imagenet", 0.3, 0.1)],
)
def test_the_papers_rates_without_a_memory(stream, finetune, joint):
    assert chosen(stream=stream, method="finetune")[0]["lr"] == finetune
    assert chosen(stream=stream, method="joint")[0]["lr"] == joint


@pytest.mark.parametrize(
    ("asked", "line"), [(500, 500), (1900, 2000), (100, 500), (1249, 500), (1250, 500), (1251, 2000), (10**6, 2000)]
)
def test_another_buffer_size_takes_the_nearest_line_and_says_so(asked, line):
    values, origin = paper_values("split-cifar100", "x-der", ["casper"], asked)
    assert values["casper.num_classes"] == {500: 16, 2000: 8}[line]
    said = "" if asked == line else f", nearest buffer {line}"
    assert origin == f"paper split-cifar100 {line} x-der casper{said}"
    notes = resolve_config({"stream": "split-cifar100", "method": "x-der", "buffer_size": asked}).notes
    expected = f"there is no line for --buffer-size {asked}: nearest buffer {line} is taken"
    assert (expected in notes) == (asked != line)
    own_rate = resolve_config({"stream": "split-cifar100", "method": "x-der", "buffer_size": asked, "lr": 0.2}).notes
    assert own_rate == notes


def test_a_method_without_a_line_takes_er_aces_and_says_so():
    values, origin = paper_values("split-cifar100", "er", ["casper"], 500)
    assert values["lr"] == 0.1
    assert origin == "not published, lent by paper split-cifar100 500 er-ace casper"


def test_a_method_without_memory_and_without_a_line_takes_finetunes_and_says_so():
    values, origin = paper_values("split-cifar10", "own:Method", [], None)
    assert (values["lr"], origin) == (0.03, "not published, lent by paper split-cifar10 no buffer finetune plain")
    assert paper_values("split-cifar10", "joint", [], None)[1] == "paper split-cifar10 no buffer joint plain"


@pytest.mark.parametrize(("buffer_size", "lr", "alpha", "beta"), [(200, 0.1, 1.0, 0.5), (500, 0.2, 0.5, 1.0)])
def test_what_the_paper_does_not_give_is_not_called_its_own(buffer_size, lr, alpha, beta):
    values, origin = paper_values("rotated-mnist", "der++", ["casper"], buffer_size)
    assert origin == f"not published rotated-mnist {buffer_size} der++ casper"
    assert (values["lr"], values["der++.alpha"], values["der++.beta"]) == (lr, alpha, beta)
    _, origin = paper_values("rotated-mnist", "own:Method", ["none"], buffer_size)
    assert origin == f"not published rotated-mnist {buffer_size} er-ace plain, for want of its own"


@pytest.mark.parametrize(("stream", "sizes"), [(PAPER[0], (500, 1000)), (PAPER[1], (500, 700)), (PAPER[2], (5000,))])
def test_a_method_of_its_tables_without_hyper_parameters_has_the_same_everywhere(stream, sizes):
    for size in sizes:
        given = {"stream": stream, "method": "scr", "buffer_size": size}
        values, origin = chosen(**given, regularizer=["none"])
        assert (values["lr"], origin["lr"]) == (0.1, "not published, SCR's released code")
        assert (values["scr.temperature"], origin["scr.temperature"]) == (0.07, "default")
        values, origin = chosen(**given, regularizer=["casper"])
        as_er_ace, _ = chosen(stream=stream, method="er-ace", buffer_size=size)
        assert (values["lr"], origin["lr"]) == (0.1, "not published, SCR's released code")
        assert origin["casper.weight"].startswith(f"not published, lent by paper {stream}")
        keys = ("casper.weight", "casper.num_classes", "casper.num_neighbors")
        assert [values[key] for key in keys] == [as_er_ace[key] for key in keys]


def test_such_settings_are_ones_that_the_method_has():
    for method, line in packaged("paper.yaml")["every stream"].items():
        assert line.keys() <= {*hyper_parameters(METHODS[method]), "lr", "origin"}


def test_streams_outside_the_paper_have_no_line():
    assert paper_values("split-digits", "er-ace", ["casper"], 500) == ({}, "")


LINES = [
    (stream, size, method, kind)
    for stream in PAPER
    if stream != "rotated-mnist"
    for size, methods in packaged("paper.yaml")[stream].items()
    for method, kinds in methods.items()
    for kind in kinds
]


def test_all_of_the_papers_lines_are_there():
    assert len(LINES) == 66
    methods = ["er-ace", "icarl", "der++", "x-der", "podnet"]
    sizes = {"split-cifar10": (500, 1000), "split-cifar100": (500, 2000), "split-mini-imagenet": (2000, 5000)}
    expected = {
        (stream, size, method, kind)
        for stream, both in sizes.items()
        for size in both
        for method in methods
        for kind in ("plain", "casper")
    }
    expected |= {(stream, "no buffer", method, "plain") for stream in sizes for method in ("finetune", "joint")}
    assert set(LINES) == expected


@pytest.mark.parametrize(("stream", "size", "method", "kind"), LINES)
def test_a_run_takes_exactly_its_line(stream, size, method, kind):
    line = packaged("paper.yaml")[stream][size][method][kind]
    given = {"stream": stream, "method": method, "regularizer": ["casper" if kind == "casper" else "none"]}
    config = resolve_config(given if size == "no buffer" else {**given, "buffer_size": size})
    values = {**flattened(config.as_dict())}
    where = f"paper {stream} {size} {method} {kind}"
    for key, value in line.items():
        found = {"lr": "lr"}.get(key, f"{method}.{key}")
        if key == "casper":
            for name, inner in value.items():
                assert (values[f"casper.{name}"], config.origin[f"casper.{name}"]) == (inner, where)
        else:
            assert (values[found], config.origin[found]) == (value, where)
    own = {"er-ace": 0, "finetune": 0, "joint": 0, "icarl": 1, "der++": 2, "x-der": 5, "podnet": 7}
    assert len([key for key in line if key not in ("lr", "casper")]) == own[method]
    assert ("casper" in line) == (kind == "casper")
    assert config.notes == ()


@pytest.mark.parametrize(
    ("stream", "size", "method", "weight", "classes", "neighbors"),
    [
        ("split-cifar10", 500, "icarl", 1e-3, 2, 20),
        ("split-cifar10", 1000, "der++", 1e-3, 10, 6),
        ("split-cifar100", 500, "icarl", 1e-3, 13, 5),
        ("split-cifar100", 500, "x-der", 1e-3, 16, 4),
        ("split-cifar100", 2000, "der++", 1e-3, 12, 5),
        ("split-cifar100", 2000, "podnet", 1e-2, 10, 6),
        ("split-mini-imagenet", 2000, "icarl", 1e-4, 5, 12),
        ("split-mini-imagenet", 5000, "podnet", 1e-2, 20, 3),
    ],
)
def test_the_papers_settings_of_casper_beside_other_methods(stream, size, method, weight, classes, neighbors):
    values, _ = chosen(stream=stream, buffer_size=size, method=method)
    keys = ("casper.weight", "casper.num_classes", "casper.num_neighbors")
    assert [values[key] for key in keys] == [weight, classes, neighbors]


def test_the_control_takes_the_line_of_casper_and_others_the_plain_one():
    assert paper_values("split-cifar10", "icarl", ["forward-only"], 500)[1] == "paper split-cifar10 500 icarl casper"
    assert paper_values("split-cifar10", "icarl", ["own:Regularizer"], 500)[1] == "paper split-cifar10 500 icarl plain"
    assert paper_values("split-cifar10", "icarl", ["none"], 500)[1] == "paper split-cifar10 500 icarl plain"


def test_what_is_fitted_to_another_batch_size_or_length_says_so():
    _, origin = chosen(stream="split-cifar100", method="x-der", batch_size=32)
    where = "paper split-cifar100 500 x-der casper"
    assert origin["casper.num_classes"] == f"not published, {where}, fitted to batch size"
    assert origin["casper.num_neighbors"] == origin["casper.weight"] == where
    _, origin = chosen(stream="split-mini-imagenet", epochs=10)
    assert origin["milestones"] == "protocol paper, fitted to epochs"
    assert origin["gamma"] == "protocol paper"
    _, origin = chosen(stream="split-digits", batch_size=16)
    assert origin["casper.num_classes"] == "preset split-digits, chosen here on seeds 100-104, fitted to batch size"


def test_a_setting_of_ones_own_wins():
    values, origin = chosen(stream="split-cifar100", method="x-der", **{"x-der.alpha": 0.9})
    assert (values["x-der.alpha"], origin["x-der.alpha"]) == (0.9, "user")


def test_another_batch_size_fits_the_draw():
    values, _ = chosen(stream="split-cifar100", batch_size=16)
    assert (values["casper.num_classes"], values["casper.num_neighbors"]) == (4, 4)
    assert values["forward-only.num_classes" if "forward-only.num_classes" in values else "casper.num_classes"] == 4


@pytest.mark.parametrize("stream", PAPER)
def test_the_desk_keeps_hyper_parameters_and_buffers(stream):
    desk, origin = chosen(stream=stream, protocol="desk")
    paper, _ = chosen(stream=stream)
    same = ["buffer_size", "batch_size", "casper.weight", "casper.num_classes", "casper.num_neighbors"]
    if stream != "split-mini-imagenet":  # whose rate is said to differ
        same.append("lr")
    assert [desk[key] for key in same] == [paper[key] for key in same]
    assert desk["epochs"] <= paper["epochs"]
    assert origin["epochs"] == "protocol desk"


def test_the_desk_on_a_stream_that_is_small_already_is_its_preset():
    assert resolve_config({"protocol": "desk"}) == resolve_config({})


def test_the_desk_on_any_other_stream_is_its_preset_too(tmp_path):
    given = {"stream": f"folder:{tmp_path}", "tasks": 2}
    assert resolve_config({**given, "protocol": "desk"}) == resolve_config(given)
    values, origin = chosen(**given)
    assert (values["backbone"], values["epochs"]) == ("convnet", 4)
    assert origin["casper.weight"].startswith("preset any")
    assert protocol_values("desk", "own:stream", "er") == {}


def test_the_control_draws_as_many_classes_as_casper():
    values, _ = chosen(stream="split-cifar100", regularizer=["forward-only"])
    assert values["forward-only.num_classes"] == 16


def test_settings_of_any_stream_stay_out_of_the_paper():
    values, origin = chosen(stream="split-cifar100", protocol="paper", backbone="convnet")
    assert (values["backbone.width"], origin["backbone.width"]) == (16, "default")
    assert not any(where.startswith("preset") for where in origin.values())


def test_the_same_backbone_by_name_keeps_the_width():
    given = {"stream": "split-digits", "backbone": "convnet"}
    assert resolve_config(given, {"backbone": "convnet", "backbone.width": 7}).hyper["backbone"] == {"width": 7}
    assert resolve_config({"backbone": "mlp"}, {"backbone": "convnet", "backbone.width": 7}).hyper["backbone"] == {
        "hidden": 100
    }


def test_a_file_may_carry_settings_of_other_parts():
    other = {"folder:elsewhere.flip": True, "casper.weight": 0.5, "own:Method.strength": 1.0}
    assert resolve_config({}, other).hyper["casper"]["weight"] == 0.5


def test_what_the_user_says_is_stronger():
    values, origin = chosen(stream="split-cifar100", protocol="desk", epochs=8, image_size=32, lr=0.3)
    assert [values[key] for key in ("epochs", "image_size", "lr", "milestones")] == [8, 32, 0.3, [6]]
    assert origin["epochs"] == "user"
    values, _ = chosen(stream="split-cifar100", protocol="desk", milestones=[1])
    assert values["milestones"] == [1]


def test_another_backbone_does_not_inherit_the_width():
    values, _ = chosen(stream="split-cifar100", protocol="desk", backbone="resnet18")
    assert values["backbone.width"] == 64
    values, _ = chosen(stream="split-cifar100", protocol="desk", backbone="mlp")
    assert "backbone.width" not in values


def test_a_file_may_choose_the_protocol():
    assert resolve_config({}, {"stream": "split-cifar100", "protocol": "desk"}).options.epochs == 4
    config = resolve_config({"stream": "split-cifar100", "protocol": "desk"})
    assert resolve_config({}, flattened(config.as_dict())) == config


def test_complaints():
    with pytest.raises(ConfigError, match="--protocol paper needs a stream of the paper"):
        resolve_config({"protocol": "paper"})
    with pytest.raises(ConfigError, match="unknown protocol 'pape'; did you mean 'paper'"):
        resolve_config({"protocol": "pape"})


def test_every_line_names_a_method():
    for lines in (packaged("paper.yaml")[stream] for stream in PAPER):
        for methods in (value for key, value in lines.items() if key != "origin"):
            assert methods.keys() <= METHODS.keys()
            for method, kinds in methods.items():
                own = {*hyper_parameters(METHODS[method]), "lr", "casper"}
                assert all(line.keys() <= own for line in kinds.values())


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


def test_the_control_of_a_preset_draws_as_many_classes_as_casper():
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
