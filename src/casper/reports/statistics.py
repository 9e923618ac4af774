"""Means over seeds, and differences paired by seed, with confidence intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Literal

LEVEL = 0.95
_ROUNDING = 1e-9  # relative to the mean; a smaller standard deviation counts as zero
Verdict = Literal["higher", "lower", "not distinguishable", "unknown"]


@dataclass(frozen=True)
class Spread:
    """Mean and sample standard deviation (n - 1 in the denominator; None for one value) of n values."""

    mean: float
    std: float | None
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Summarize at least one value."""
        return cls(mean(values), stdev(values) if len(values) > 1 else None, len(values))


@dataclass(frozen=True)
class Gain:
    """A difference paired by seed.

    Attributes:
        mean: The mean difference.
        low: The lower end of its 95 % interval; None for one pair, or pairs with equal differences.
        high: The upper end.
        count: The number of pairs.
    """

    mean: float
    low: float | None
    high: float | None
    count: int

    @property
    def verdict(self) -> Verdict:
        """Whether zero lies outside the interval, and on which side."""
        if self.low is None or self.high is None:
            return "unknown"
        if self.low > 0:
            return "higher"
        return "lower" if self.high < 0 else "not distinguishable"


def paired_gain(values: Mapping[int, float], base: Mapping[int, float]) -> Gain | None:
    """Compare two variants on their common seeds; returns None if there is none.

    With differences d_1 .. d_n of mean m and sample standard deviation s the interval is m ± t s / sqrt(n), t the 0.975
    quantile of Student's distribution with n - 1 degrees of freedom. It assumes approximately normal
    differences; a bootstrap assumes less, but with three or five seeds it can only return their extremes. If all
    differences are equal and not zero, there is no interval: equal digits in two seeds are a coincidence, and say
    nothing about further seeds.

    Args:
        values: One value per seed.
        base: The same for the variant to compare with.
    """
    differences = [values[seed] - base[seed] for seed in sorted(values.keys() & base.keys())]
    if not differences:
        return None
    from scipy.stats import t as student  # imported here, as it takes two seconds

    count, middle = len(differences), mean(differences)
    spread = stdev(differences) if count > 1 else 0.0
    all_alike = spread <= _ROUNDING * abs(middle)
    if count == 1 or (all_alike and middle != 0):
        return Gain(middle, None, None, count)
    half = float(student.ppf((1 + LEVEL) / 2, count - 1)) * spread / count**0.5
    return Gain(middle, middle - half, middle + half, count)
