from dataclasses import replace

import pytest
import torch
from torch.optim import SGD

from casper import ER, MLP, ForwardOnly, rotated_digits, split_digits
from casper.errors import NonFiniteLossError, ParameterError
from casper.methods import Finetune
from casper.randomness import method_generators, named_generator
from casper.training import PieceDone, RunStarted, SetTested, StepDone, TaskDone, TaskStarted, TaskTrained
from casper.types import ImageSet
from support import REHEARSING, DropoutConvNet, assert_same_state, regularizer, small_trainer


def test_fills_the_matrix_below_the_diagonal_and_one_beyond():
    metrics = small_trainer("er-ace", stream=split_digits()[:3]).run()
    measured = [[value is not None for value in row] for row in metrics["class_il"]["accuracy_matrix"]]
    assert measured == [[True, True, False], [True, True, True], [True, True, True]]
    assert all(value is not None for value in metrics["class_il"]["untrained_accuracy"])
    assert metrics["class_il"]["forward_transfer"] is not None
    assert metrics["domain_il"] is None
    assert metrics["recalibrated"] is None


def test_a_domain_stream_has_one_scenario():
    metrics = small_trainer("er-ace", stream=rotated_digits(num_tasks=2)).run()
    assert metrics["class_il"] is None
    assert metrics["task_il"] is None
    assert metrics["domain_il"]["final_average_accuracy"] > 20


def test_task_il_is_never_below_class_il():
    metrics = small_trainer("er", stream=split_digits()).run()
    for one, other in zip(metrics["class_il"]["accuracy_matrix"], metrics["task_il"]["accuracy_matrix"], strict=True):
        assert all(low is None or low <= high for low, high in zip(one, other, strict=True))


def test_every_image_is_seen_once_per_epoch_in_another_order():
    trainer = small_trainer("finetune", epochs=2)
    seen = []
    observe = trainer.method.observe

    def recording(batch, *rest):
        seen.append(batch.images)
        return observe(batch, *rest)

    trainer.method.observe = recording
    trainer.run_phase()
    images = trainer.stream[0].train.images
    steps = len(seen) // 2
    first, second = torch.cat(seen[:steps]), torch.cat(seen[steps:])

    def as_set(tensor):
        return sorted(tensor.flatten(1).tolist())

    assert [len(batch) for batch in seen[:steps]] == [16] * 15 + [1]
    assert as_set(first) == as_set(second) == as_set(images)
    assert not torch.equal(first, second)


def test_milestones_lower_the_rate_and_every_task_starts_at_the_full_one():
    rates = []

    class Watching(Finetune):
        def observe(self, batch, task, progress, optimizer, regularizers=()):
            rates.append((task.index, progress.epoch, optimizer.param_groups[0]["lr"]))
            return super().observe(batch, task, progress, optimizer, regularizers)

    small_trainer(Watching(), epochs=4, milestones=(2, 3), gamma=0.5, lr=0.1).run()
    expected = [(task, epoch, rate) for task in (0, 1) for epoch, rate in enumerate((0.1, 0.1, 0.05, 0.025))]
    assert [entry for index, entry in enumerate(rates) if index == 0 or entry != rates[index - 1]] == [
        (task, epoch, pytest.approx(rate)) for task, epoch, rate in expected
    ]


@pytest.mark.parametrize(("milestones", "asks", "made"), [((), False, 1), ((3,), False, 2), ((), True, 2)])
def test_the_optimizer_lives_on_unless_a_schedule_or_the_method_asks_for_a_new_one(milestones, asks, made):
    optimizers = []

    class Counting(Finetune):
        new_optimizer_each_task = asks

        def make_optimizer(self, parameters, lr):
            optimizers.append(SGD(parameters, lr=lr))
            return optimizers[-1]

    small_trainer(Counting(), milestones=milestones).run()
    assert len(optimizers) == made


