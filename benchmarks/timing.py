"""Interleaved timing: the contestants take turns, so that a busy moment of the machine hits all of them."""

import time
from collections.abc import Callable, Mapping


def median_seconds(contestants: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Run each contestant `repeats` times in turn, after two warm-up rounds, and return its median time."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for round_ in range(repeats + 2):
        for name, run in contestants.items():
            start = time.perf_counter()
            run()
            if round_ >= 2:
                times[name].append(time.perf_counter() - start)
    return {name: sorted(values)[len(values) // 2] for name, values in times.items()}
