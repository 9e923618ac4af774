"""Old names keep working for one release, and say so."""

import importlib
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from types import ModuleType

import pytest
import torch

import casper
from casper import ER, ERACE, Trainer, split_digits
from casper.step import Progress, Step
from casper.types import Batch
from support import small_trainer


def renamed(new):
    return pytest.warns(DeprecationWarning, match=rf"is now `.*{new}")


def a_batch(task, size=4):
    return Batch(task.train.images[:size], task.train.labels[:size], task.train.images[:size].float())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tell", "notify"),
        ("book", "stopwatch.add"),
        ("pieces", "work"),
        ("data", "checksums"),
        ("fingerprint", "stream.checksums"),
        ("seconds", "stopwatch.run"),
        ("task_seconds", "stopwatch.task"),
        ("record", "evaluator.record"),
        ("recalibrated_record", "evaluator.recalibrated_record"),
        ("statistics", "evaluator.statistics"),
        ("features", "evaluator.features"),
        ("latent", "evaluator.latent"),
    ],
)
def test_attributes_of_a_trainer(old, new):
    trainer = small_trainer("er", recalibrate=True)
    expected = trainer
    for name in new.split("."):
        expected = getattr(expected, name)
    with renamed(new):
        assert getattr(trainer, old) == expected


def test_the_number_of_classes_of_a_task():
    with renamed("num_seen"):
        assert split_digits()[2].num_met == 6


def test_what_of_a_step_is_learned():
    trainer = small_trainer("er")
    task = trainer.stream[0]
    batch = a_batch(task)
    with renamed("learned"):
        step = trainer.method.make_step(batch, task, Progress(0, 1, 0), learnt=batch)
    with renamed("learned"):
        assert step.learnt is batch
    parts = vars(step)
    parts["learnt"] = parts.pop("learned")
    with renamed("learned"):
        assert Step(**parts).learned is batch


def test_long_computations_of_a_method():
    trainer = small_trainer("er")
    with renamed("compute"):
        assert trainer.method.piece == trainer.method.compute
    attached = {name: getattr(trainer.method, name) for name in ("net", "memory", "transform", "generators")}
    calls = []
    method = ER()
    with renamed("compute"):
        method.attach(**attached, batch_size=16, num_classes=10, piece=calls.append)
    method.compute(1)
    with renamed("compute"):
        method.piece = lambda _: calls.append(2)
    method.compute(3)
    assert calls == [1, 2]


def test_a_subclass_that_overrides_a_method_by_its_old_name_is_heard():
    with renamed("learned_part"):

        class Mine(ERACE):
            def learnt_part(self, batch, task):
                return "mine"

    assert Mine().learned_part(None, None) == "mine"
    task = split_digits()[0]
    with renamed("learned_part"):
        assert len(ERACE().learnt_part(a_batch(task), task)) == 4


def test_an_override_by_its_old_name_may_call_the_one_it_overrides():
    with renamed("learned_part"):

        class Mine(ERACE):
            def learnt_part(self, batch, task):
                return super().learnt_part(batch, task)[torch.arange(2)]

    task = split_digits()[0]
    with renamed("learned_part"):
        assert len(Mine().learned_part(a_batch(task), task)) == 2

        class Unbound(ERACE):
            def learned_part(self, batch, task):
                return ERACE.learnt_part(self, batch, task)[torch.arange(3)]

    with renamed("learned_part"):
        assert len(Unbound().learned_part(a_batch(task), task)) == 3


def test_an_override_may_take_arguments_by_their_old_names():
    class Mine(ER):
        def attach(self, *, piece, **others):
            super().attach(**others)
            self.seen = piece

    trainer = small_trainer("er")
    attached = {name: getattr(trainer.method, name) for name in ("net", "memory", "transform", "generators")}
    method = Mine()
    method.attach(**attached, batch_size=16, num_classes=10, compute=max)
    assert method.seen is max


def test_an_override_of_the_trainers_old_method_is_called():
    told = []
    with renamed("notify"):

        class Mine(Trainer):
            def tell(self, event):
                told.append(event)

    Mine(split_digits(num_tasks=2), ER(), buffer_size=10, batch_size=400).run()
    assert told


def test_parts_of_a_trainer_can_be_set_by_their_old_names():
    trainer = small_trainer("er")
    with renamed("evaluator.record"):
        trainer.record = 5
    assert trainer.evaluator.record == 5


def test_a_subclass_may_have_keywords():
    class Mixin:
        def __init_subclass__(cls, tag="", **kwargs):
            super().__init_subclass__(**kwargs)
            cls.tag = tag

    class Mine(ERACE, Mixin, tag="mine"):
        pass

    assert Mine.tag == "mine"


# Modules and names that have moved

NAMES = [line for line in (Path(__file__).parent / "old_names.txt").read_text().splitlines() if line[0] != "#"]

GONE = {
    "casper.files:aside",  # temporary files have random names
    # Parts of the trainer that were functions of it, and changed it from outside: `Trainer.run_phase` does their work.
    "casper.training.measuring:measure_after_phase",
    "casper.training.measuring:measure_latent_space",
    "casper.training.measuring:measure_untrained",
    "casper.training.phase:train",
    "casper.training.fit:check_maps",  # `Method.make_network` checks the maps
    # Private helpers of a command.
    "casper.cli.run:analyse_finished",
    "casper.cli.run:show_finished",
    "casper.cli.run:show_metrics",
    "casper.cli.step_times:show_step_times",
    # A sweep's time is estimated from its finished runs: there are no trials.
    "casper.sweeps:Estimate",
    "casper.sweeps:trial_seconds",
    "casper.sweeps.estimate:Estimate",
    "casper.sweeps.estimate:trial_seconds",
    # Private helpers of reports and of the timing of steps, which are no longer needed.
    "casper.reporting.figures.names:settings",
    "casper.reporting.markdown:markdown_row",
    "casper.reporting.variants:settings_text",
    "casper.sweeps.forward_passes:ForwardPasses",
    "casper.sweeps.forward_passes:PassCounter",
}