@pytest.mark.parametrize("method", REHEARSING)
def test_recalibrating_changes_neither_training_nor_the_first_evaluation(method):
    plain, second = small_trainer(method), small_trainer(method, recalibrate=True)
    metrics = [trainer.run() for trainer in (plain, second)]
    states = [{**trainer.state_dict(), "seconds": None, "recalibrated_record": None} for trainer in (plain, second)]
    assert_same_state(*states)
    assert metrics[0]["class_il"] == metrics[1]["class_il"]
    recalibrated = metrics[1]["recalibrated"]["class_il"]
    assert recalibrated["accuracy_matrix"] != metrics[1]["class_il"]["accuracy_matrix"]
    assert recalibrated["forward_transfer"] is None


@pytest.mark.parametrize(("method", "backbone"), [("finetune", None), ("er", MLP)])
def test_there_is_nothing_to_recalibrate_without_memory_or_batch_norm(method, backbone):
    metrics = small_trainer(method, backbone=backbone, recalibrate=True).run()
    assert metrics["recalibrated"] is None


def test_the_method_opens_and_closes_a_task_before_the_regularizers():
    calls = []

    class Hooked(ForwardOnly):
        def start_task(self, task, net):
            calls.append("regularizer starts")

        def end_task(self, task, net):
            calls.append("regularizer ends")

    trainer = small_trainer("er", [Hooked(num_classes=3)], stream=split_digits()[:1])
    trainer.method.start_task = lambda task: calls.append("method starts")
    trainer.method.end_task = lambda task: calls.append("method ends")
    trainer.run()
    assert calls == ["method starts", "regularizer starts", "method ends", "regularizer ends"]


def test_different_seeds_give_different_runs():
    one, other = (small_trainer("er-ace", seed=seed).run() for seed in (0, 1))
    assert one["class_il"]["accuracy_matrix"] != other["class_il"]["accuracy_matrix"]


def test_bf16_trains_and_keeps_float32_weights():
    trainer = small_trainer("er-ace", [regularizer("casper")], precision="bf16", epochs=2)
    metrics = trainer.run()
    assert all(parameter.dtype == torch.float32 for parameter in trainer.net.parameters())
    assert metrics["class_il"]["final_average_accuracy"] > 50
    fp32 = small_trainer("er-ace", [regularizer("casper")], epochs=2)
    fp32.run()
    assert not torch.equal(fp32.net.head.weight, trainer.net.head.weight)


def test_events_come_in_order():
    events = []
    small_trainer("er-ace", epochs=2, listeners=[events.append]).run()
    kinds = [type(event) for event in events if not isinstance(event, PieceDone)]  # a task may have any number
    end = [TaskTrained, SetTested, SetTested, TaskDone]
    first, second = [TaskStarted] + [StepDone] * 32 + end, [TaskStarted] + [StepDone] * 30 + end
    assert kinds == [RunStarted, SetTested, SetTested, *first, *second, SetTested, SetTested]
    assert [(event.done, event.total) for event in events if isinstance(event, SetTested)] == 4 * [(1, 2), (2, 2)]
    assert (events[0].num_tasks, events[0].class_names) == (2, tuple("0123456789"))
    assert [event.step for event in events if isinstance(event, StepDone) and event.task == 1] == list(range(30))
    done = [event for event in events if isinstance(event, TaskDone)][-1]
    assert set(done.accuracies) == {0, 1}
    assert done.average["class_il"] == pytest.approx(sum(done.accuracies[i]["class_il"] for i in (0, 1)) / 2)
    assert done.memory == 20


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"epochs": 0}, "epochs"),
        ({"batch_size": 0}, "batch_size"),
        ({"lr": 0.0}, "lr"),
        ({"lr": float("nan")}, "lr"),
        ({"lr": float("inf")}, "lr"),
        ({"buffer_size": -1}, "buffer_size"),
        ({"buffer_size": 0}, "buffer_size"),
    ],
)
def test_bad_settings_are_named(changes, named):
    with pytest.raises(ValueError, match=f"`{named}`"):
        small_trainer("er-ace", **changes)


def test_batches_of_one_work():
    stream = split_digits()[:2]
    trainer = small_trainer("er-ace", stream=stream, batch_size=240, buffer_size=4)  # 241 images: the last batch is one
    assert trainer.run()["steps"] == 3


