"""Small, quick runs of every method with every regularizer."""

from functools import partial

import torch
from torch import nn

from casper import MLP, Buffer, ConvNet, Trainer, split_digits
from casper.experiments import METHODS, REGULARIZERS
from casper.randomness import named_generator

# What each registered name is built with in the tests. A name that is not listed here is not tested: see test_listed.
METHOD_ARGUMENTS = {"finetune": {}, "joint": {}, "er": {}, "er-ace": {}}
REGULARIZER_ARGUMENTS = {
    "casper": {"weight": 0.1, "num_classes": 3, "num_neighbors": 3},
    "forward-only": {"weight": 1.0, "num_classes": 3},
}
# Methods whose training never reads BatchNorm's running statistics: no teacher in evaluation mode, no herding.
IGNORING_RUNNING_STATISTICS = ("er", "er-ace")

REHEARSING = [name for name, method in METHODS.items() if method.keeps_memory]
MEMORYLESS = [name for name, method in METHODS.items() if not method.keeps_memory]


class DropoutMLP(MLP):
    """Draws from the global generator in every pass in training mode."""

    def __init__(self, image_shape):
        super().__init__(image_shape, hidden=16)
        self.layers.append(nn.Dropout(0.3))


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
    expected = Buffer(trainer.memory.capacity, trainer.stream.image_shape)
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
        assert torch.equal(first, second)
    else:
        assert first == second


def without_seconds(state):
    """A state without what may differ between two runs, and without the regularizers' own."""
    return {key: value for key, value in state.items() if key not in ("seconds", "regularizers")}
