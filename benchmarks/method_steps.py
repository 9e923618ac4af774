"""Where a training step's time goes, method by method.

    python benchmarks/method_steps.py [--size resnet18] [--regularizer casper] [--threads 1] [--steps N] [METHOD ...]

In the second task of ten (100 classes, batches of 64, memory of 500, random images: their content costs nothing), every
part of a step is timed from inside: the network's passes, the teacher's and the replayed batches' included, the
backward pass, and everything else by name. The shares are of the same steps, so a busy machine changes them little.
Work at the start and end of a task is listed apart.
"""

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch

from casper import CaSpeR, Trainer, class_split
from casper.config import METHODS
from casper.nets import ConvNet, FeatureClassifier, ResNet18
from casper.streams import Transform
from casper.training import Event, TaskTrained
from casper.types import ImageSet

SIZES: dict[str, tuple[int, Callable[..., Any]]] = {
    "desk": (16, partial(ConvNet, width=16)),
    "resnet18": (32, ResNet18),
}
CLASSES, TASKS, BATCH = 100, 10, 64
PARTS = ("forward", "backward", "draw and view", "losses", "regularizer", "clip and update", "remember")


class Clock:
    """Sums up the time spent in named parts; what is called inside another part counts once, for the inner one.

    Except in work at a task's start or end, which keeps the passes it makes.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._inside: list[float] = []
        self._at_an_end = False

    def timed(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a call so that its time is added to a part."""

        def wrapped(*arguments: Any, **named: Any) -> Any:
            if self._at_an_end:
                return call(*arguments, **named)
            self._at_an_end = name.startswith("task")
            self._inside.append(0.0)
            start = time.perf_counter()
            try:
                return call(*arguments, **named)
            finally:
                elapsed = time.perf_counter() - start
                self._at_an_end = False
                self.seconds[name] += elapsed - self._inside.pop()
                if self._inside:
                    self._inside[-1] += elapsed

        return wrapped


@contextmanager
def watched_passes(clock: Clock) -> Iterator[None]:
    """Time every pass of every network, the teacher's too, and every backward pass."""
    forward, backward = FeatureClassifier.forward, torch.Tensor.backward
    FeatureClassifier.forward = clock.timed("forward", forward)  # type: ignore[method-assign]
    torch.Tensor.backward = clock.timed("backward", backward)  # type: ignore[method-assign]
    try:
        yield
    finally:
        FeatureClassifier.forward, torch.Tensor.backward = forward, backward  # type: ignore[method-assign]


def random_stream(size: int, steps: int) -> Any:
    """Make ten tasks of ten classes, `steps` batches each."""
    per_class = BATCH * steps // (CLASSES // TASKS) + 1
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(CLASSES).repeat(per_class)
    shape = (len(labels), 3, size, size)
    data = ImageSet(torch.randint(256, shape, dtype=torch.uint8, generator=generator), labels)
    transform = Transform((0.5,) * 3, (0.25,) * 3, padding=2, flip=True)
    return class_split(data, data[torch.arange(CLASSES)], num_tasks=TASKS, transform=transform)


def profile(name: str, size: str, steps: int, regularizers: list[Any]) -> tuple[dict[str, float], float, int]:
    """Train on two tasks; returns the seconds of each part in the second, its steps' total and their number."""
    pixels, backbone = SIZES[size]
    stream = random_stream(pixels, steps)
    method = METHODS[name]()
    clock, counted, trained = Clock(), [0], [0.0]
    make_optimizer = method.make_optimizer

    def optimizer(*arguments: Any) -> Any:
        made = make_optimizer(*arguments)
        made.step = clock.timed("clip and update", made.step)
        return made

    def listen(event: Event) -> None:
        if isinstance(event, TaskTrained):
            trained.append(time.perf_counter())

    method.make_optimizer = optimizer
    trainer = Trainer(
        stream,
        method,
        regularizers=regularizers,
        backbone=backbone,
        buffer_size=500,
        batch_size=BATCH,
        lr=0.01,
        listeners=[listen],
    )
    trainer.run_phase()
    clock.seconds.clear()
    for part, attributes in {
        "draw and view": ("draw", "view"),
        "losses": ("losses",),
        "clip and update": ("clip",),
        "remember": ("remember",),
        "task start": ("start_task", "training_set"),
        "task end": ("end_task",),
    }.items():
        for attribute in attributes:
            setattr(method, attribute, clock.timed(part, getattr(method, attribute)))
    for regularizer in regularizers:
        regularizer.term = clock.timed("regularizer", regularizer.term)
    method.observe = _counting(method.observe, counted)
    start = time.perf_counter()
    with watched_passes(clock):
        trainer.run_phase()
    return clock.seconds, trained[-1] - start, counted[0]


def _counting(observe: Callable[..., Any], counted: list[int]) -> Callable[..., Any]:
    def wrapped(*arguments: Any) -> Any:
        counted[0] += 1
        return observe(*arguments)

    return wrapped


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=None, help="default: 60 at desk size, 4 with resnet18")
    parser.add_argument("--size", choices=SIZES, default="desk")
    parser.add_argument("--regularizer", choices=["none", "casper"], default="none")
    parser.add_argument("methods", nargs="*", default=["er-ace", "icarl", "der++", "x-der", "podnet"])
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    steps = options.steps or {"desk": 60, "resnet18": 4}[options.size]
    print(f"{options.size}, batches of {BATCH}, {options.threads} threads, {options.regularizer} beside each method")
    print(f"{'method':<8} {'ms/step':>8}  " + " ".join(f"{part:>15}" for part in PARTS) + f" {'everything else':>16}")
    for name in options.methods:
        parts = [CaSpeR(0.01, 8, 8)] if options.regularizer == "casper" else []
        seconds, total, count = profile(name, options.size, steps, parts)
        at_the_ends = {part: seconds.pop(part, 0.0) for part in ("task start", "task end")}
        in_steps = total - sum(at_the_ends.values())
        shares = {part: 100 * seconds.get(part, 0.0) / in_steps for part in PARTS}
        rest = 100 - shares["forward"] - shares["backward"]
        cells = " ".join(f"{shares[part]:>14.1f}%" for part in PARTS)
        ends = ", ".join(f"{part} {1e3 * value:.0f} ms" for part, value in at_the_ends.items())
        print(f"{name:<8} {1e3 * in_steps / count:>8.1f}  {cells} {rest:>15.1f}%   apart: {ends}", flush=True)


if __name__ == "__main__":
    main()
