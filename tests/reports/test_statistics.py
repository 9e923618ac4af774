import pytest

from casper.reports.statistics import Gain, Spread, paired_gain


def test_the_spread_of_values():
    assert Spread.of([1.0, 2.0, 6.0]) == Spread(3.0, pytest.approx(7**0.5), 3)
    assert Spread.of([4.0]) == Spread(4.0, None, 1)


def test_a_gain_is_paired_by_seed_with_students_interval():
    gain = paired_gain({0: 11.0, 1: 22.0, 2: 33.0, 9: 99.0}, {2: 30.0, 1: 20.0, 0: 10.0, 7: 0.0})
    # Differences 1, 2, 3: standard deviation 1, and the quantile for two degrees of freedom is 4.302653.
    half = 4.302652729911275 / 3**0.5
    assert gain == Gain(2.0, pytest.approx(2.0 - half), pytest.approx(2.0 + half), 3)


def test_pairing_sees_through_what_all_seeds_share():
    gain = paired_gain({0: 10.5, 1: 50.6, 2: 90.4}, {0: 10.0, 1: 50.0, 2: 90.0})
    assert gain.verdict == "higher"


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ({0: 1.0, 1: 1.1, 2: 0.9}, "higher"),
        ({0: -1.0, 1: -1.1, 2: -0.9}, "lower"),
        ({0: 1.0, 1: -1.1, 2: 0.9}, "not distinguishable"),
        ({0: 0.0, 1: 0.0}, "not distinguishable"),
        ({0: 5.0}, "unknown"),
        ({0: 0.18, 1: 0.17 + 0.01}, "unknown"),  # they agree but for rounding: chance
    ],
)
def test_the_verdict(values, verdict):
    assert paired_gain(values, dict.fromkeys(values, 0.0)).verdict == verdict


def test_without_a_common_seed_there_is_no_gain():
    assert paired_gain({0: 1.0}, {1: 1.0}) is None
