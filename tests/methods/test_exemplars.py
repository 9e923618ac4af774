from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from casper import CaSpeR, rotated_digits, split_digits
from casper.methods import ICaRL, PODNet
from casper.nets import class_means, features_of, nearest_mean_scores
from casper.step import Progress
from casper.types import Batch
from support import REGULARIZER_ARGUMENTS, one_step, small_trainer, without_augmentation

BOTH = pytest.mark.parametrize(
    "make", [ICaRL, lambda **changes: PODNet(num_proxies=3, **changes)], ids=["icarl", "podnet"]
)


def eval_features(net, transform, images):
    training = net.training
    net.eval()
    with torch.no_grad():
        features = net((images.float() / 255 - transform.mean[0]) / transform.std[0]).features
    net.train(training)
    return features


def literal_herding(features, size):
    features, chosen = features.double(), []
    mean = features.mean(dim=0)
    for _ in range(size):
        rest = [row for row in range(len(features)) if row not in chosen]
        chosen.append(min(rest, key=lambda row: (mean - features[[*chosen, row]].mean(dim=0)).norm().item()))
    return chosen


@BOTH
def test_memory_after_every_task(make):
    trainer = small_trainer(make(), stream=split_digits(), buffer_size=50)
    for number in range(5):
        before = {label: trainer.memory.images[trainer.memory.labels == label] for label in range(2 * number)}
        trainer.run_phase()
        seen = 2 * (number + 1)
        quota = 50 // seen
        assert trainer.memory.labels.tolist() == [label for label in range(seen) for _ in range(quota)]
        assert len(trainer.memory) == quota * seen
        assert trainer.memory.index.counts == dict.fromkeys(range(seen), quota)
        for label, images in before.items():  # old classes keep their first ones, in order
            assert torch.equal(trainer.memory.images[trainer.memory.labels == label], images[:quota])
        task = trainer.stream[number]
        for label in task.classes:  # new ones are herded under the network as it is, each image once
            images = task.train.images[task.train.labels == label]
            features = eval_features(trainer.net, trainer.stream.transform, images)
            expected = images[literal_herding(features, quota)]
            assert torch.equal(trainer.memory.images[trainer.memory.labels == label], expected)


@BOTH
def test_a_class_with_fewer_images_than_its_quota_gives_what_it_has(make):
    trainer = small_trainer(make(), stream=split_digits()[:1], buffer_size=500)
    trainer.run_phase()
    assert len(trainer.memory) == len(trainer.stream[0].train)


@BOTH
def test_epochs_run_over_new_images_and_exemplars(make):
    trainer = small_trainer(make(), buffer_size=20)
    first, second = trainer.stream
    assert trainer.method.training_set(first) is first.train
    trainer.run_phase()
    mixed = trainer.method.training_set(second)
    assert len(mixed) == len(second.train) + 20
    assert torch.equal(mixed.images[-20:], trainer.memory.images)
    assert torch.equal(mixed.labels[-20:], trainer.memory.labels)
    assert torch.equal(mixed.images[:-20], second.train.images)


@BOTH
def test_the_teacher_is_the_network_at_the_end_of_the_task_before(make):
    trainer = small_trainer(make())
    trainer.run_phase()
    assert not trainer.method.teacher.training
    at_the_end = {name: value.clone() for name, value in trainer.net.state_dict().items()}
    passes = []
    forward = trainer.method.forward
    trainer.method.forward = lambda step: passes.append((step, forward(step))) or passes[-1][1]
    old = trainer.method.teacher
    trainer.run_phase()
    assert all(torch.equal(value, at_the_end[name]) for name, value in old.state_dict().items())
    assert trainer.method.teacher is not old
    for step, outputs in passes:
        assert torch.equal(outputs["teacher"].logits, old(step.stream.inputs).logits)
        assert not outputs["teacher"].logits.requires_grad


