import pytest
from pyarrow import parquet

from casper.errors import DataError
from casper.streams.sources import ParquetFolder
from image_files import encoded, picture, write_parquet, write_set


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
    ("files", "complaint"),
    [
        (["train-00000-of-00003.parquet", "train-00002-of-00003.parquet"], "2 of 3 files of train-*.parquet"),
        (["train.parquet", "train-00000-of-00001.parquet"], "train.parquet as well as train-*.parquet"),
        (["a/train-00000-of-00001.parquet", "b/train-00000-of-00001.parquet"], "train files in 2 folders, such as"),
        (["test.parquet"], "no train.parquet; found test"),
    ],
)
def test_files_that_are_not_one_split_whole_and_once(files, complaint, tmp_path):
    for file in files:
        shard(tmp_path / file)
    with pytest.raises(DataError) as caught:
        ParquetFolder(tmp_path)
    assert complaint in str(caught.value)


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
    with pytest.raises(DataError, match=r"its columns differ|no column that is clearly the label"):
        ParquetFolder(tmp_path).read()
