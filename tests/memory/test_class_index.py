import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from casper.errors import ParameterError
from casper.memory import ClassIndex


def test_empty_index():
    index = ClassIndex()
    assert len(index) == 0
    assert index.classes == []
    assert index.count(3) == 0
    assert list(index.slots(3)) == []


def test_index_of_given_labels():
    index = ClassIndex([5, 2, 5, 5, 9])
    assert len(index) == 5
    assert index.classes == [2, 5, 9]
    assert [index.count(label) for label in (2, 5, 9, 0)] == [1, 3, 1, 0]
    assert list(index.slots(5)) == [0, 2, 3]


def test_counts_are_ascending_by_class():
    index = ClassIndex([7, 3, 7, 5, 7])
    assert list(index.counts.items()) == [(3, 1), (5, 1), (7, 3)]
    index.assign(3, 3)
    assert list(index.counts.items()) == [(3, 2), (7, 3)]


def test_reassigned_slot_leaves_its_old_class():
    index = ClassIndex([0, 0, 1])
    index.assign(0, 1)
    assert list(index.slots(0)) == [1]
    assert list(index.slots(1)) == [0, 2]
    assert len(index) == 3


def test_class_without_slots_is_gone():
    index = ClassIndex([0, 1])
    index.assign(0, 1)
    assert index.classes == [1]
    assert index.count(0) == 0
    assert index.median_count() == 2


def test_slot_reassigned_to_its_own_class_changes_nothing():
    index = ClassIndex([4, 4, 7])
    index.assign(1, 4)
    assert list(index.slots(4)) == [0, 1]
    assert index.count(4) == 2
    assert index.median_count() == 1.5


def test_median_counts_only_classes_that_own_slots():
    assert ClassIndex([0, 1, 1, 5, 5, 5]).median_count() == 2
    assert ClassIndex([0, 1, 1, 1]).median_count() == 2
    assert ClassIndex([0, 1, 1]).median_count() == 1.5


def test_largest_class_is_lowest_label_on_ties():
    assert ClassIndex([7, 7, 3, 3, 1]).largest_class() == 3
    assert ClassIndex([3, 7, 7, 3, 1]).largest_class() == 3
    assert ClassIndex([7, 7, 3, 3, 7]).largest_class() == 7


@pytest.mark.parametrize("slot", [-1, 3, 100])
def test_slots_are_filled_without_holes(slot):
    index = ClassIndex([0, 1])
    with pytest.raises(ParameterError, match=r"`slot` must be in \[0, 2\]") as error:
        index.assign(slot, 0)
    assert error.value.found == str(slot)
    assert len(index) == 2


@settings(deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 11), st.integers(0, 4)), min_size=1, max_size=80))
def test_agrees_with_plain_lists_after_any_writes(writes):
    index, labels = ClassIndex(), []
    for place, label in writes:
        slot = min(place, len(labels))
        index.assign(slot, label)
        labels[slot : slot + 1] = [label]
    present = sorted(set(labels))
    counts = [labels.count(label) for label in present]
    assert len(index) == len(labels)
    assert index.classes == present
    assert [index.count(label) for label in present] == counts
    assert index.median_count() == statistics.median(counts)
    assert index.largest_class() == present[counts.index(max(counts))]
    for label in present:
        assert list(index.slots(label)) == [slot for slot, owner in enumerate(labels) if owner == label]


def test_the_first_slots_of_every_class():
    index = ClassIndex([2, 0, 2, 2, 0, 1])
    assert index.first_slots(2) == [1, 4, 5, 0, 2]
    assert index.first_slots(0) == []