@BOTH
def test_prediction_goes_to_the_nearest_mean_of_the_exemplars(make):
    trainer = small_trainer(make())
    trainer.run()
    transform, memory = trainer.stream.transform, trainer.memory
    images = trainer.stream[1].test.images
    features = eval_features(trainer.net, transform, images)
    stored = eval_features(trainer.net, transform, memory.images)
    scores = trainer.method.predict(images)
    assert scores.shape == (len(images), 10)
    assert scores[:, 4:].isneginf().all()
    for label in range(4):
        mean = stored[memory.labels == label].mean(dim=0)
        if isinstance(trainer.method, PODNet):
            mean, compared = mean / mean.norm(), features / features.norm(dim=1, keepdim=True)
        else:
            compared = features
        expected = -((compared - mean) ** 2).sum(dim=1)
        torch.testing.assert_close(scores[:, label], expected, rtol=1e-4, atol=1e-5)


def test_with_l2_everything_is_scaled_to_length_one():
    trainer = small_trainer(ICaRL(l2=True))
    trainer.run()
    transform, memory, images = trainer.stream.transform, trainer.memory, trainer.stream[1].test.images
    stored = F.normalize(eval_features(trainer.net, transform, memory.images))
    features = F.normalize(eval_features(trainer.net, transform, images))
    scores = trainer.method.predict(images)
    for label in range(4):
        mean = F.normalize(stored[memory.labels == label].mean(dim=0), dim=0)
        torch.testing.assert_close(scores[:, label], -((features - mean) ** 2).sum(dim=1), rtol=1e-4, atol=1e-5)
    task = trainer.stream[1]
    of_class = task.train.images[task.train.labels == 2]
    herded = literal_herding(F.normalize(eval_features(trainer.net, transform, of_class)), 5)
    assert torch.equal(memory.images[memory.labels == 2], of_class[herded])


@BOTH
def test_an_untrained_method_has_no_score(make):
    for released in (True, False):
        trainer = small_trainer(make(released=released))
        assert trainer.method.predict(trainer.stream[0].test.images).isneginf().all()
    metrics = trainer.run()["class_il"]
    assert metrics["forward_transfer"] is None
    assert metrics["untrained_accuracy"] == [None, None]


@BOTH
def test_means_are_computed_once_and_again_when_network_or_memory_changes(make, monkeypatch):
    trainer = small_trainer(make(), stream=split_digits()[:3])
    trainer.run_phase()
    trainer.run_phase()
    method, images, task = trainer.method, trainer.stream[0].test.images, trainer.stream[2]
    computed = []
    compute = method._class_means
    monkeypatch.setattr(method, "_class_means", lambda: computed.append(1) or compute())

    def assert_fresh():
        means = class_means(
            features_of(trainer.net, trainer.memory.images, method.transform.test), trainer.memory.labels, 10
        )
        features = features_of(trainer.net, images, method.transform.test)
        expected = (
            nearest_mean_scores(F.normalize(features), F.normalize(means))
            if method.unit_means
            else nearest_mean_scores(features, means)
        )
        torch.testing.assert_close(method.predict(images), expected)

    for _ in range(3):
        assert_fresh()
    assert computed == []  # since the evaluation of the last task
    batch = Batch(task.train.images[:16], task.train.labels[:16], trainer.stream.transform.test(task.train.images[:16]))
    method.observe(batch, task, Progress(0, 1, 0), trainer.make_optimizer())
    assert_fresh()
    method.end_task(task)
    assert trainer.memory.index.classes == [0, 1, 2, 3, 4, 5]
    assert_fresh()
    method.load_state_dict(method.state_dict())  # means are part of it
    assert_fresh()
    assert len(computed) == 2


@BOTH
def test_a_copy_with_another_network_has_separate_means(make):
    trainer = small_trainer(make(), recalibrate=True)
    trainer.run()
    other = small_trainer(make(), seed=8)
    images = trainer.stream[0].test.images
    own = trainer.method.predict(images)
    twin = trainer.method.with_net(other.net)
    assert not torch.equal(twin.predict(images)[:, :4], own[:, :4])
    assert torch.equal(trainer.method.predict(images), own)


@BOTH
def test_a_memory_too_small_for_all_classes_is_refused(make):
    with pytest.raises(ValueError, match=r"`buffer_size` must be at least 4, one per class, but got 3"):
        small_trainer(make(), buffer_size=3)


@BOTH
def test_domain_streams_are_refused(make):
    with pytest.raises(ValueError, match="class-incremental for"):
        small_trainer(make(), stream=rotated_digits())


