from dataclasses import replace

import numpy as np
import pytest

from casper import ERACE, CaSpeR, rotated_digits, split_digits
from casper.config import ConfigError, resolve_config
from casper.runs import build_trainer


def test_everything_in_the_configuration_reaches_the_trainer():
    given = {
        "lr": 0.2,
        "epochs": 2,
        "batch_size": 16,
        "buffer_size": 30,
        "seed": 4,
        "precision": "bf16",
        "recalibrate": True,
        "milestones": [1],
        "gamma": 0.5,
        "backbone.width": 4,
        "casper.weight": 0.7,
        "casper.num_classes": 5,
        "tasks": 2,
    }
    trainer = build_trainer(resolve_config(given))
    assert isinstance(trainer.method, ERACE)
    (part,) = trainer.regularizers
    assert isinstance(part, CaSpeR)
    assert (part.weight, part.replay.num_classes) == (0.7, 5)
    assert (trainer.lr, trainer.epochs, trainer.batch_size, trainer.seed) == (0.2, 2, 16, 4)
    assert (trainer.milestones, trainer.gamma, trainer.net.precision) == ((1,), 0.5, "bf16")
    assert trainer.memory.capacity == 30
    assert trainer.net.backbone.dim == 32
    assert trainer.evaluator.recalibrated_record is not None
    assert len(trainer.stream) == 2


def test_the_seed_reaches_a_stream_that_takes_one():
    trainer = build_trainer(resolve_config({"stream": "rotated-digits", "seed": 3}))
    expected = rotated_digits(seed=3)[1].train.images
    assert (trainer.stream[1].train.images == expected).all()


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"buffer_size": 0}, "--buffer-size must be at least 1 for a method that rehearses, but got 0"),
        ({"casper.num_classes": 0}, "casper.num_classes must be at least 1, but got 0"),
        ({"casper.num_neighbors": 0}, "casper.num_neighbors must be at least 1, but got 0"),
        ({"casper.num_classes": 32}, "casper.num_classes must be less than the draw of 32 items, but got 32"),
        ({"casper.num_neighbors": 99}, "casper.num_neighbors must be less than the draw of 32 items, but got 99"),
        ({"casper.weight": -1.0}, "casper.weight must be a finite number, at least 0, but got -1.0"),
        ({"backbone.width": 0}, "backbone.width must be at least 1, but got 0"),
        ({"tasks": 3}, "--tasks must be a divisor of the number of classes, 10"),
        ({"method": "icarl", "buffer_size": 9}, "--buffer-size must be at least 10, one per class, but got 9"),
        ({"method": "podnet", "podnet.scale": 0.0}, "podnet.scale must be a positive finite number, but got 0.0"),
        ({"method": "podnet", "backbone": "mlp"}, "--backbone must be one with stage maps, such as convnet"),
        (
            {"method": "x-der", "stream": "rotated-digits"},
            "--stream must be class-incremental for XDER, but got a domain",
        ),
        ({"backbone": "resnet18"}, "--backbone resnet18 needs images of at least 9 x 9 pixels, but got (1, 8, 8)"),
    ],
)
def test_what_a_part_refuses_is_named_by_its_key(given, complaint):
    with pytest.raises(ConfigError) as caught:
        build_trainer(resolve_config(given))
    assert complaint in str(caught.value)


@pytest.mark.parametrize("given", [{"backbone.width": 10**9}, {"backbone.width": 10**30}])
def test_what_does_not_fit_into_the_machine_is_one_line(given):
    with pytest.raises(ConfigError, match="cannot be allocated") as caught:
        build_trainer(resolve_config(given))
    assert "\n" not in str(caught.value)


def test_classes_times_neighbors_beyond_the_draw_are_allowed():
    build_trainer(resolve_config({"casper.num_classes": 13, "casper.num_neighbors": 5}))


