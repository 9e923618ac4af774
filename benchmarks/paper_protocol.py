"""How long the paper's runs would take here: 20 training steps of each, projected.

    python benchmarks/paper_protocol.py --data-dir DATA [--threads N] [--steps 20] [STREAM ...]

ER-ACE with CaSpeR, from the second task on: stream, replay and CaSpeR's pass in every step, with a full memory. A data
set that is not to be had is left out, and said.
"""

import argparse
import time

import torch

from casper.config import resolve_config
from casper.errors import DataError
from casper.formatting import duration
from casper.memory import reservoir
from casper.runs import build_trainer
from casper.step import Progress
from casper.types import Batch

STREAMS = ["split-cifar10", "split-cifar100", "split-mini-imagenet", "rotated-mnist"]


def seconds_per_step(stream: str, data_dir: str, steps: int) -> tuple[float, int]:
    """Train on the second task; returns the time of a step and the number of steps of the whole run."""
    trainer = build_trainer(resolve_config({"stream": stream}), data_dir=data_dir)
    first, task = trainer.stream[0], trainer.stream[1]
    generator = trainer.generators["memory"]
    while len(trainer.memory) < trainer.memory.capacity:
        trainer.memory.insert(first.train.images, first.train.labels, policy=reservoir, generator=generator)
    optimizer = trainer.method.make_optimizer(trainer.net.parameters(), trainer.lr)
    trainer.net.train()
    started = time.perf_counter()
    for step in range(steps):
        rows = torch.arange(step * trainer.batch_size, (step + 1) * trainer.batch_size) % len(task.train)
        part = task.train[rows]
        batch = Batch(part.images, part.labels, trainer.method.view(part.images, trainer.generators["augment"]))
        trainer.method.observe(batch, task, Progress(0, trainer.epochs, step), optimizer, trainer.regularizers)
    elapsed = (time.perf_counter() - started) / steps
    per_task = [-(-len(one.train) // trainer.batch_size) * trainer.epochs for one in trainer.stream]
    return elapsed, sum(per_task)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data-dir", required=True)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("streams", nargs="*", default=STREAMS)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(f"ER-ACE + CaSpeR, {options.steps} steps of --protocol paper, {options.threads} threads")
    print(f"{'stream':<20} {'backbone':<16} {'ms/step':>8} {'steps':>7}  projected training")
    for stream in options.streams:
        backbone = resolve_config({"stream": stream}).options.backbone
        try:
            seconds, steps = seconds_per_step(stream, options.data_dir, options.steps)
        except DataError as error:
            print(f"{stream:<20} {backbone:<16} not here: {str(error).splitlines()[0]}")
            continue
        print(f"{stream:<20} {backbone:<16} {1e3 * seconds:>8.1f} {steps:>7}  {duration(seconds * steps)}", flush=True)


if __name__ == "__main__":
    main()