@BOTH
def test_released_exemplars_are_transposed_and_blank_rows_join_class_0(make):
    stream = without_augmentation(split_digits())
    trainer = small_trainer(make(released=True), stream=stream, buffer_size=22)
    trainer.run_phase()
    mixed = trainer.method.training_set(stream[1])
    assert torch.equal(mixed.images[-22:], trainer.memory.images.transpose(2, 3))
    assert not torch.equal(mixed.images[-22:], trainer.memory.images)
    trainer.run_phase()  # 4 classes with 5 rows each, 2 blank rows
    memory, method = trainer.memory, trainer.method
    assert len(memory) == 20
    blank = torch.zeros(2, 1, 8, 8, dtype=torch.uint8)
    stored = eval_features(trainer.net, stream.transform, torch.cat([memory.images[memory.labels == 0], blank]))
    mean = stored.mean(dim=0)
    features = eval_features(trainer.net, stream.transform, stream[0].test.images)
    if method.unit_means:
        mean, features = mean / mean.norm(), features / features.norm(dim=1, keepdim=True)
    scores = method.predict(stream[0].test.images)
    torch.testing.assert_close(scores[:, 0], -((features - mean) ** 2).sum(dim=1), rtol=1e-4, atol=1e-5)


@BOTH
def test_released_blank_rows_need_a_class_0_to_join(make):
    trainer = small_trainer(make(released=True), stream=split_digits()[2:4], buffer_size=22)
    trainer.run_phase()
    trainer.run_phase()
    scores = trainer.method.predict(trainer.stream[0].test.images)
    assert (~scores[0].isneginf()).nonzero().flatten().tolist() == [4, 5, 6, 7]


@BOTH
def test_released_refuses_images_that_are_not_square(make):
    stream = replace(split_digits(), image_shape=(1, 8, 9))
    with pytest.raises(ValueError, match="`released` must be false for images of 8 x 9, which are not square"):
        small_trainer(make(released=True), stream=stream)


@BOTH
def test_features_that_are_not_finite_stop_herding(make):
    trainer = small_trainer(make())
    with torch.no_grad():
        trainer.net.backbone.stages[0][0].weight.fill_(torch.nan)
    with pytest.raises(ArithmeticError, match="features are not finite at the end of task 1"):
        trainer.method.end_task(trainer.stream[0])


@BOTH
def test_a_slice_needs_room_for_its_own_classes_only(make):
    trainer = small_trainer(make(), stream=split_digits()[2:4], buffer_size=4)
    trainer.run()
    assert trainer.memory.index.counts == {4: 1, 5: 1, 6: 1, 7: 1}


@BOTH
def test_a_regularizer_draws_from_past_classes_only(make):
    part = CaSpeR(**REGULARIZER_ARGUMENTS["casper"])
    trainer = small_trainer(make(), [part])
    drawn = []
    loss = part.loss
    part.loss = lambda step, *rest: drawn.append((step.task.index, step.memory.index.classes)) or loss(step, *rest)
    trainer.run()
    assert dict(drawn) == {0: [], 1: [0, 1]}


def test_the_state_holds_the_teacher():
    step = one_step(ICaRL())
    other = small_trainer("icarl", buffer_size=16).method
    other.load_state_dict(step.method.state_dict())
    expected = step.method.teacher.state_dict()
    assert all(torch.equal(value, expected[name]) for name, value in other.teacher.state_dict().items())
    assert not other.teacher.training
    fresh = small_trainer("icarl", buffer_size=16).method
    other.load_state_dict(fresh.state_dict())
    assert other.teacher is None


@BOTH
def test_a_copys_scores_are_those_of_means_under_its_own_network(make):
    trainer, other = small_trainer(make()), small_trainer(make(), seed=8)
    trainer.run()
    images = trainer.stream[0].test.images
    trainer.method.predict(images)  # the original has its means
    found = trainer.method.with_net(other.net).predict(images)
    trainer.method.net, trainer.method._means = other.net, None
    torch.testing.assert_close(found, trainer.method.predict(images))


@BOTH
def test_the_quota_counts_classes_not_tasks(make):
    stream = split_digits()
    trainer = small_trainer(make(), stream=stream, buffer_size=60)
    trainer.method.end_task(replace(stream[1], classes=(2,), past=((0, 1, 4), (5,)), index=2))
    assert trainer.memory.index.counts == {2: 12}
