"""What channels-last weights and bf16 autocast bring: one training step of ResNet18, forward and backward, in ratios.

    python benchmarks/precision.py [--threads N]

Batch of 64 images of 32x32. casper always uses channels-last weights; bf16 is `--precision bf16`. bf16 helps on a CPU
only where the CPU has instructions for it; elsewhere each product is emulated, and the last line says so.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from timing import median_seconds
from torch import nn

from casper.nets import FeatureClassifier, Precision, ResNet18

BATCH, CLASSES = 64, 100


def stepper(precision: Precision, channels_last: bool) -> Callable[[], None]:
    torch.manual_seed(0)
    backbone = ResNet18((3, 32, 32))
    net = FeatureClassifier(backbone, nn.Linear(backbone.dim, CLASSES), precision=precision)
    if channels_last:
        net = net.to(memory_format=torch.channels_last)
    inputs, labels = torch.randn(BATCH, 3, 32, 32), torch.arange(BATCH) % CLASSES

    def step() -> None:
        net.zero_grad()
        F.cross_entropy(net(inputs).logits, labels).backward()

    return step


def bf16_instructions() -> list[str]:
    """Which of the CPU's instruction sets compute in bf16; empty where there are none, or none that can be seen."""
    cpuinfo = Path("/proc/cpuinfo")
    flags = set(cpuinfo.read_text("utf-8").split()) if cpuinfo.exists() else set()
    return sorted(flags & {"avx512_bf16", "amx_bf16", "avx_ne_convert", "bf16"})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=1)
    torch.set_num_threads(parser.parse_args().threads)
    seconds = median_seconds(
        {
            "fp32": stepper("fp32", channels_last=False),
            "fp32, channels-last": stepper("fp32", channels_last=True),
            "bf16, channels-last": stepper("bf16", channels_last=True),
        },
        repeats=5,
    )
    plain = seconds["fp32"]
    print(f"{'ResNet18, 64 images of 32x32':<30} {'ms':>7} {'fp32 / this':>12}")
    for name, value in seconds.items():
        print(f"{name:<30} {1e3 * value:>7.0f} {plain / value:>12.2f}")
    found = ", ".join(bf16_instructions()) or "none found: bf16 is emulated here and does not help"
    print(f"bf16 instructions of this CPU: {found}")


if __name__ == "__main__":
    main()
