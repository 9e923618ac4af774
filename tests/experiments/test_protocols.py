import pytest

from casper.experiments import METHODS, STREAMS, ConfigError, flattened, resolve_config
from casper.experiments.protocols import packaged, paper_values, protocol_values, usual_protocol

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


def test_another_buffer_size_takes_the_nearest_line_and_says_so():
    values, origin = paper_values("split-cifar100", "er-ace", 1900)
    assert values["casper.num_classes"] == 10
    assert origin == "paper split-cifar100 2000 er-ace, nearest buffer 2000"


def test_a_method_without_a_line_takes_er_aces_and_says_so():
    values, origin = paper_values("split-cifar100", "er", 500)
    assert values["lr"] == 0.1
    assert origin == "paper split-cifar100 500 er-ace, er-ace's"
    assert not any(key.startswith("er-ace.") for key in values)


def test_a_method_without_memory_and_without_a_line_takes_finetunes_and_says_so():
    values, origin = paper_values("split-cifar10", "own:Method", None)
    assert (values["lr"], origin) == (0.03, "paper split-cifar10 no buffer finetune, finetune's")
    assert paper_values("split-cifar10", "joint", None)[1] == "paper split-cifar10 no buffer joint"


def test_what_the_paper_does_not_give_is_not_called_its_own():
    assert paper_values("rotated-mnist", "er-ace", 200)[1].startswith("not published, chosen here")


def test_streams_outside_the_paper_have_no_line():
    assert paper_values("split-digits", "er-ace", 500) == ({}, "")


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
    assert protocol_values("desk", "own:stream") == {}


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
    with pytest.raises(ConfigError, match="--protocol paper should go with a stream of the paper"):
        resolve_config({"protocol": "paper"})
    with pytest.raises(ConfigError, match="unknown protocol 'pape'; did you mean 'paper'"):
        resolve_config({"protocol": "pape"})


def test_every_line_names_a_method():
    for lines in packaged("paper.yaml").values():
        for methods in (value for key, value in lines.items() if key != "origin"):
            assert methods.keys() <= METHODS.keys()
