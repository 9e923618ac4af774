"""Tables of encoded images, and local parquet files in the layout of the hub."""

import io
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from casper.data.cache import of_files
from casper.data.dataset import TEST_NAMES, RawSet, Source, Split
from casper.data.decode import inside, open_image
from casper.data.limits import ROW_SIZE, check_decoded_size
from casper.errors import DataError

if TYPE_CHECKING:
    import pyarrow
    from PIL.Image import Image


_BATCH = 2**28  # bytes that a batch of rows takes at most, if there is a single row of this size
# Tried in this order if several columns are possible.
_LABEL_NAMES = ("label", "labels", "fine_label", "class", "target")


def choose_columns(
    schema: "pyarrow.Schema",
    features: Mapping[str, Any],
    where: str,
    *,
    image_column: str | None = None,
    label_column: str | None = None,
) -> tuple[str, str]:
    """Find the column of images and the column of labels.

    Args:
        schema: The columns of a table.
        features: The description of the columns by `datasets`; may be empty.
        where: The name of the table, for error messages.
        image_column: The column of images: bytes, or structures with `bytes` and `path`. Default: the only one.
        label_column: The column of labels: integers or text. Default: the only class label, or a usual name.

    Returns:
        The names of both columns.
    """
    images = image_column or _image_column(schema, where)
    labels = label_column or _label_column(schema, features, where)
    for column in (images, labels):
        if column not in schema.names:
            raise DataError(f"{where}: no column {column!r}; found {', '.join(schema.names)}")
    return images, labels


def table_split(
    table: "pyarrow.Table", images: str, labels: str, place: Callable[[int], str], folders: Sequence[Path]
) -> Split:
    """Create a split from a table.

    Args:
        table: A table with one row per image.
        images: The name of the column of images: encoded, or the paths of files.
        labels: The name of the column of labels.
        place: Returns the name of a row, for error messages.
        folders: The folders of files that the table refers to; paths outside are an error.
    """
    encoded = table.column(images)

    def open_row(row: int) -> "Image":
        value = encoded[row].as_py()
        if isinstance(value, dict):
            value = value.get("bytes") or value.get("path")
        if value is None:
            raise ValueError("no image in this row")
        return open_image(inside(folders, value) if isinstance(value, str) else io.BytesIO(value))

    try:
        found = table.column(labels).to_pylist()
    except (ValueError, OverflowError) as error:  # text that is not UTF-8, dates beyond the calendar
        raise DataError(f"{place(0)}: the column {labels!r} must be integers or text, but is damaged") from error
    return Split(found, open_row, place)


def class_names(features: Mapping[str, Any], labels: str) -> Sequence[str]:
    """Read the names of integer labels from the description of their column; empty if there are none."""
    return getattr(features.get(labels), "names", None) or ()


def _image_column(schema: "pyarrow.Schema", where: str) -> str:
    import pyarrow.types

    def holds_images(kind: Any) -> bool:
        if pyarrow.types.is_struct(kind):
            return {field.name for field in kind} >= {"bytes", "path"}
        return bool(pyarrow.types.is_binary(kind) or pyarrow.types.is_large_binary(kind))

    found = [field.name for field in schema if holds_images(field.type)]
    if len(found) != 1:
        what = f"several columns of images: {', '.join(found)}" if found else "no column of images"
        raise DataError(f"{where}: {what}; columns: {', '.join(schema.names)}; set image_column")
    return str(found[0])


def _label_column(schema: "pyarrow.Schema", features: Mapping[str, Any], where: str) -> str:
    classes = [name for name, feature in features.items() if hasattr(feature, "names")]
    if len(classes) == 1:
        return classes[0]
    for name in _LABEL_NAMES:
        if name in (classes or schema.names):
            return name
    columns = ", ".join(schema.names)
    raise DataError(f"{where}: cannot determine the column of labels; columns: {columns}; set label_column")


class ParquetFolder(Source):
    """A folder with `train.parquet` and `test.parquet`, or `train-*.parquet` and so on, directly or in one subfolder.

    A validation file is used if there is no test file.

    Example:
        >>> import pathlib, tempfile
        >>> from casper.data import ParquetFolder
        >>> with tempfile.TemporaryDirectory() as path:
        ...     pathlib.Path(path, "train.parquet").touch()
        ...     source = ParquetFolder(pathlib.Path(path), label_column="species")
        ...     source.title == path, ParquetFolder.has(pathlib.Path(path), "test")
        (True, False)
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
        """Find the files of a folder.

        Args:
            folder: The folder of the files.
            image_column: See `choose_columns`.
            label_column: See `choose_columns`.
            test: The name of the test split, if it is not `test`.
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
        """Return whether a folder has files of a split."""
        return bool(_files(folder, split))

    def read(self) -> RawSet:
        """Read the files; the images stay encoded."""
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
        """Read the columns of images and labels, renamed to `images` and `labels`, and the class names."""
        import pyarrow
        from pyarrow import parquet

        try:
            with parquet.ParquetFile(path, memory_map=True) as file:
                schema = file.schema_arrow
                features = _features(schema, path)
                images, labels = choose_columns(schema, features, str(path), **self._columns)
                table = _rows(file, [images, labels], path)
        except (OSError, pyarrow.ArrowInvalid) as error:
            raise DataError(f"{path} cannot be read as parquet: {' '.join(str(error).split())}") from error
        return table.rename_columns({images: "images", labels: "labels"}), class_names(features, labels)


def _rows(file: Any, columns: Sequence[str], path: Path) -> "pyarrow.Table":
    """Read columns of a file, if their size is within the limit (see `check_decoded_size`).

    Images are encoded, so they hardly shrink further; the size of an ordinary file is not limited. A small file can
    state many rows, compress a column to almost nothing, or refer to one large value many times.
    """
    import pyarrow

    metadata, ordinary = file.metadata, 2 * path.stat().st_size
    groups = [metadata.row_group(place) for place in range(metadata.num_row_groups)]
    sizes = [group.column(place).total_uncompressed_size for group in groups for place in range(group.num_columns)]
    size = int(metadata.num_rows) * ROW_SIZE
    check_decoded_size(size + (sum(sizes) if sum(sizes) > ordinary else 0), str(path))
    batches = []
    for batch in file.iter_batches(max(1, min(1024, _BATCH // max(sizes, default=1))), columns=columns):
        size += batch.nbytes
        if size > ordinary:
            check_decoded_size(size, str(path))
        batches.append(batch)
    schema = file.schema_arrow
    return pyarrow.Table.from_batches(batches, pyarrow.schema([each for each in schema if each.name in columns]))


def _features(schema: "pyarrow.Schema", path: Path) -> Any:
    from datasets import Features

    try:
        return Features.from_arrow_schema(schema)
    except Exception as error:  # the description may be broken in any way
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
    """Check that the files of a split are complete: in one folder, and all N of `split-I-of-N.parquet`."""
    folders = sorted({str(file.parent) for file in files})
    if len(folders) > 1:
        raise DataError(f"{split} files in {len(folders)} folders, such as {folders[0]} and {folders[1]}; use only one")
    if len(files) > 1 and any(file.name == f"{split}.parquet" for file in files):
        raise DataError(f"{folders[0]}: {split}.parquet as well as {split}-*.parquet; remove one of them")
    for file in files:
        counted = re.search(r"-of-0*(\d+)", file.name)
        if counted and int(counted[1]) != len(files):
            raise DataError(f"{folders[0]}: {len(files)} of {counted[1]} files of {split}-*.parquet; some are missing")
    return files