def test_a_trainer_does_not_care_what_is_drawn_between_its_making_and_its_run():
    def weights(disturb):
        trainer = small_trainer("er", backbone=DropoutConvNet)
        if disturb:
            torch.rand(5)
            small_trainer("er", seed=3)
        trainer.run()
        return trainer.net.state_dict()

    assert_same_state(dict(weights(False)), dict(weights(True)))


def test_the_first_batch_follows_from_the_generators_of_the_seed():
    trainer = small_trainer("finetune", seed=11)
    batches = []
    trainer.method.observe = lambda batch, *_: batches.append(batch) or {}
    expected = method_generators(11)
    data = trainer.stream[0].train
    rows = torch.randperm(len(data), generator=expected["order"])[:16]
    inputs = trainer.stream.transform.train(data.images[rows], expected["augment"])
    trainer.run_phase()
    assert torch.equal(batches[0].images, data.images[rows])
    assert torch.equal(batches[0].labels, data.labels[rows])
    assert torch.equal(batches[0].inputs, inputs)


def test_every_generator_follows_from_the_seed():
    part = regularizer("casper")
    trainer = small_trainer("er-ace", [part], seed=11)
    for name, generator in method_generators(11).items():
        assert torch.equal(trainer.generators[name].get_state(), generator.get_state())
    own = part.state_dict()["randomness"]["generator"]
    assert torch.equal(own, named_generator(11, "casper").get_state())


def test_a_method_chooses_its_head_its_optimizer_and_its_training_set():
    calls = []

    class Choosy(Finetune):
        def make_head(self, dim, num_classes):
            self.head = torch.nn.Linear(dim, num_classes, bias=False)
            return self.head

        def make_optimizer(self, parameters, lr):
            calls.append(("optimizer", lr))
            return SGD(parameters, lr=lr)

        def start_task(self, task):
            calls.append(("start", task.index))

        def training_set(self, task):
            calls.append(("set", task.index))
            return task.train[torch.arange(20)]

        def observe(self, *arguments):
            calls.append(("step", arguments[1].index))
            return super().observe(*arguments)

        def end_task(self, task):
            calls.append(("end", task.index))

        def predict(self, images):
            calls.append(("predict", None))
            return super().predict(images)

    trainer = small_trainer(Choosy(), lr=0.3)
    trainer.run()
    assert trainer.net.head is trainer.method.head
    assert trainer.method.batch_size == 16
    expected = [("predict", None)] * 2 + [("optimizer", 0.3)]
    for index in range(2):
        expected += [("start", index), ("set", index), ("step", index), ("step", index), ("end", index)]
        expected += [("predict", None)] * 2
    assert calls == expected


def test_training_runs_in_training_mode_and_testing_leaves_it_so():
    trainer = small_trainer("er-ace", recalibrate=True)
    modes = []
    trainer.method.losses, losses = lambda *a: modes.append(trainer.net.training) or losses(*a), trainer.method.losses
    trainer.net.eval()
    trainer.run()
    assert all(modes)


def test_seconds_are_those_of_training_and_of_evaluation(monkeypatch):
    clock, events = iter(range(1000)), []
    trainer = small_trainer("finetune", listeners=[events.append])
    # The trainer looks at the clock once before the run, once after a task's start, every step and its end, twice
    # for every test set, passed in one piece, and once after every measurement: 16 + 15 steps, 2 tasks, and 4
    # measurements of 2 test sets each.
    monkeypatch.setattr("time.perf_counter", lambda: float(next(clock)))
    metrics = trainer.run()
    assert metrics["seconds"] == {"train": 31.0 + 4.0, "evaluate": 16.0 + 4.0, "total": 55.0}
    reported = [(event.train_seconds, event.evaluate_seconds) for event in events if isinstance(event, TaskDone)]
    assert reported == [(18.0, 5.0), (17.0, 5.0)]


def test_the_event_carries_the_methods_diagnostics():
    events = []
    trainer = small_trainer("x-der", listeners=[events.append])
    trainer.run()
    reported = [event.diagnostics for event in events if isinstance(event, TaskDone)]
    assert reported[-1] == trainer.method.diagnostics()
    assert reported[-1]["transplants"] > 0


def test_metrics_are_a_copy():
    trainer = small_trainer("er")
    trainer.run()["latent"].clear()
    assert trainer.metrics()["latent"]


