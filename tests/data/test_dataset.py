import pytest
import torch

from casper.data import RawSet, Split
from casper.data import dataset as splits
from casper.errors import DataError


def test_a_split_is_as_long_as_its_labels():
    split = Split(["a", "b", "a"], open=lambda row: None, place=lambda row: f"row {row}")
    assert len(split) == 3
    assert len(Split([], open=lambda row: None, place=str)) == 0


def test_labels_are_the_names_unless_names_are_given():
    assert tuple(RawSet({}).names) == ()


def train_and_test(raw):
    return splits.train_and_test(raw, "pets")


def split(labels, name="file"):
    return Split(labels, open=lambda row: None, place=lambda row: f"{name} row {row}")


def test_labels_are_numbered_in_order_whatever_they_are():
    raw = RawSet({"train": split([70, -5, 3, 3]), "test": split([3, 70, -5])})
    train, test, names = train_and_test(raw)
    assert train.labels.tolist() == [2, 0, 1, 1]
    assert test.labels.tolist() == [1, 2, 0]
    assert names == ["-5", "3", "70"]
    assert train.labels.dtype == torch.int64


def test_text_is_numbered_in_the_order_of_the_alphabet():
    train, _, names = train_and_test(RawSet({"train": split(["b", "a", "c"]), "test": split(["a", "b", "c"])}))
    assert names == ["a", "b", "c"]
    assert train.labels.tolist() == [1, 0, 2]


def test_classes_that_do_not_occur_have_no_number():
    raw = RawSet({"train": split([2, 0]), "test": split([0, 2])}, names=["cat", "dog", "emu"])
    train, _, names = train_and_test(raw)
    assert names == ["cat", "emu"]
    assert train.labels.tolist() == [1, 0]


def test_without_class_names_minus_one_is_a_label_like_any_other():
    train, _, names = train_and_test(RawSet({"train": split([1, -1]), "test": split([1, -1])}))
    assert names == ["-1", "1"]
    assert train.labels.tolist() == [1, 0]


def test_a_split_is_used_as_it_is():
    train, test, _ = train_and_test(RawSet({"train": split([0, 1] * 3), "test": split([1, 0])}))
    assert train.rows == tuple((0, row) for row in range(6))
    assert test.rows == ((0, 0), (0, 1))


def test_a_validation_split_is_for_testing_where_there_is_no_other():
    parts = {"train": split([0, 1] * 3), "validation": split([1, 0], "validation")}
    _, test, _ = train_and_test(RawSet(parts))
    assert test.parts[0].place(0) == "validation row 0"
    _, test, _ = train_and_test(RawSet({**parts, "test": split([1, 0], "test")}))
    assert test.parts[0].place(0) == "test row 0"


def test_a_test_split_by_name():
    parts = {"train": split([0, 1] * 3), "test": split([1, 0], "test"), "validation": split([1, 0], "validation")}
    _, test, _ = train_and_test(RawSet(parts, test="validation"))
    assert test.parts[0].place(0) == "validation row 0"


def test_a_split_that_is_not_used_may_have_no_labels():
    parts = {"train": split([0, 1]), "test": split([-1, -1]), "validation": split([1, 0])}
    train, test, _ = train_and_test(RawSet(parts, ["a", "b"], "validation"))
    assert (len(train.labels), test.labels.tolist()) == (2, [1, 0])


def test_an_unsplit_set_is_cut_five_to_one_in_every_class():
    labels = [row % 3 for row in range(1800)]
    train, test, _ = train_and_test(RawSet({"train": split(labels)}))
    assert train.labels.bincount().tolist() == [500, 500, 500]
    assert test.labels.bincount().tolist() == [100, 100, 100]
    assert sorted([*train.rows, *test.rows]) == [(0, row) for row in range(1800)]
    assert [labels[row] for _, row in test.rows] == test.labels.tolist()


def test_the_cut_is_shuffled_and_always_the_same():
    first, second = (train_and_test(RawSet({"all": split([0, 1] * 30)}))[1] for _ in range(2))
    assert first.rows == second.rows
    # These very rows, on every machine and with every version: results depend on them.
    assert [row for _, row in first.rows] == [4, 8, 11, 15, 23, 31, 32, 34, 42, 57]


@pytest.mark.parametrize("number", [2, 3, 5])
def test_a_small_class_has_a_test_image_too(number):
    train, test, _ = train_and_test(RawSet({"all": split([0, 1] * number)}))
    assert test.labels.tolist().count(0) == test.labels.tolist().count(1) == 1
    assert len(train.labels) == 2 * number - 2


def test_a_class_of_an_unused_split_has_no_number():
    parts = {"train": split([0, 2]), "test": split([2, 0]), "validation": split([1])}
    train, _, names = train_and_test(RawSet(parts))
    assert (train.labels.tolist(), names) == ([0, 1], ["0", "2"])


def test_few_shot_splits_of_disjoint_classes_are_joined():
    parts = {"train": split([0] * 6 + [1] * 6), "validation": split([2] * 6), "test": split([3] * 12)}
    train, test, names = train_and_test(RawSet(parts, few_shot=True))
    assert names == ["0", "1", "2", "3"]
    assert train.labels.bincount().tolist() == [5, 5, 5, 10]
    assert test.labels.bincount().tolist() == [1, 1, 1, 2]
    assert {part for part, _ in train.rows} == {0, 1, 2}


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"train": [0, 1], "test": [0]}, "pets: the test split has no images of 1 of 2 classes: b"),
        ({"train": [0], "test": [1]}, "pets: the test split has no images of 1 of 2 classes: a"),
        ({"train": [0], "test": [0, 1]}, "pets: the train split has no images of 1 of 2 classes: b"),
        ({"train": [0, -1, None], "test": [0]}, "train row 1: the label is missing, got -1"),
        ({"train": [0, None], "test": [0]}, "train row 1: the label is missing, got None"),
        ({"train": [0, 0.5], "test": [0]}, "train row 1: a label must be an integer or text, but got 0.5"),
        ({"train": [0], "test": []}, "pets: test: no images"),
        ({"train": [0, "a"], "test": [0]}, "pets: train: labels must be all integers or all text, but got both"),
        ({"all": [0, 0, 1]}, "all row 2: the only image of its class"),
    ],
)
def test_labels_that_cannot_be_used_are_named(parts, message):
    raw = RawSet({name: split(labels, name) for name, labels in parts.items()}, names=["a", "b"])
    with pytest.raises(DataError) as caught:
        train_and_test(raw)
    assert message in str(caught.value)
