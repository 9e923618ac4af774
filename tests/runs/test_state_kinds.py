import random
import shutil

import pytest
import torch

from casper import ER
from casper.cli.app import main
from casper.config import ConfigError, resolve_config
from casper.config.registry import METHODS, REGULARIZERS
from casper.runs import RunDirectory, analyse_run, execute
from casper.runs.build import build_trainer
from casper.runs.replay_batch import read_replay_graph
from casper.runs.state_kinds import StateKinds
from casper.training import StepDone, load_checkpoint, save_checkpoint
from crashing import EVERY_STEP, QUICK, crashed

CONFIG = resolve_config({**QUICK, "regularizer": []})
WRONG = [
    *(None, "x", b"x", 1.5, -1, 0, 10**9, 10**30, True, float("nan"), [], [None], {}, {"a": 1}),
    *(torch.zeros(0), torch.zeros(3), torch.zeros(2, 2, dtype=torch.int64), torch.tensor(float("nan"))),
]


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A run that crashed within its second task."""
    run = tmp_path_factory.mktemp("begun") / "run"
    crashed(CONFIG, run, number=25, checkpoint_every=EVERY_STEP, keep_checkpoints=True)
    (run / "checkpoint.previous.pt").unlink()
    return run


class Counting(ER):
    """A user's method with a state that changes its type."""

    name = "counting"

    def reset(self):
        super().reset()
        self.history = None

    def end_task(self, task):
        self.history = [*(self.history or []), "text"]
        super().end_task(task)

    def state_dict(self):
        return {**super().state_dict(), "history": self.history}

    def load_state_dict(self, state):
        super().load_state_dict(state)
        self.history = state["history"]


def test_a_users_method_may_store_any_plain_value(tmp_path):
    config = resolve_config({**QUICK, "regularizer": [], "method": f"{__name__}:Counting"})
    crashed(config, tmp_path / "run", number=25, checkpoint_every=EVERY_STEP)
    assert load_checkpoint(tmp_path / "run" / "checkpoint.pt")["trainer"]["method"]["history"] == ["text"]
    execute(config, tmp_path / "run")


def places(state, above=()):
    """The keys that lead to each value of a nested state."""
    parts = state.items() if isinstance(state, dict) else enumerate(state) if isinstance(state, list | tuple) else ()
    for key, part in parts:
        yield (*above, key)
        yield from places(part, (*above, key))


def changed(state, place, value):
    """A copy of a state with another value in one place."""
    if not place:
        return value
    parts = dict(state) if isinstance(state, dict) else list(state)
    parts[place[0]] = changed(parts[place[0]], place[1:], value)
    return parts


