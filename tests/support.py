"""Small, quick runs of every method with every regularizer."""

import os
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial

import torch
import torch.nn.functional as F

from casper import ER, Buffer, ConvNet, Trainer, Trunk, split_digits
from casper.config import METHODS, REGULARIZERS
from casper.methods import Method
from casper.nets import FeatureClassifier
from casper.randomness import named_generator
from casper.step import Progress
from casper.types import Batch, ImageSet, Task

# What each registered name is built with in the tests. A name that is not listed here is not tested: see test_listed.
METHOD_ARGUMENTS = {
    "finetune": {},
    "joint": {},
    "er": {},
    "er-ace": {},
    "icarl": {},
    "der++": {"alpha": 0.5, "beta": 0.5},
    "x-der": {"alpha": 0.5, "beta": 0.5, "eta": 0.1},
    "podnet": {"num_proxies": 3},
    "scr": {},
    "pser-ace": {"threshold": 1.0},
    "ccic": {},
}
REGULARIZER_ARGUMENTS = {
    "casper": {"weight": 0.1, "num_classes": 3, "num_neighbors": 3},
    "forward-only": {"weight": 1.0, "num_classes": 3},
    "cscct": {},
}
# Methods whose training never reads BatchNorm's running statistics: no teacher or guess in evaluation mode, no herding.
IGNORING_RUNNING_STATISTICS = ("er", "er-ace", "der++", "x-der", "scr", "pser-ace")
# Methods that choose what to keep by its features: with another network they keep other images of the same classes.
HERDING = ("icarl", "podnet")

REHEARSING = [name for name, method in METHODS.items() if method.keeps_memory]
MEMORYLESS = [name for name, method in METHODS.items() if not method.keeps_memory]


class DropoutConvNet(ConvNet):
    """Draws from the global generator in every pass in training mode."""

    def __init__(self, image_shape):
        super().__init__(image_shape, width=4)

    def forward(self, inputs):
        features, maps = super().forward(inputs)
        return F.dropout(features, 0.3, self.training), maps


class MyER(ER):
    """A method of the user's."""


class Rows(Trunk):
    """A quick trunk: the mean of every row of pixels, in each channel."""

    weights = "1"

    def __init__(self, *, image_size=8, views=1):
        super().__init__(image_size=image_size, views=views)
        self.dim = 3 * image_size

    def features(self, images):
        return images.mean(dim=3).flatten(1)


# What makes each regularizer the same as absent.
WITHOUT_EFFECT = {
    "casper": {"weight": 0.0},
    "forward-only": {"weight": 0.0},
    "cscct": {"clustering_weight": 0.0, "transfer_weight": 0.0},
}


def regularizer(name, **changes):
    return REGULARIZERS[name](**{**REGULARIZER_ARGUMENTS[name], **changes})


def small_trainer(method, regularizers=(), *, stream=None, backbone=None, **changes):
    """A trainer on the first two tasks of the digits, with a narrow network: half a second on one core.

    The method is one of the registered names, or a method.
    """
    settings = {"buffer_size": 20, "epochs": 1, "batch_size": 16, "lr": 0.1, "seed": 7, **changes}
    return Trainer(
        stream if stream is not None else split_digits()[:2],
        METHODS[method](**METHOD_ARGUMENTS[method]) if isinstance(method, str) else method,
        regularizers=regularizers,
        backbone=backbone or partial(ConvNet, width=4),
        **settings,
    )


def memory_filled_by(policy, trainer):
    """Run a trainer to its end; return another memory, filled by the policy with what its stream has shown."""
    expected = Buffer(trainer.memory.capacity, trainer.stream.item_shape, dtype=trainer.stream.item_type)
    generator = named_generator(trainer.seed, "memory")
    observe = trainer.method.observe

    def recording(batch, *rest):
        expected.insert(batch.images, batch.labels, policy=policy, generator=generator)
        return observe(batch, *rest)

    trainer.method.observe = recording
    trainer.run()
    return expected


