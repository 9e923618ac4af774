from pathlib import Path

import numpy
import pyarrow
import pytest
from datasets import ClassLabel, Features, Image, Value

from casper.errors import DataError
from casper.streams.sources.table import choose_columns, class_names, table_split
from image_files import encoded, picture

DATA = [encoded(picture(row)) for row in range(3)]


def struct_column(values=DATA):
    kind = pyarrow.struct([("bytes", pyarrow.binary()), ("path", pyarrow.string())])
    return pyarrow.array([{"bytes": value, "path": None} for value in values], kind)


def split_of(columns, features=None, folder=Path(), **options):
    table, features = pyarrow.table(columns), features or {}
    images, labels = choose_columns(table.schema, features, "file", **options)
    return table_split(table, images, labels, lambda row: f"file row {row}", [folder]), class_names(features, labels)


def test_images_and_labels_of_the_hub_layout():
    features = Features({"img": Image(), "label": ClassLabel(names=["cat", "dog"])})
    split, names = split_of({"img": struct_column(), "label": [0, 1, 0]}, features)
    assert list(split.labels) == [0, 1, 0]
    assert names == ["cat", "dog"]
    assert split.place(2) == "file row 2"
    for row in range(3):
        assert (numpy.asarray(split.open(row)) == numpy.asarray(picture(row))).all()


def test_plain_bytes_and_text_labels():
    split, names = split_of({"label": ["a", "b", "a"], "picture": pyarrow.array(DATA, pyarrow.binary())})
    assert list(split.labels) == ["a", "b", "a"]
    assert len(names) == 0
    assert split.open(1).size == (8, 8)


def test_an_image_may_be_a_file_beside_the_table(tmp_path):
    picture(5).save(tmp_path / "a.png")
    kind = pyarrow.struct([("bytes", pyarrow.binary()), ("path", pyarrow.string())])
    column = pyarrow.array([{"bytes": None, "path": str(tmp_path / "a.png")}, {"bytes": None, "path": None}], kind)
    split, _ = split_of({"image": column, "label": [0, 1]}, folder=tmp_path)
    assert (numpy.asarray(split.open(0)) == numpy.asarray(picture(5))).all()
    with pytest.raises(ValueError, match="no image in this row"):
        split.open(1)


@pytest.mark.parametrize("path", ["../secret.png", "a/../../secret.png", "{outside}/secret.png", "link.png"])
def test_a_path_never_leads_out_of_the_tables_folder(tmp_path, path):
    inner = tmp_path / "inner"
    inner.mkdir()
    picture(5).save(tmp_path / "secret.png")
    (inner / "link.png").symlink_to(tmp_path / "secret.png")
    kind = pyarrow.struct([("bytes", pyarrow.binary()), ("path", pyarrow.string())])
    column = pyarrow.array([{"bytes": None, "path": path.format(outside=tmp_path)}], kind)
    split, _ = split_of({"image": column, "label": [0]}, folder=inner)
    with pytest.raises(ValueError, match=r"leads out of .*inner"):
        split.open(0)


@pytest.mark.parametrize("columns", [["fine_label", "coarse_label"], ["coarse_label", "fine_label"]])
def test_the_usual_name_decides_between_several_class_labels(columns):
    features = Features({"img": Image(), **{name: ClassLabel(names=["a", "b"]) for name in columns}})
    split, _ = split_of({"img": struct_column(), "fine_label": [1, 1, 0], "coarse_label": [0, 0, 0]}, features)
    assert list(split.labels) == [1, 1, 0]


def test_the_only_class_label_is_the_label_whatever_its_name():
    features = Features({"img": Image(), "breed": ClassLabel(names=["a", "b"]), "label": Value("int64")})
    split, _ = split_of({"img": struct_column(), "label": [7, 8, 9], "breed": [1, 1, 0]}, features)
    assert list(split.labels) == [1, 1, 0]


def test_several_class_labels_without_a_usual_name_are_not_guessed():
    features = Features({"img": Image(), **{name: ClassLabel(names=["a"]) for name in ("breed", "colour")}})
    columns = {"img": struct_column(), "breed": [0, 0, 0], "colour": [0, 0, 0], "label": [1, 2, 3]}
    with pytest.raises(DataError, match="no column that is clearly the label"):
        split_of(columns, features)


def test_large_bytes_are_images_too():
    split, _ = split_of({"label": [0, 1, 0], "picture": pyarrow.array(DATA, pyarrow.large_binary())})
    assert split.open(1).size == (8, 8)


def test_columns_by_name():
    columns = {"one": struct_column(), "two": struct_column(DATA[::-1]), "kind": [3, 4, 5], "label": [0, 0, 0]}
    split, _ = split_of(columns, image_column="two", label_column="kind")
    assert list(split.labels) == [3, 4, 5]
    assert (numpy.asarray(split.open(0)) == numpy.asarray(picture(2))).all()


@pytest.mark.parametrize(
    ("columns", "options", "complaint"),
    [
        ({"label": [0]}, {}, "file: no column of images; columns: label; name one with image_column"),
        (
            {"a": struct_column(DATA[:1]), "b": struct_column(DATA[:1]), "label": [0]},
            {},
            "several columns of images: a, b",
        ),
        ({"a": struct_column(DATA[:1]), "what": [0]}, {}, "no column that is clearly the label; columns: a, what"),
        ({"a": struct_column(DATA[:1]), "label": [0]}, {"image_column": "img"}, "no column 'img'; found a, label"),
        ({"a": struct_column(DATA[:1]), "label": [0]}, {"label_column": "kind"}, "no column 'kind'; found a, label"),
    ],
)
def test_what_is_not_clear_is_said(columns, options, complaint):
    with pytest.raises(DataError) as caught:
        split_of(columns, **options)
    assert complaint in str(caught.value)