def test_a_method_that_another_trainer_has_taken_is_refused():
    method = ER()
    first = small_trainer(method)
    second = small_trainer(method)
    with pytest.raises(ValueError, match="`method` must be used by one trainer at a time"):
        first.run()
    second.run()
    small_trainer(method).run()


@pytest.mark.parametrize("change", [{"gamma": 0.0}, {"gamma": float("nan")}, {"milestones": [0]}])
def test_a_schedule_that_cannot_be_is_refused(change):
    with pytest.raises(ValueError, match=f"`{next(iter(change))}` must be"):
        small_trainer("er", **change)


class StoppedError(Exception):
    pass


def stopped_in_the_middle():
    def listen(event):
        if isinstance(event, StepDone) and event.task == 1 and event.step == 4:
            raise StoppedError

    trainer = small_trainer("er", listeners=[listen])
    with pytest.raises(StoppedError):
        trainer.run()
    return trainer.state_dict()


def with_images(stream, change):
    """The same stream, the training images of the second task changed."""

    def make_task(number):
        task = stream.make_task(number)
        return replace(task, make_train=lambda: change(task.train)) if number == 1 else task

    return replace(stream, make_task=make_task)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: ImageSet(data.images ^ (torch.arange(len(data)) == 3)[:, None, None, None], data.labels),
        lambda data: ImageSet(data.images, data.labels.flip(0)),
        lambda data: data[torch.arange(len(data) - 1)],
        lambda data: data[torch.arange(len(data)).flip(0)],
    ],
    ids=["a pixel", "labels", "one fewer", "order"],
)
def test_a_run_does_not_go_on_with_other_images(change):
    state = stopped_in_the_middle()
    trainer = small_trainer("er", stream=with_images(split_digits()[:2], change))
    trainer.load_state_dict(state)
    with pytest.raises(ParameterError, match=r"the one the run began with, but got different images in task 2"):
        trainer.run()


@pytest.mark.parametrize("kind", [TaskStarted, StepDone])
def test_a_task_that_was_started_is_not_started_again(kind):
    def stop(event):
        if isinstance(event, kind) and event.task == 1:
            raise StoppedError

    first = small_trainer("podnet", [regularizer("casper")], listeners=[stop])
    with pytest.raises(StoppedError):
        first.run()
    second = small_trainer("podnet", [regularizer("casper")])
    second.load_state_dict(first.state_dict())
    second.method.start_task = lambda *_: pytest.fail("started again")
    second.regularizers[0].start_task = lambda *_: pytest.fail("started again")
    second.run()


def test_training_is_in_training_mode():
    expected, changed = small_trainer("er"), small_trainer("er")
    changed.net.eval()
    assert {**changed.run(), "seconds": None} == {**expected.run(), "seconds": None}


def test_weights_that_are_no_numbers_end_the_run_before_they_are_measured():
    class Overflowing(Finetune):
        steps = 0

        def clip(self, parameters):
            self.steps += 1
            if self.steps == 16:  # the last of the task: no loss will tell
                next(iter(parameters)).grad.fill_(float("inf"))

    trainer = small_trainer(Overflowing(), stream=split_digits()[:1])
    with pytest.raises(NonFiniteLossError, match=r"of the network is not finite at the end of task 1; .* rate is 0\.1"):
        trainer.run()


def test_every_part_is_saved_and_restored():
    trainer = small_trainer("er-ace", [regularizer("casper")], recalibrate=True)
    trainer.run()
    state = trainer.state_dict()
    other = small_trainer("er-ace", [regularizer("casper")], recalibrate=True, seed=8)
    other.load_state_dict(state)
    again = other.state_dict()
    # The global generators are the process's own until the trainer runs.
    assert_same_state({**again, "global_generators": None}, {**state, "global_generators": None})
    assert torch.equal(other.global_state["cpu"], state["global_generators"]["cpu"])


def test_a_state_before_the_first_task_has_no_optimizer():
    state = small_trainer("er").state_dict()
    assert state["optimizer"] is None
    other = small_trainer("er")
    other.load_state_dict(state)
    assert other.optimizer is None
