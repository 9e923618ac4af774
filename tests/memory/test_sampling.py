import math
from collections import Counter
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from casper.memory import ClassIndex, balanced_rows, uniform_rows


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def index_of(counts, seed=0):
    """An index with these counts by label, in scattered slots, and the label of each slot."""
    labels = torch.tensor([label for label, count in counts.items() for _ in range(count)], dtype=torch.int64)
    labels = labels[torch.randperm(len(labels), generator=generator(seed))].tolist()
    return ClassIndex(labels), labels


def per_class(rows, labels):
    return Counter(labels[row] for row in rows.tolist())


def within_sigmas(observed, draws, probability, sigmas=4):
    return abs(observed - draws * probability) < sigmas * math.sqrt(draws * probability * (1 - probability))


@pytest.mark.parametrize(("num_rows", "size", "drawn"), [(10, 4, 4), (10, 10, 10), (10, 25, 10), (3, 0, 0), (0, 5, 0)])
def test_uniform_rows_are_distinct_and_as_many_as_there_are(num_rows, size, drawn):
    rows = uniform_rows(num_rows, size, generator())
    assert rows.dtype == torch.int64
    assert len(rows) == len(set(rows.tolist())) == drawn
    assert all(0 <= row < num_rows for row in rows.tolist())


def test_uniform_rows_are_uniform():
    source, draws = generator(1), 4000
    counts = torch.zeros(12)
    for _ in range(draws):
        counts[uniform_rows(12, 3, source)] += 1
    assert all(within_sigmas(count, draws, 3 / 12) for count in counts.tolist())


@pytest.mark.parametrize(
    ("num_classes", "shares"),
    [(16, {4: 16}), (10, {7: 4, 6: 6}), (12, {6: 4, 5: 8}), (13, {5: 12, 4: 1}), (1, {64: 1})],
)
@pytest.mark.parametrize("shrink", [False, True])
def test_64_rows_are_shared_evenly(num_classes, shares, shrink):
    index, labels = index_of(dict.fromkeys(range(20), 70))
    for seed in range(5):
        rows = balanced_rows(index, 64, num_classes, generator(seed), shrink=shrink)
        assert rows.dtype == torch.int64
        assert len(rows) == len(set(rows.tolist())) == 64
        assert Counter(per_class(rows, labels).values()) == shares


def test_more_classes_than_there_are_means_all_of_them():
    index, labels = index_of(dict.fromkeys(range(6), 20))
    assert per_class(balanced_rows(index, 30, 16, generator()), labels) == dict.fromkeys(range(6), 5)


def test_rows_come_class_by_class():
    index, labels = index_of(dict.fromkeys(range(6), 20))
    drawn = [labels[row] for row in balanced_rows(index, 30, 6, generator()).tolist()]
    assert sum(here != before for before, here in pairwise(drawn)) == 5


def test_classes_are_chosen_uniformly():
    index, labels = index_of(dict.fromkeys(range(20), 10))
    source, draws = generator(2), 1500
    chosen = Counter()
    for _ in range(draws):
        chosen.update(per_class(balanced_rows(index, 16, 5, source), labels).keys())
    assert all(within_sigmas(chosen[label], draws, 5 / 20) for label in range(20))


def test_classes_that_fill_the_quota_are_chosen_uniformly_among_unequal_ones():
    index, labels = index_of({0: 5, 1: 5, 2: 50, 3: 7, 4: 300, 5: 5})
    source, draws = generator(3), 1500
    chosen = Counter()
    for _ in range(draws):
        chosen.update(per_class(balanced_rows(index, 15, 3, source), labels).keys())
    assert all(within_sigmas(chosen[label], draws, 3 / 6) for label in range(6))


def test_larger_shares_fall_on_all_classes_alike():
    index, labels = index_of(dict.fromkeys(range(10), 20))
    source, draws = generator(4), 1000
    larger = Counter()
    for _ in range(draws):
        larger.update(
            label for label, count in per_class(balanced_rows(index, 64, 10, source), labels).items() if count == 7
        )
    assert all(within_sigmas(larger[label], draws, 4 / 10) for label in range(10))


def test_larger_shares_fall_on_scarce_classes_as_often_as_on_others():
    index, labels = index_of({0: 20, 1: 20, 2: 3})
    source, draws = generator(6), 1000
    larger = Counter()
    for _ in range(draws):
        drawn = per_class(balanced_rows(index, 14, 3, source), labels)
        assert drawn[2] == 3
        larger.update(label for label in (0, 1) if drawn[label] == 5)
    assert all(within_sigmas(larger[label], draws, 2 / 3) for label in (0, 1))


def test_rows_of_a_class_are_chosen_uniformly():
    index, _ = index_of(dict.fromkeys(range(4), 8))
    source, draws = generator(5), 1500
    counts = torch.zeros(32)
    for _ in range(draws):
        counts[balanced_rows(index, 12, 4, source)] += 1
    assert all(within_sigmas(count, draws, 3 / 8) for count in counts.tolist())