def test_every_old_name_can_be_imported_and_says_where_it_is_now():
    wrong = []
    for name in sorted({*NAMES} - GONE):
        module, _, attribute = name.partition(":")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            home = importlib.import_module(module)
            caught.clear()
            value = getattr(home, attribute)
        if isinstance(value, ModuleType):
            wrong.append((name, value))
        elif attribute not in vars(home):  # the path is no longer valid
            new = caught[0].message.args[0].split("`")[3] if caught else "nothing"
            if len(caught) != 1 or eval(new, {"casper": casper}) is not value or caught[0].filename != __file__:
                wrong.append((name, new))
        elif caught:
            wrong.append((name, "a warning"))
    assert wrong == []


def test_what_is_gone_is_gone():
    for name in GONE:
        module, _, attribute = name.partition(":")
        with pytest.raises((ImportError, AttributeError)):
            getattr(importlib.import_module(module), attribute)


def test_the_table_names_nothing_that_is_not_there():
    lines = (Path(casper.__file__).parent / "renames.txt").read_text().splitlines()
    renames = [line.split(" = ") for line in lines if line and line[0] != "#"]
    gone = {old for old, _ in renames}
    for old, new in renames:
        if ":" not in old:
            for home in {*new.split()} - gone:
                importlib.import_module(f"casper.{home}")
            continue
        module, _, name = old.partition(":")
        with pytest.warns(DeprecationWarning, match=f"casper.{module}.{name}` is now"):
            getattr(importlib.import_module(f"casper.{module}"), name)


def ran(code, *options):
    return subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True)


@pytest.mark.parametrize(
    ("statement", "new"),
    [
        ("from casper.experiments import RunConfig", "casper.config.RunConfig"),
        ("from casper.experiments.config import RunConfig", "casper.config.RunConfig"),
        ("import casper.experiments.config", "casper.config.options"),
        ("import casper.experiments.config as module; module.RunConfig", "casper.config.RunConfig"),
        ("exec('\\n\\nimport casper.losses.columns', {})", "casper.losses.masking"),
        ("import importlib; importlib.import_module('casper.training.pieces')", "casper.training.resumable"),
        ("from casper.methods import NonFiniteLossError", "casper.errors.NonFiniteLossError"),
        ("casper.streams.sources.load", "casper.data.load"),
        ("casper.losses.columns.restricted", "casper.restricted"),
        ("from casper.losses.columns import *", "casper.restricted"),
    ],
)
def test_the_warning_points_to_the_line_of_the_caller(statement, new):
    code = f"import casper\n\n{statement}\n"
    finished = ran(code, "-W", "always::DeprecationWarning")
    assert finished.returncode == 0, finished.stderr
    warned = finished.stderr.splitlines()
    assert {line.partition(": ")[0] for line in warned} == {"<string>:3"}
    assert any(f"is now `{new}`" in line for line in warned)


def test_the_warning_can_be_an_error():
    for statement in ("import casper.experiments.config", "from casper.methods import NonFiniteLossError"):
        finished = ran(statement, "-W", "error::DeprecationWarning")
        assert finished.returncode == 1
        assert finished.stderr.splitlines()[-1].startswith("DeprecationWarning: `casper.")


def test_new_names_warn_of_nothing():
    finished = ran("from casper import *; import casper.cli.app, casper.reports", "-W", "error::DeprecationWarning")
    assert finished.returncode == 0, finished.stderr


def test_an_old_module_does_not_hide_a_function_of_its_name():
    """These were modules, and always functions of the package around them."""
    code = """
import casper.losses.transplant, casper.sweeps.step_times, casper.experiments.hyper_parameters
from casper.losses import transplant
from casper.sweeps import step_times
from casper.experiments import hyper_parameters
print(*{type(found).__name__ for found in (transplant, step_times, hyper_parameters)})
"""
    assert ran(code).stdout.strip() == "function"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_name_that_never_was_is_an_error_of_the_usual_kind():
    with pytest.raises(ImportError, match=r"cannot import name 'nothing' from 'casper\.experiments\.config'"):
        exec("from casper.experiments.config import nothing")
    with pytest.raises(ImportError, match=r"cannot import name 'nothing' from 'casper\.methods'"):
        exec("from casper.methods import nothing")
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'casper\.experiments\.nothing'"):
        importlib.import_module("casper.experiments.nothing")
    with pytest.raises(AttributeError, match=r"module 'casper\.methods' has no attribute 'nothing'"):
        _ = casper.methods.nothing


def test_a_module_may_have_a_getattr_of_its_own(monkeypatch):
    def own(name):
        if name != "own":
            raise AttributeError(name)
        return 1

    monkeypatch.setattr(casper.nets, "__getattr__", own, raising=False)
    assert casper.nets.own == 1
    with renamed("methods.kmeans_centres"):
        _ = casper.nets.kmeans_centres


def test_old_paths_in_pickles_are_found():
    """A pickle names the module and the class."""
    transform = casper.Transform((0.5,), (0.5,))
    stored = pickle.dumps(transform, protocol=0).replace(b"casper.streams.transform", b"casper.streams.augment")
    with pytest.warns(DeprecationWarning, match="is now `casper.Transform`"):
        assert pickle.loads(stored) == transform


def test_a_star_import_has_renamed_names():
    code = "from casper.experiments import *; print(Questions.__name__, resolve.__name__)"
    assert ran(code).stdout.split() == ["AnalysisOptions", "find_part"]
