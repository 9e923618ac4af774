"""Every public object shows the settings it was made with."""

import importlib
import inspect
import pickle
from copy import copy, deepcopy
from dataclasses import dataclass, is_dataclass
from functools import partial, wraps
from pathlib import Path

import pytest
import torch
from torch import nn

import casper
from casper import Batch, CaSpeR, ConvNet, DERpp, Regularizer, Transform
from casper._repr import ShowsSettings
from casper.config import KINDS
from casper.methods.ccic import CCICStep
from casper.nets import FeatureClassifier, PolytopeHead, ProjectionHead, ProxyHead
from casper.runs import Interruption, RunDirectory
from casper.sweeps import LocalLauncher, Sweep
from casper.training import Position
from support import METHOD_ARGUMENTS, REGULARIZER_ARGUMENTS, small_trainer

SHAPE = (1, 12, 12)
TRAINER = small_trainer("er-ace", [CaSpeR(0.1, 3, 3)])
IMAGES = torch.arange(2 * 144, dtype=torch.uint8).view(2, *SHAPE)
BATCH = Batch(IMAGES, torch.tensor([7, 7]), IMAGES.float(), columns={"logits": torch.zeros(2, 10)})
TASK = TRAINER.stream[1]
STEP = TRAINER.method.make_step(BATCH, TASK, casper.Progress(0, 1, 0))

OBJECTS = [
    *(KINDS["method"][name](**arguments) for name, arguments in METHOD_ARGUMENTS.items()),
    *(KINDS["regularizer"][name](**arguments) for name, arguments in REGULARIZER_ARGUMENTS.items()),
    *(backbone((3, 33, 33)) for backbone in KINDS["backbone"].values()),
    casper.Lite0Trunk(image_size=33),
    FeatureClassifier(ConvNet(SHAPE), nn.Linear(128, 10)),
    PolytopeHead(8, 4),
    ProjectionHead(8),
    ProxyHead(8, 4),
    TRAINER,
    TRAINER.memory,
    TRAINER.evaluator,
    TRAINER.stream,
    TASK,
    TASK.train,
    TASK.test,
    BATCH,
    STEP,
    CCICStep(**vars(STEP), labelled=BATCH, num_recent=1, views=IMAGES, mixing=None, triplet_mixing=None, domains=None),
    TRAINER.net(BATCH.inputs[:, :, :8, :8]),
    casper.Mixing(torch.ones(2), torch.zeros(2)),
    casper.Column(torch.int64),
    casper.Progress(0, 1, 0),
    casper.Phase(0, lambda: TASK),
    Transform((0.5,), (0.5,)),
    Position(order=torch.arange(1000)),
    LocalLauncher(2),
    Sweep([], Path("runs")),
    RunDirectory(Path("runs")),
    Interruption(),
]


def arguments_of(cls):
    return [*inspect.signature(cls).parameters]


@pytest.mark.parametrize("thing", OBJECTS, ids=lambda thing: type(thing).__name__)
def test_all_constructor_arguments_are_printed(thing):
    shown = repr(thing)
    assert shown.startswith(f"{type(thing).__name__}(")
    assert [name for name in arguments_of(type(thing)) if f"{name}=" not in shown] == []
    assert "object at 0x" not in shown


def test_every_public_class_is_among_them():
    public = {getattr(casper, name) for name in casper.__all__ if inspect.isclass(getattr(casper, name))}
    needless = {cls for cls in public if inspect.isabstract(cls) or issubclass(cls, Exception)}
    needless |= {casper.TimmBackbone, casper.TimmTrunk}  # of an extra that may not be installed; like the others
    needless.add(casper.FileTrunk)  # needs a file
    assert public - needless - {type(thing) for thing in OBJECTS} == set()


@pytest.mark.parametrize(
    "package", ["analysis", "data", "losses", "memory", "methods", "metrics", "nets", "runs", "sweeps", "training"]
)
def test_no_class_of_a_package_is_left_out(package):
    """But for `ClassIndex`, which changes with every insertion."""
    module = importlib.import_module(f"casper.{package}")
    classes = [getattr(module, name) for name in module.__all__ if inspect.isclass(getattr(module, name))]
    made = [cls for cls in classes if "__init__" in vars(cls) and not issubclass(cls, BaseException)]
    left = {cls.__name__ for cls in made if not (is_dataclass(cls) or issubclass(cls, ShowsSettings))}
    assert left <= {"ClassIndex"}


def test_values_are_those_that_were_given():
    assert repr(DERpp(beta=0.25)) == "DERpp(alpha=0.5, beta=0.25)"
    assert repr(casper.ERACE()) == "ERACE()"
    assert repr(ConvNet(SHAPE, width=4)).startswith(
        "ConvNet(\n  image_shape=(1, 12, 12), width=4\n  (stages): ModuleList(\n"
    )
    trainer = casper.Trainer(TRAINER.stream, DERpp(), backbone=partial(ConvNet, width=4), buffer_size=50, device="cpu")
    assert "method=DERpp(alpha=0.5, beta=0.1)" in repr(trainer)
    assert "backbone=partial(ConvNet, width=4)" in repr(trainer)