def assert_same_state(first, second):
    """Compare two nested states bit for bit."""
    assert type(first) is type(second)
    if isinstance(first, dict):
        assert first.keys() == second.keys()
        for key in first:
            assert_same_state(first[key], second[key])
    elif isinstance(first, list | tuple):
        assert len(first) == len(second)
        for one, other in zip(first, second, strict=True):
            assert_same_state(one, other)
    elif isinstance(first, torch.Tensor):
        assert (first.shape, first.dtype) == (second.shape, second.dtype)
        bits = [each.contiguous().flatten().view(torch.uint8) for each in (first, second)]
        assert torch.equal(*bits)  # NaN is NaN
    else:
        assert first == second


def without_seconds(state):
    """A state without what may differ between two runs, and without the regularizers' own."""
    return {key: value for key, value in state.items() if key not in ("seconds", "regularizers")}


@dataclass
class OneStep:
    """One update in the third task of the digits, and all that is needed to compute it again.

    The memory holds exactly one batch, so that every draw is all of it; images are shown without augmentation;
    BatchNorm is in training mode. `net` and `memory` are as they were before the update, `gradients` and `terms` of it.
    """

    method: Method
    task: Task
    net: FeatureClassifier
    memory: dict
    images: torch.Tensor
    labels: torch.Tensor
    terms: dict
    gradients: dict
    optimizer: torch.optim.Optimizer

    def inputs(self, images):
        transform = self.method.transform
        return (images.double() / 255 - transform.mean[0]) / transform.std[0]

    def literal_net(self):
        """A copy of the network before the update, in double precision: its passes hold the reference values."""
        return deepcopy(self.net).double().train()

    def assert_gradients(self, net, loss):
        """Compare the gradients of a loss of the copied network with those of the update."""
        loss.backward()
        for name, parameter in net.named_parameters():
            expected = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
            found = self.gradients[name].double()
            torch.testing.assert_close(
                found, expected, rtol=2e-3, atol=2e-5, msg=lambda text, name=name: f"{name}: {text}"
            )


class Trap:
    """Unpickling it makes a directory: whoever reads pickles leaves a trace."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return (os.mkdir, (self.path,))


def without_augmentation(stream):
    return replace(stream, transform=replace(stream.transform, padding=0))


def hiding_labels(stream, hidden):
    """Hide training labels: those that `hidden` marks, given the labels."""

    def task_of(number):
        task = stream.make_task(number)

        def make_train():
            train = task.make_train()
            return ImageSet(train.images, train.labels.masked_fill(hidden(train.labels), -1))

        return replace(task, make_train=make_train)

    return replace(stream, make_task=task_of, hides_labels=True)


def nine_in_ten(labels):
    """Mark all but every tenth item of each class."""
    occurrences = F.one_hot(labels).cumsum(dim=0).gather(1, labels[:, None]).squeeze(1)
    return occurrences % 10 != 1


def one_step(method, *, task=2, extra_old=0, **changes):
    """Learn two tasks, then make one update in the third with 14 of its images and some old ones."""
    trainer = small_trainer(
        method, stream=without_augmentation(split_digits()), buffer_size=16, batch_size=16, lr=0.05, **changes
    )
    for _ in range(task):
        trainer.run_phase()
    part = trainer.stream[task]
    trainer.net.train()
    trainer.method.start_task(part)
    assert len(trainer.memory) == (16 if task else 0)
    old = slice(0, extra_old)
    images = torch.cat([part.train.images[:14], trainer.memory.images[old]])
    labels = torch.cat([part.train.labels[:14], trainer.memory.labels[old]])
    net, memory = deepcopy(trainer.net), trainer.memory.state_dict()
    optimizer = trainer.make_optimizer()
    inputs = trainer.method.view(images, trainer.generators["augment"])
    terms = trainer.method.observe(Batch(images, labels, inputs), part, Progress(0, 1, 0), optimizer)
    gradients = {name: parameter.grad.clone() for name, parameter in trainer.net.named_parameters()}
    return OneStep(trainer.method, part, net, memory, images, labels, terms, gradients, optimizer)
