"""Streams that hide most labels, and single updates on them."""

from copy import deepcopy

import torch

from casper import split_digits
from casper.methods import CCIC
from casper.step import Progress
from casper.types import Batch
from support import hiding_labels, small_trainer, without_augmentation


def few_labels(**changes):
    """A trainer on digits of which one in five has a label; b // 10 = 2."""

    def hidden(labels):
        return torch.arange(len(labels)) % 5 != 0

    stream = hiding_labels(without_augmentation(split_digits()), hidden)
    settings = {"batch_size": 20, "buffer_size": 30, "lr": 0.001, "stream": stream, **changes}
    method = settings.pop("method", None) or CCIC()
    return small_trainer(method, **settings)


def batch_of(trainer, index, rows=slice(0, 20), labels=None):
    data = trainer.stream[index].train
    images = data.images[rows]
    inputs = trainer.stream.transform.test(images)
    return Batch(images, data.labels[rows] if labels is None else labels, inputs)


def ready(task=2, **changes):
    """A trainer that has learnt some tasks, in training mode."""
    trainer = few_labels(**changes)
    for _ in range(task):
        trainer.run_phase()
    trainer.net.train()
    return trainer


def update(trainer, batch, task, progress=Progress(0, 10, 0)):  # noqa: B008 - it is frozen
    """Make one update; returns its step, its terms, the network before it and its gradients."""
    draw, steps, before = trainer.method.draw, [], deepcopy(trainer.net)
    trainer.method.draw = lambda *rest: steps.append(draw(*rest)) or steps[-1]
    terms = trainer.method.observe(batch, trainer.stream[task], progress, trainer.make_optimizer())
    trainer.method.draw = draw
    return steps[0], terms, before, {name: each.grad for name, each in trainer.net.named_parameters()}


def same_images(first, second):
    """Tell whether two sets of images are the same, in whatever order."""
    return sorted(image.flatten().tolist() for image in first) == sorted(image.flatten().tolist() for image in second)


def recorded(trainer, phases):
    """Run some phases; returns (step, stream items so far by task, hidden or not, the memory as the step found it)."""
    steps, shown, draw = [], [], trainer.method.draw

    def recording(batch, task, progress):
        shown.extend(zip([task.index] * len(batch), batch.labels.tolist(), batch.images, strict=True))
        memory = trainer.memory.images.clone(), trainer.memory.labels.clone()
        steps.append((draw(batch, task, progress), list(shown), memory))
        return steps[-1][0]

    trainer.method.draw = recording
    for _ in range(phases):
        trainer.run_phase()
    return steps
