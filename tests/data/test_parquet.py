from pathlib import Path

import numpy
import pyarrow
import pytest
from datasets import ClassLabel, Features, Image, Value
from pyarrow import parquet

from casper.data import ParquetFolder
from casper.data.parquet import choose_columns, class_names, table_split
from casper.errors import DataError
from image_files import encoded, picture, write_parquet, write_set

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


def test_an_image_may_be_a_file_next_to_the_table(tmp_path):
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
    with pytest.raises(DataError, match="cannot determine the column of labels"):
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
    ("columns", "options", "message"),
    [
        ({"label": [0]}, {}, "file: no column of images; columns: label; set image_column"),
        (
            {"a": struct_column(DATA[:1]), "b": struct_column(DATA[:1]), "label": [0]},
            {},
            "several columns of images: a, b",
        ),
        ({"a": struct_column(DATA[:1]), "what": [0]}, {}, "cannot determine the column of labels; columns: a, what"),
        ({"a": struct_column(DATA[:1]), "label": [0]}, {"image_column": "img"}, "no column 'img'; found a, label"),
        ({"a": struct_column(DATA[:1]), "label": [0]}, {"label_column": "kind"}, "no column 'kind'; found a, label"),
    ],
)
def test_ambiguous_columns_are_reported(columns, options, message):
    with pytest.raises(DataError) as caught:
        split_of(columns, **options)
    assert message in str(caught.value)


def test_the_hub_layout(tmp_path):
    write_set(tmp_path, 4, (3, 2))
    source = ParquetFolder(tmp_path)
    raw = source.read()
    assert {name: len(split) for name, split in raw.splits.items()} == {"train": 12, "test": 8}
    assert raw.names == ["class 0", "class 1", "class 2", "class 3"]
    assert source.title == str(tmp_path)
    assert raw.splits["test"].place(3) == f"{tmp_path / 'test.parquet'} row 3"


def test_without_the_hubs_description_of_the_columns(tmp_path):
    write_set(tmp_path, 4, metadata=False)
    raw = ParquetFolder(tmp_path).read()
    assert list(raw.splits["train"].labels[:5]) == [0, 1, 2, 3, 0]
    assert len(raw.names) == 0


def test_several_files_are_read_in_order_and_a_row_is_named_in_its_own_file(tmp_path):
    for number in (1, 0):
        images = [encoded(picture(10 * number + row)) for row in range(2)]
        write_parquet(tmp_path / "data" / f"train-0000{number}-of-00002.parquet", images, [2 * number, 2 * number + 1])
    write_parquet(tmp_path / "data" / "test-00000-of-00001.parquet", [encoded(picture(99))], [0])
    split = ParquetFolder(tmp_path).read().splits["train"]
    assert list(split.labels) == [0, 1, 2, 3]
    assert split.place(1).endswith("train-00000-of-00002.parquet row 1")
    assert split.place(2).endswith("train-00001-of-00002.parquet row 0")
    assert split.open(3).tobytes() == picture(11).tobytes()


def test_a_named_test_split(tmp_path):
    write_set(tmp_path, 2)
    (tmp_path / "validation.parquet").write_bytes((tmp_path / "test.parquet").read_bytes())
    raw = ParquetFolder(tmp_path, test="validation").read()
    assert (set(raw.splits), raw.test) == ({"train", "validation", "test"}, "validation")
    assert ParquetFolder(tmp_path, test="validation").fingerprint != ParquetFolder(tmp_path).fingerprint
    with pytest.raises(DataError, match=r"no hidden\.parquet; found test, train, validation"):
        ParquetFolder(tmp_path, test="hidden")


def test_has(tmp_path):
    assert not ParquetFolder.has(tmp_path)
    assert not ParquetFolder.has(tmp_path / "nowhere")
    write_set(tmp_path / "set", 2)
    assert ParquetFolder.has(tmp_path / "set")
    assert ParquetFolder.has(tmp_path / "set", "test")
    assert not ParquetFolder.has(tmp_path / "set", "validation")


def test_known_columns(tmp_path):
    write_set(tmp_path, 3, (2, 2), label="kind", more={"label": [9] * 6})
    raw = ParquetFolder(tmp_path, label_column="kind").read()
    assert list(raw.splits["train"].labels) == [0, 1, 2, 0, 1, 2]
    assert list(ParquetFolder(tmp_path, label_column="label").read().splits["train"].labels) == [9] * 6


def shard(path, number=0):
    write_parquet(path, [encoded(picture(number))], [number])


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (["train-00000-of-00003.parquet", "train-00002-of-00003.parquet"], "2 of 3 files of train-*.parquet"),
        (["train.parquet", "train-00000-of-00001.parquet"], "train.parquet as well as train-*.parquet"),
        (["a/train-00000-of-00001.parquet", "b/train-00000-of-00001.parquet"], "train files in 2 folders, such as"),
        (["test.parquet"], "no train.parquet; found test"),
    ],
)
def test_incomplete_or_duplicate_files_of_a_split_are_reported(files, message, tmp_path):
    for file in files:
        shard(tmp_path / file)
    with pytest.raises(DataError) as caught:
        ParquetFolder(tmp_path)
    assert message in str(caught.value)