def test_a_users_own_class_may_complain_in_its_own_words(tmp_path, monkeypatch):
    text = "from casper import ERACE\nclass Picky(ERACE):\n    def __init__(self, *, taste: int = 0):\n"
    (tmp_path / "own_picky.py").write_text(text + "        raise ValueError('taste is missing')\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="own_picky:Picky rejects its hyper-parameters: taste is missing"):
        build_trainer(resolve_config({"method": "own_picky:Picky"}))


def test_a_draw_that_cannot_be_met_comes_with_a_way_out():
    with pytest.raises(ConfigError) as caught:
        build_trainer(resolve_config({"method": "der++", "batch_size": 7}))
    hint = "--set casper.num_neighbors=VALUE or --regularizer none may help"
    assert str(caught.value) == f"casper.num_neighbors must be less than the draw of 7 items, but got 7; {hint}"


def test_a_methods_own_argument_is_named_by_its_key_even_where_the_stream_decides(tmp_path):
    images, labels = np.zeros((24, 8, 12), np.uint8), np.arange(24) % 4
    np.savez(tmp_path / "own.npz", x_train=images, y_train=labels, x_test=images, y_test=labels)
    given = {"stream": f"npz:{tmp_path / 'own.npz'}", "tasks": 2, "method": "icarl", "icarl.released": True}
    with pytest.raises(ConfigError, match=r"icarl\.released must be false for images of 8 x 12"):
        build_trainer(resolve_config(given))


def test_what_needs_no_images_is_refused_before_they_are_opened(tmp_path):
    given = {"stream": "split-cifar100", "casper.num_neighbors": 99}
    with pytest.raises(ConfigError, match="num_neighbors must be less than the draw of 64"):
        build_trainer(resolve_config(given), data_dir=str(tmp_path / "nowhere"))


def test_a_validation_split_takes_the_place_of_the_test_images(monkeypatch):
    def whole(*_, **__):
        made = split_digits(num_tasks=2)
        return replace(
            made,
            make_task=lambda number: replace(
                made.make_task(number), make_test=lambda: pytest.fail("made the test images")
            ),
        )

    monkeypatch.setattr("casper.streams.split_digits", whole)
    trainer = build_trainer(resolve_config({"validation": 0.2, "epochs": 1, "backbone.width": 4, "method": "er"}))
    metrics = trainer.run()
    assert metrics["class_il"]["final_average_accuracy"] > 0
    held_out, kept = trainer.stream[0].test, trainer.stream[0].train
    assert 0.19 < len(held_out) / (len(held_out) + len(kept)) < 0.21


def test_what_is_shown_may_be_another_stream():
    trainer = build_trainer(resolve_config({"validation": 0.2}), shown=lambda stream: stream[:1])
    assert len(trainer.stream) == 1


@pytest.mark.parametrize(("given", "left"), [({"labels": 0.1}, 0.1), ({"labels_per_class": 3}, None)])
def test_labels_are_hidden_as_asked_and_by_the_seed(given, left):
    def labels(**changes):
        trainer = build_trainer(resolve_config({**given, "seed": 5, **changes}))
        assert trainer.method.hides_labels
        return trainer.stream[1].train.labels

    whole = split_digits()[1].train.labels
    counts = [int((labels() == label).sum()) for label in (2, 3)]
    assert counts == [3 if left is None else round(left * int((whole == label).sum())) for label in (2, 3)]
    assert labels().equal(labels())
    assert not labels().equal(labels(seed=6))


def test_held_out_images_keep_their_labels():
    trainer = build_trainer(resolve_config({"labels_per_class": 3, "validation": 0.2}))
    task = trainer.stream[0]
    assert (task.test.labels >= 0).all()
    assert int((task.train.labels >= 0).sum()) == 6


def test_a_domain_stream_has_no_hidden_labels():
    with pytest.raises(ConfigError, match="--labels must be used with a class stream, but got a domain-incremental"):
        build_trainer(resolve_config({"stream": "rotated-digits", "labels": 0.1}))
