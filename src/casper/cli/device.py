"""Where to compute."""

import re

import torch

from casper.config import ConfigError

MOST_THREADS = 1024


def choose_device(name: str) -> str:
    """Turn `auto`, `cpu`, `cuda` or `cuda:N` into a device that is there, or raise `ConfigError`."""
    if not re.fullmatch(r"auto|cpu|cuda(:\d{1,4})?", name):
        raise ConfigError(f"--device should be auto, cpu, cuda or cuda:N; found {name!r}")
    available = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto":
        return "cuda" if available else "cpu"
    if name.startswith("cuda") and int(name.partition(":")[2] or 0) >= available:
        raise ConfigError(f"--device {name} should be a GPU of this machine; found {available} GPUs")
    return name


def use_threads(threads: int | None) -> None:
    """Set how many threads PyTorch computes with; None: leave that to PyTorch."""
    if threads is None:
        return
    if not 1 <= threads <= MOST_THREADS:
        raise ConfigError(f"--threads should be in 1..{MOST_THREADS}; found {threads}")
    torch.set_num_threads(threads)


def precision_notes(precision: str, device: str) -> list[str]:
    """Warn of bf16 on a CPU that has no instructions for it: every product is emulated, and takes longer."""
    slow = precision == "bf16" and device == "cpu" and torch.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2")
    return ["--precision bf16 is slower than fp32 on this CPU, which has no instructions for it"] if slow else []