def test_class_names_that_differ(tmp_path):
    write_parquet(tmp_path / "train.parquet", [encoded(picture(0))], [0], names=["cat", "dog"])
    write_parquet(tmp_path / "test.parquet", [encoded(picture(0))], [0], names=["dog", "cat"])
    with pytest.raises(DataError, match=r"test\.parquet: its class names differ"):
        ParquetFolder(tmp_path).read()


def test_a_broken_description_of_the_columns(tmp_path):
    shard(tmp_path / "train.parquet")
    table = parquet.read_table(tmp_path / "train.parquet").replace_schema_metadata({"huggingface": "{"})
    parquet.write_table(table, tmp_path / "train.parquet")
    with pytest.raises(DataError, match=r"train\.parquet: its `huggingface` description of the columns cannot be read"):
        ParquetFolder(tmp_path).read()


def test_the_fingerprint_follows_files_and_columns(tmp_path):
    write_set(tmp_path, 2)
    first = ParquetFolder(tmp_path).fingerprint
    assert ParquetFolder(tmp_path).fingerprint == first
    assert ParquetFolder(tmp_path, label_column="label").fingerprint != first
    write_set(tmp_path, 3)
    assert ParquetFolder(tmp_path).fingerprint != first


def test_a_broken_file_is_named(tmp_path):
    write_set(tmp_path, 2)
    (tmp_path / "test.parquet").write_bytes(b"PAR1 and nothing")
    with pytest.raises(DataError, match=r"test\.parquet cannot be read as parquet"):
        ParquetFolder(tmp_path).read()


def test_files_of_one_split_with_different_columns(tmp_path):
    write_parquet(tmp_path / "train-0.parquet", [encoded(picture(0))], [0])
    write_parquet(tmp_path / "train-1.parquet", [encoded(picture(0))], [0], label="kind")
    with pytest.raises(DataError, match=r"its columns differ|cannot determine the column of labels"):
        ParquetFolder(tmp_path).read()


def test_a_file_that_inflates_beyond_the_limit_is_not_read(tmp_path, monkeypatch):
    images = [encoded(picture(row)) + bytes(10_000 * row) for row in range(1, 9)]
    write_parquet(tmp_path / "train.parquet", images, [0, 1] * 4)
    write_parquet(tmp_path / "test.parquet", images, [0, 1] * 4)
    assert (tmp_path / "train.parquet").stat().st_size < 50_000
    assert len(ParquetFolder(tmp_path).read().splits["train"]) == 8
    monkeypatch.setenv("CASPER_MAX_DECODED_SIZE", "100KB")
    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", None)
    with pytest.raises(DataError, match=r"train.parquet: 3\d\d.* KB when decoded, more than 100KB"):
        ParquetFolder(tmp_path).read()


def test_one_large_value_in_many_rows_is_not_read_beyond_the_limit(tmp_path, monkeypatch):
    image = encoded(picture(0)) + bytes(100_000)
    table = pyarrow.table({"image": [image] * 2000, "label": [0, 1] * 1000})
    for split in ("train", "test"):
        parquet.write_table(table, tmp_path / f"{split}.parquet", dictionary_pagesize_limit=2**30)
    assert (tmp_path / "train.parquet").stat().st_size < 200_000
    monkeypatch.setenv("CASPER_MAX_DECODED_SIZE", "2MB")
    before = pyarrow.total_allocated_bytes()
    with pytest.raises(DataError, match=r"train\.parquet: .* when decoded, more than 2MB"):
        ParquetFolder(tmp_path).read()
    assert pyarrow.total_allocated_bytes() - before < 10**6


@pytest.mark.parametrize("kind", ["date", "text"])
def test_labels_that_cannot_be_read(tmp_path, kind):
    labels = pyarrow.array([2**62] * 3).cast(pyarrow.date64(), safe=False)
    if kind == "text":
        labels = pyarrow.array([b"\xff"] * 3, pyarrow.binary()).view(pyarrow.string())
    table = pyarrow.table({"image": [encoded(picture(0))] * 3, "label": labels})
    for split in ("train", "test"):
        parquet.write_table(table, tmp_path / f"{split}.parquet")
    with pytest.raises(DataError, match=r"train\.parquet row 0: the column 'labels' must be integers or text"):
        ParquetFolder(tmp_path).read()


def test_the_size_of_an_ordinary_file_is_not_limited(tmp_path, monkeypatch):
    write_set(tmp_path, 10, size=(32, 32))
    monkeypatch.setenv("CASPER_MAX_DECODED_SIZE", "10KB")
    assert (tmp_path / "train.parquet").stat().st_size > 50_000
    assert len(ParquetFolder(tmp_path).read().splits["train"]) == 30
