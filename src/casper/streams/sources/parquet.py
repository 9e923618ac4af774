"""Local parquet files in the hub's layout."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from casper.errors import DataError
from casper.streams.sources.fingerprint import of_files
from casper.streams.sources.source import RawSet, Source, Split
from casper.streams.sources.splits import TEST_NAMES
from casper.streams.sources.table import choose_columns, class_names, table_split

if TYPE_CHECKING:
    import pyarrow


class ParquetFolder(Source):
    """A folder with `train.parquet` and `test.parquet`, or `train-*.parquet` and so on, in it or in one folder below.

    Without a test file, a validation file takes its place.
    """

    def __init__(
        self,
        folder: Path,
        *,
        image_column: str | None = None,
        label_column: str | None = None,
        test: str | None = None,
        few_shot: bool = False,
    ) -> None:
        """Look at a folder.

        Args:
            folder: Where the files are.
            image_column: See `choose_columns`.
            label_column: See `choose_columns`.
            test: The name of the test split, where it is not `test`.
            few_shot: See `RawSet`.
        """
        self.title = str(folder)
        self._columns = {"image_column": image_column, "label_column": label_column}
        self._test = test
        self._few_shot = few_shot
        self._files = {
            split: _complete(split, files)
            for split in dict.fromkeys(("train", *TEST_NAMES, *((test,) if test else ())))
            if (files := _files(folder, split))
        }
        for split in ("train", *((test,) if test else ())):
            if split not in self._files:
                found = ", ".join(sorted({file.stem for file in folder.rglob("*.parquet")})) or "no parquet files"
                raise DataError(f"{folder}: no {split}.parquet; found {found}")
        parts = [path for paths in self._files.values() for path in paths]
        self.fingerprint = of_files(parts, extra=[image_column, label_column, test, few_shot])

    @classmethod
    def has(cls, folder: Path, split: str = "train") -> bool:
        """Tell whether a folder has files of a split."""
        return bool(_files(folder, split))

    def read(self) -> RawSet:
        """Read the files; images stay encoded."""
        splits: dict[str, Split] = {}
        names: Sequence[str] = ()
        for split, paths in self._files.items():
            tables, found = zip(*(self._read_file(path) for path in paths), strict=True)
            for other in (*found, names or found[0]):
                if list(other) != list(found[0]):
                    raise DataError(f"{paths[0]}: its class names differ from those of other files")
            names = found[0]
            splits[split] = _joined(tables, paths)
        return RawSet(splits, names, self._test, self._few_shot)

    def _read_file(self, path: Path) -> "tuple[pyarrow.Table, Sequence[str]]":
        """Read the columns of images and labels, under these names, and the names of the classes."""
        import pyarrow
        from pyarrow import parquet

        try:
            schema = parquet.read_schema(path)
            features = _features(schema, path)
            images, labels = choose_columns(schema, features, str(path), **self._columns)
            table = parquet.read_table(path, columns=[images, labels], memory_map=True)
        except (OSError, pyarrow.ArrowInvalid) as error:
            raise DataError(f"{path} cannot be read as parquet: {' '.join(str(error).split())}") from error
        return table.rename_columns({images: "images", labels: "labels"}), class_names(features, labels)


def _features(schema: "pyarrow.Schema", path: Path) -> Any:
    from datasets import Features

    try:
        return Features.from_arrow_schema(schema)
    except Exception as error:  # whatever may be wrong with a description
        raise DataError(f"{path}: its `huggingface` description of the columns cannot be read: {error}") from error


def _joined(tables: "Sequence[pyarrow.Table]", paths: Sequence[Path]) -> Split:
    import pyarrow

    try:
        table = pyarrow.concat_tables([table.replace_schema_metadata(None) for table in tables])
    except pyarrow.ArrowInvalid as error:
        raise DataError(f"{paths[0]}: its columns differ from those of other files of its split") from error
    lengths = [len(table) for table in tables]

    def place(row: int) -> str:
        for path, length in zip(paths, lengths, strict=True):
            if row < length:
                return f"{path} row {row}"
            row -= length
        return f"{paths[-1]} row {row}"

    return table_split(table, "images", "labels", place, [paths[0].parent])


def _files(folder: Path, split: str) -> list[Path]:
    return sorted({*folder.rglob(f"{split}.parquet"), *folder.rglob(f"{split}-*.parquet")})


def _complete(split: str, files: list[Path]) -> list[Path]:
    """Check that files are one split, whole and once: in one folder, and all N of `split-I-of-N.parquet`."""
    folders = sorted({str(file.parent) for file in files})
    if len(folders) > 1:
        raise DataError(f"{split} files in {len(folders)} folders, such as {folders[0]} and {folders[1]}; keep one")
    if len(files) > 1 and any(file.name == f"{split}.parquet" for file in files):
        raise DataError(f"{folders[0]}: {split}.parquet as well as {split}-*.parquet; keep one of them")
    for file in files:
        counted = re.search(r"-of-0*(\d+)", file.name)
        if counted and int(counted[1]) != len(files):
            raise DataError(f"{folders[0]}: {len(files)} of {counted[1]} files of {split}-*.parquet; fetch the others")
    return files