@pytest.mark.parametrize("shrink", [False, True])
def test_where_the_released_rule_finds_no_class_scarce_ones_join(shrink):
    index, labels = index_of({**dict.fromkeys(range(10), 4), **dict.fromkeys(range(10, 30), 3)})
    scarce = set()
    for seed in range(20):
        drawn = per_class(balanced_rows(index, 64, 16, generator(seed), shrink=shrink), labels)
        assert len(drawn) == 16
        assert all(drawn[label] == 4 for label in range(10))
        assert sum(drawn.values()) == 10 * 4 + 6 * 3
        scarce |= drawn.keys() - set(range(10))
    assert scarce == set(range(10, 30))


@pytest.mark.parametrize(("shrink", "expected"), [(False, {8: 0, 4: 8, 3: 8}), (True, {8: 8})])
def test_released_rule_takes_more_of_fewer_classes(shrink, expected):
    index, labels = index_of({**dict.fromkeys(range(8), 8), **dict.fromkeys(range(8, 16), 3)})
    drawn = per_class(balanced_rows(index, 64, 16, generator(), shrink=shrink), labels)
    assert Counter(drawn.values()) == Counter(expected)
    assert set(range(8)) <= drawn.keys()


def test_best_populated_classes_join_first():
    index, labels = index_of({0: 20, 1: 2, 2: 6, 3: 4, 4: 5})
    for seed in range(10):
        drawn = per_class(balanced_rows(index, 30, 3, generator(seed)), labels)
        assert drawn == {0: 10, 2: 6, 4: 5}


@pytest.mark.parametrize("shrink", [False, True])
def test_classes_with_one_item_are_left_out(shrink):
    index, labels = index_of({0: 1, 1: 5, 2: 1, 3: 5})
    for seed in range(10):
        drawn = per_class(balanced_rows(index, 8, 4, generator(seed), shrink=shrink), labels)
        assert drawn == {1: 4, 3: 4}


@pytest.mark.parametrize("shrink", [False, True])
@pytest.mark.parametrize("counts", [{}, {0: 1}, {0: 1, 5: 1}])
def test_no_class_of_two_gives_no_rows(counts, shrink):
    rows = balanced_rows(index_of(counts)[0], 8, 4, generator(), shrink=shrink)
    assert rows.shape == (0,)
    assert rows.dtype == torch.int64


def test_draws_follow_the_generator():
    index, _ = index_of(dict.fromkeys(range(20), 10))
    first, again, other = (balanced_rows(index, 16, 8, generator(seed)).tolist() for seed in (1, 1, 2))
    assert first == again != other


@settings(deadline=None, derandomize=True, max_examples=150)
@given(
    st.lists(st.integers(0, 9), max_size=14),
    st.integers(0, 80),
    st.integers(1, 20),
    st.integers(0, 10**6),
)
def test_scarce_classes_give_what_they_have(counts, size, num_classes, seed):
    index, labels = index_of(dict(enumerate(counts)), seed)
    rows = balanced_rows(index, size, num_classes, generator(seed))
    drawn = per_class(rows, labels)
    usable = [count for count in counts if count >= 2]
    size = min(size, sum(counts))
    wanted = min(num_classes, len(usable), size)
    assert len(rows) == len(set(rows.tolist())) <= size
    assert len(drawn) == wanted
    if wanted == 0:
        return
    quota, larger = divmod(size, wanted)
    largest = quota + (larger > 0)
    assert all(counts[label] >= 2 for label in drawn)
    assert all(number in {min(counts[label], quota), min(counts[label], largest)} for label, number in drawn.items())
    assert sum(number > quota for number in drawn.values()) <= larger
    if sum(count >= largest for count in usable) >= wanted:
        assert len(rows) == size
    least = min(min(counts[label], largest) for label in drawn)
    assert all(min(count, largest) <= least for label, count in enumerate(counts) if count >= 2 and label not in drawn)


@settings(deadline=None, derandomize=True, max_examples=150)
@given(
    st.lists(st.integers(0, 9), max_size=14),
    st.integers(0, 80),
    st.integers(1, 20),
    st.integers(0, 10**6),
)
def test_released_rule_takes_full_quotas_or_falls_back(counts, size, num_classes, seed):
    index, labels = index_of(dict(enumerate(counts)), seed)
    rows = balanced_rows(index, size, num_classes, generator(seed), shrink=True)
    drawn = per_class(rows, labels)
    assert len(rows) == len(set(rows.tolist()))
    usable = [count for count in counts if count >= 2]
    size = min(size, sum(counts))
    wanted = min(num_classes, len(usable), size)
    while wanted and sum(count >= math.ceil(size / wanted) for count in usable) < wanted:
        wanted = sum(count >= math.ceil(size / wanted) for count in usable)
    if wanted:
        quota, larger = divmod(size, wanted)
        assert Counter(drawn.values()) == Counter([quota + 1] * larger + [quota] * (wanted - larger))
    else:
        assert rows.tolist() == balanced_rows(index, size, num_classes, generator(seed)).tolist()