def resigned(run, copy, place, value, name="checkpoint.pt"):
    """A copy of a run, with a valid checksum over one wrong value."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(run, copy)
    save_checkpoint(copy / name, changed(load_checkpoint(run / name), place, value), keep_previous=False)


OPTIONS = [
    *({"method": name} for name in METHODS if name != "ccic"),
    {"method": "ccic", "labels_per_class": 20},
    *({"method": "er", "regularizer": [name]} for name in REGULARIZERS),
    {"method": "icarl", "regularizer": ["casper"], "recalibrate": True},
    {"method": "podnet", "recalibrate": True, "milestones": [1], "epochs": 2},
    {"stream": "rotated-digits", "method": "er-ace", "regularizer": ["casper"]},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_state_of_a_run_is_of_the_right_kinds_at_every_event(options):
    config = resolve_config({"epochs": 1, "tasks": 2, "regularizer": [], **options})
    kinds, seen = StateKinds(build_trainer(config)), set()

    def check(event):
        if len(seen) < 20 or not isinstance(event, StepDone):
            kinds.check(trainer.state_dict())
            seen.add((type(event).__name__, len(seen)))

    trainer = build_trainer(config, listeners=[check])
    trainer.run()
    assert {"StepDone", "TaskDone", "SetTested"} <= {name for name, _ in seen}


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        ("trainer.seconds.run.train", None, "seconds.run.train must be a finite number, but got NoneType"),
        ("trainer.steps", 1.5, "steps must be an integer in [0, 2^62), but got float"),
        ("trainer.position.order", torch.zeros(3), "position.order must be a tensor of torch.int64 with 1 dimensions"),
        ("trainer.position.order", torch.zeros(3, dtype=torch.int64), "position.order must list every image"),
        ("trainer.position.steps_per_epoch", 0, "position.steps_per_epoch must be that of the images"),
        ("trainer.position.order", torch.arange(10**6), "position.order must list every image"),
        ("trainer.position.phase", 5, "position.phase must be one of the 2 of this run, but got 5"),
        ("trainer.position.step", 10**6, "position.step must be at most 19, but got 1000000"),
        ("trainer.position.tested", 1, "position.tested must be at most 0, but got 1"),
        ("trainer.features", [None], "features must be those of 0 test sets"),
        ("trainer.record.matrices.class_il", [], "record.matrices.class_il must be a list of 2, but got list"),
        ("trainer.memory", [], "memory must be a dictionary, but got list"),
        ("trainer.optimizer.param_groups.0.momentum", 1, "optimizer.momentum must be that of the configuration"),
        (
            "trainer.optimizer.state",
            {0: {"momentum_buffer": torch.zeros(3)}},
            "optimizer.state.0.momentum_buffer must be a tensor",
        ),
        ("trainer.global_generators.cpu", "x", "global_generators.cpu must be a tensor of torch.uint8"),
        ("trainer.memory.labels", torch.full((50,), 1000), "memory.labels must be in [0, 9]"),
        ("trainer.memory.labels", torch.full((50,), -1), "memory.labels must be in [0, 9]"),
        ("trainer.position.stage", "next", "position.images must be at least 1 within a task and 0 between tasks"),
        ("trainer.position.images", 0, "position.images must be at least 1 within a task"),
        ("trainer.record.matrices", {"class_il": [], "x": []}, "record.matrices must not have x"),
        ("trainer.seconds.run", {"train": 0.0, "evaluate": 0.0, "x": "y"}, "seconds.run must not have x"),
        (
            "trainer.global_generators.cpu",
            torch.zeros(5056, dtype=torch.uint8),
            "global_generators.cpu must be the state of a random generator",
        ),
        ("log.size", "x", "log.size must be an integer in [0, 2^62), but got str"),
        ("log.sums", torch.zeros(2), "log.sums and log.counts must be dictionaries"),
        ("trainer", True, "it must be a dictionary, but got bool"),
        ("log", torch.zeros(2), "log must be a dictionary, but got Tensor"),
    ],
)
def test_a_value_of_the_wrong_kind_is_named_and_nothing_is_written(begun, tmp_path, capfd, place, value, reason):
    run = tmp_path / "run"
    keys = [int(key) if key.isdigit() else key for key in place.split(".")]
    resigned(begun, run, keys, value)
    before = {file.name: file.read_bytes() for file in run.iterdir() if file.name not in (".lock", ".owner")}
    assert main(["run", "--resume", str(run)]) == 2
    told = capfd.readouterr().err
    assert told.startswith(f"casper: the checkpoint in {run} does not fit this version of casper: {reason}"), told
    assert told.count("\n") == 1
    after = {file.name: file.read_bytes() for file in run.iterdir() if file.name not in (".lock", ".owner")}
    assert after == before


def fuzz(begun, copy, capfd, *, cases, seed):
    """Put random wrong values into random places; each command ends with a status and one line."""
    draws = random.Random(seed)
    known = [place for place in places(load_checkpoint(begun / "checkpoint.pt")) if place[0] in ("trainer", "log")]
    for _ in range(cases):
        place, value = draws.choice(known), draws.choice(WRONG)
        resigned(begun, copy, place, value)
        for command in (["doctor", str(copy)], ["run", "--resume", str(copy)]):
            capfd.readouterr()
            status, told = main(command), capfd.readouterr().err
            assert status in (0, 1, 2), (place, value)
            assert told.count("\n") <= 1 + told.count("warning: "), (place, value, told)


def test_some_wrong_values_in_any_place(begun, tmp_path, capfd):
    fuzz(begun, tmp_path / "run", capfd, cases=25, seed=0)


@pytest.mark.soak
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_many_wrong_values_in_any_place(tmp_path, capfd, options):
    run, config = tmp_path / "begun", resolve_config({"epochs": 1, "tasks": 2, "regularizer": [], **options})
    crashed(config, run, number=5 if options["method"] == "joint" else 25, checkpoint_every=EVERY_STEP)
    (run / "checkpoint.previous.pt").unlink()
    fuzz(run, tmp_path / "run", capfd, cases=150, seed=1)


@pytest.mark.parametrize("name", ["knn_5", "knn_11_majority", "coordinate_variance", "same_class_variance_memory"])
@pytest.mark.parametrize("value", [torch.zeros(3), {}, "x", float("nan")], ids=str)
def test_every_value_of_the_latent_space_is_a_number(name, value):
    trainer = build_trainer(resolve_config({"method": "er", "epochs": 1, "tasks": 1}))
    kinds = StateKinds(trainer)
    trainer.run()
    state = trainer.state_dict()
    kinds.check(state)
    with pytest.raises(ValueError, match=rf"^latent\.{name} must be a finite number, but got "):
        kinds.check({**state, "latent": {**state["latent"], name: value}})
    without = {key: value for key, value in state["latent"].items() if key != "knn_5_majority"}
    with pytest.raises(ValueError, match=r"^latent must have knn_5_majority$"):
        kinds.check({**state, "latent": without})


def test_an_analysis_of_a_wrong_checkpoint(begun, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(begun, run)
    execute(CONFIG, run)
    for name, read in (
        ("checkpoint.task-01.pt", analyse_run),
        ("checkpoint.pt", lambda run: read_replay_graph(run, 5)),
    ):
        copy = tmp_path / "copy"
        resigned(run, copy, ("trainer", "memory", "labels"), "x", name)
        with pytest.raises(ConfigError, match=rf"copy/{name} does not fit .*: memory\.labels must be a tensor"):
            read(RunDirectory(copy))