def test_tensors_are_printed_by_their_shape():
    shown = repr(BATCH)
    assert shown.startswith("Batch(images=Tensor(shape=(2, 1, 12, 12), dtype=torch.uint8), labels=Tensor(shape=(2,), ")
    assert "columns={'logits': Tensor(shape=(2, 10), dtype=torch.float32)}" in shown
    assert "7" not in shown


def test_a_buffer_shows_how_full_it_is():
    buffer = casper.Buffer(5, (1, 12, 12))
    buffer.append(IMAGES, BATCH.labels)
    assert "capacity=5" in repr(buffer)
    assert repr(buffer).endswith("filled=2, seen=2)")


class MyMethod(DERpp):
    def __init__(self, rate, *more, alpha=0.1, **others):
        super().__init__(alpha=alpha)

    def losses(self, step, passes):
        return {}


class MyRegularizer(Regularizer):
    name = generator_name = "mine"

    def __init__(self, weight, make=None):
        self.weight = weight

    def loss(self, step, passes, generator):
        return None


class MyBackbone(ConvNet):
    def __init__(self, image_shape, norm=None):
        super().__init__(image_shape, width=4)


def test_users_parts_show_theirs():
    assert repr(MyMethod(3, 4, 5, beta=2)) == "MyMethod(rate=3, more=(4, 5), alpha=0.1, others={'beta': 2})"
    assert repr(MyRegularizer(weight=2)) == "MyRegularizer(weight=2, make=None)"
    assert repr(MyBackbone(SHAPE)).startswith("MyBackbone(\n  image_shape=(1, 12, 12), norm=None\n")


def test_copies_and_pickles_are_as_before():
    """No argument is kept for the sake of its text: one that cannot be pickled does no harm."""
    for thing in (MyMethod(3), MyRegularizer(1, make=lambda: 0), MyBackbone(SHAPE, norm=lambda: 0), CaSpeR(1, 2, 3)):
        for twin in (copy(thing), deepcopy(thing), pickle.loads(pickle.dumps(thing))):
            assert repr(twin) == repr(thing)
    assert MyBackbone(SHAPE).state_dict().keys() == ConvNet(SHAPE, width=4).state_dict().keys()


def test_what_is_made_in_every_step_is_made_as_before():
    """A data class has its arguments as attributes: its constructor notes nothing."""
    assert not any(hasattr(cls.__init__, "__wrapped__") for cls in (Batch, casper.Outputs, casper.ImageSet))
    assert "_settings" not in vars(STEP)


def test_signatures_and_errors_are_those_of_the_constructor():
    assert arguments_of(MyRegularizer) == ["weight", "make"]
    with pytest.raises(TypeError, match=r"MyRegularizer.__init__\(\) missing 1 required positional argument: 'weight'"):
        MyRegularizer()
    with pytest.raises(TypeError, match=r"ERACE\(\) takes no arguments"):
        casper.ERACE(1)


def test_an_argument_that_cannot_show_itself_does_not_keep_an_object_from_being_made():
    class Silent:
        def __repr__(self):
            raise RuntimeError

    assert "make=<Silent instance at" in repr(MyRegularizer(1, make=Silent()))


def constructed(argument):
    class Mine(DERpp):
        def __init__(self, mine) -> None:
            super().__init__()
            self.mine = mine

    return Mine(argument)


def an_argument_of_a_class_named(name):
    return type(name, (), {})()


@pytest.mark.parametrize(
    "argument",
    [an_argument_of_a_class_named("set"), an_argument_of_a_class_named("array"), 10**5000, nn.UninitializedParameter()],
    ids=["set", "array", "number", "parameter"],
)
def test_an_argument_without_a_repr_does_not_prevent_construction(argument):
    assert constructed(argument).mine is argument
    assert repr(constructed(argument)).startswith("Mine(")


def test_a_constructor_behind_a_decorator_may_take_other_arguments():
    def injecting(constructor):
        @wraps(constructor)
        def construct(self, weight):
            constructor(self, weight, rng="injected")

        return construct

    class Mine(DERpp):
        @injecting
        def __init__(self, weight, rng) -> None:
            super().__init__()
            self.rng = rng

    assert Mine(3).rng == "injected"
    assert repr(Mine(3)) == "Mine(weight=3)"


def test_attributes_of_a_users_class_are_its_own():
    class Mine(DERpp):
        def __init__(self) -> None:
            super().__init__()
            self._settings = {"mine": 1}

    assert Mine()._settings == {"mine": 1}


def test_a_subclass_of_a_data_class_shows_its_own_arguments():
    class Mine(Position):
        def __init__(self, mine) -> None:
            self.__dict__["mine"] = mine

    assert repr(Mine(4)) == "Mine(mine=4)"


def test_arguments_that_are_data_classes_show_tensors_by_shape():
    @dataclass
    class Settings:
        table: torch.Tensor

    shown = repr(constructed(Settings(torch.zeros(3, 2))))
    assert shown == "Mine(mine=Settings(table=Tensor(shape=(3, 2), dtype=torch.float32)))"
