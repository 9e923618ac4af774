"""Local parquet files in the hub's layout."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from casper.errors import DataError
from casper.streams.sources.fingerprint import of_files
from casper.streams.sources.source import RawSet, Source, Split
from casper.streams.sources.splits import TEST_NAMES
from casper.streams.sources.table import table_split


class ParquetFolder(Source):
    """A folder with `train.parquet` and `test.parquet`, or `train-*.parquet` and so on, at any depth.

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
            image_column: See `table_split`.
            label_column: See `table_split`.
            test: The name of the test split, where it is not `test`.
            few_shot: See `RawSet`.
        """
        self.title = str(folder)
        self._columns = {"image_column": image_column, "label_column": label_column}
        self._test = test
        self._few_shot = few_shot
        self._files = dict(_files(folder, test))
        if test is not None and test not in self._files:
            raise DataError(f"{folder}: no {test}.parquet; found {', '.join(self._files) or 'no parquet files'}")
        parts = [path for paths in self._files.values() for path in paths]
        self.fingerprint = of_files(parts, extra=[image_column, label_column, test, few_shot])

    @classmethod
    def holds(cls, folder: Path) -> bool:
        """Tell whether there are such files in a folder."""
        return any(True for _ in _files(folder, None))

    @classmethod
    def has(cls, folder: Path, split: str) -> bool:
        """Tell whether a folder has files of a split."""
        return split in dict(_files(folder, split))

    def read(self) -> RawSet:
        """Read the files; images stay encoded."""
        import pyarrow
        from datasets import Features
        from pyarrow import parquet

        splits: dict[str, Split] = {}
        names: Sequence[str] = ()
        for name, paths in self._files.items():
            tables = []
            for path in paths:
                try:
                    tables.append(parquet.read_table(path))
                except (OSError, pyarrow.ArrowInvalid) as error:
                    raise DataError(f"{path} cannot be read as parquet: {' '.join(str(error).split())}") from error
            features = Features.from_arrow_schema(tables[0].schema)
            try:
                table = pyarrow.concat_tables(tables)
            except pyarrow.ArrowInvalid as error:
                raise DataError(f"{paths[0]} and its like have different columns") from error
            place = _Places(paths, [len(table) for table in tables])
            splits[name], found = table_split(table, features, place, **self._columns)
            names = names or found
        return RawSet(splits, names, self._test, self._few_shot)


class _Places:
    """Names the file and the row in it, from a row of all files together."""

    def __init__(self, paths: list[Path], lengths: list[int]) -> None:
        self._parts = list(zip(paths, lengths, strict=True))

    def __call__(self, row: int) -> str:
        for path, length in self._parts[:-1]:
            if row < length:
                return f"{path} row {row}"
            row -= length
        return f"{self._parts[-1][0]} row {row}"


def _files(folder: Path, test: str | None) -> Iterator[tuple[str, list[Path]]]:
    """Find each split's files."""
    for split in dict.fromkeys(("train", *TEST_NAMES, *((test,) if test else ()))):
        found = sorted({*folder.rglob(f"{split}.parquet"), *folder.rglob(f"{split}-*.parquet")})
        if found:
            yield split, found
