"""What the analysis of a large latent space costs: the search for neighbours and the eigenvectors, apart.

    python benchmarks/latent_graph.py [--points 1250 2500 5000 10000] [--dim 512] [--count 25] [--threads 2]

Random features in 50 overlapping groups; 10 neighbours each. The search is exact, and quadratic with a small constant;
the eigenvectors are near-linear in the edges. The exponent is that of n between one line and the line before it. Up to
5,000 points the whole decomposition of the dense Laplacian stands beside them. `--points 50000` shows the largest
graph that is meant to be comfortable.
"""

import argparse
import math
import resource
import time

import torch

from casper.analysis import latent_graph, lowest_eigenpairs
from casper.spectral import normalized_laplacian

_DENSE_UP_TO = 5000


def features(points: int, dim: int) -> torch.Tensor:
    """Make groups that overlap, so that the graph is connected."""
    generator = torch.Generator().manual_seed(0)
    centres = torch.randn(50, dim, generator=generator)
    places = torch.randint(50, (points,), generator=generator)
    return (0.3 * centres[places] + torch.randn(points, dim, generator=generator)).relu()


def row(*cells: object) -> str:
    """Write the cells of a line, each as wide as its column."""
    return " ".join(f"{cell!s:>{width}}" for cell, width in zip(cells, (7, 11, 7, 13, 7, 8, 6, 9), strict=True))


def exponent(seconds: float, before: float | None, points: int, points_before: int) -> str:
    """Compute by which power of n the time grew."""
    return "" if before is None else f"n^{math.log(seconds / before) / math.log(points / points_before):.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, nargs="+", default=[1250, 2500, 5000, 10000])
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--count", type=int, default=25)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(f"{options.dim} features, {options.count} eigenvectors, 10 neighbours, threads: {options.threads}")
    print(row("points", "neighbours", "", "eigenvectors", "", "dense", "parts", "peak GiB"))
    latent_graph(features(500, options.dim), 10)  # what is imported and warmed up at first use
    before: tuple[float, float, int] | None = None
    for points in options.points:
        given = features(points, options.dim)
        start = time.perf_counter()
        graph = latent_graph(given, 10)
        searched = time.perf_counter() - start
        start = time.perf_counter()
        _, _, parts = lowest_eigenpairs(graph, options.count)
        solved = time.perf_counter() - start
        dense = ""
        if points <= _DENSE_UP_TO:
            start = time.perf_counter()
            torch.linalg.eigh(normalized_laplacian(torch.from_numpy(graph.toarray())))
            dense = f"{time.perf_counter() - start:.2f} s"
        grew = [
            exponent(now, None if before is None else before[place], points, 1 if before is None else before[2])
            for place, now in enumerate((searched, solved))
        ]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        times = f"{searched:.2f} s", grew[0], f"{solved:.2f} s", grew[1], dense
        print(row(points, *times, parts, f"{peak:.2f}"), flush=True)
        before = searched, solved, points


if __name__ == "__main__":
    main()
