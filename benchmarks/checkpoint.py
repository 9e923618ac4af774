"""What a checkpoint costs: gathered, checked, written and synced, against the time between two of them.

    python benchmarks/checkpoint.py [--directory DIR] [--repeats 5]

The paper's networks and memories, full, with the teacher of those methods that have one; random images. The pause is
that of the default, `--checkpoint-every auto`.
"""

import argparse
import tempfile
import time
from functools import partial
from pathlib import Path

import torch

from casper import ConvNet, Trainer
from casper.config import METHODS
from casper.methods import check_weights
from casper.nets import EfficientNetB2, ResNet18, snapshot
from casper.runs.checkpointing import usual_pause
from casper.streams import Transform, class_split
from casper.training import save_checkpoint
from casper.types import ImageSet

# What it stands for, method, backbone, image size, classes, memory
CASES = [
    ("digits", "er-ace", partial(ConvNet, width=16), 8, 10, 50),
    ("CIFAR-100, desk", "er-ace", partial(ConvNet, width=32), 16, 100, 500),
    ("CIFAR-100, paper", "er-ace", ResNet18, 32, 100, 2000),
    ("CIFAR-100, paper", "x-der", ResNet18, 32, 100, 2000),
    ("CIFAR-100, paper", "icarl", ResNet18, 32, 100, 2000),
    ("miniImageNet, paper", "er-ace", EfficientNetB2, 84, 100, 5000),
    ("miniImageNet, paper", "podnet", EfficientNetB2, 84, 100, 5000),
]


def trainer_with_a_full_memory(method: str, backbone: object, size: int, classes: int, memory: int) -> Trainer:
    """Build what a run has in its last task."""
    labels = torch.arange(max(memory, classes)) % classes
    images = torch.randint(256, (len(labels), 3, size, size), dtype=torch.uint8)
    data = ImageSet(images, labels)
    stream = class_split(data, data, num_tasks=1, transform=Transform((0.5,) * 3, (0.2,) * 3))
    trainer = Trainer(stream, METHODS[method](), backbone=backbone, buffer_size=memory)  # type: ignore[arg-type]
    kept = data[torch.arange(memory)]
    columns = {name: torch.rand(memory, *column.shape[1:]) for name, column in trainer.memory.columns.items()}
    trainer.memory.append(kept.images, kept.labels, columns)
    if hasattr(trainer.method, "teacher"):
        trainer.method.teacher = snapshot(trainer.net)
    trainer.optimizer = trainer.make_optimizer()
    return trainer


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--directory", help="Where to write. Default: a temporary directory.")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print(f"{'':<22} {'method':<8} {'MB':>7} {'seconds':>8} {'pause':>6}  share")
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        path = Path(directory) / "checkpoint.pt"
        for what, method, backbone, size, classes, memory in CASES:
            trainer = trainer_with_a_full_memory(method, backbone, size, classes, memory)
            seconds = []
            for _ in range(options.repeats):
                start = time.perf_counter()
                check_weights(trainer.net, "here", trainer.optimizer)
                save_checkpoint(path, trainer.state_dict())
                seconds.append(time.perf_counter() - start)
            median = sorted(seconds)[len(seconds) // 2]
            megabytes, pause = path.stat().st_size / 1e6, usual_pause(median)
            share = 100 * median / (pause + median)
            print(f"{what:<22} {method:<8} {megabytes:>7.1f} {median:>8.3f} {pause:>4.0f} s  {share:.2f} %", flush=True)


if __name__ == "__main__":
    main()
