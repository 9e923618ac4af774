"""Tables as the hub has them: a column of encoded images, a column of labels."""

import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from casper.errors import DataError
from casper.streams.sources.image_file import inside, open_image
from casper.streams.sources.source import Split

if TYPE_CHECKING:
    import pyarrow
    from PIL.Image import Image

# Tried in this order where several columns would do.
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
        features: What they hold, as `datasets` describes them; may be empty.
        where: Names the table, for complaints.
        image_column: The column of images: bytes, or structures with `bytes` and `path`. Default: the only one.
        label_column: The column of labels: integers or text. Default: the only class label, or the usual names.

    Returns:
        Their names.
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
    """View a table as a split.

    Args:
        table: Has a row per image.
        images: The name of the column of images: encoded, or the paths of files.
        labels: The name of the column of labels.
        place: Names a row, for complaints.
        folders: Where files are that the table names by their paths; others are refused.
    """
    encoded = table.column(images)

    def open_row(row: int) -> "Image":
        value = encoded[row].as_py()
        if isinstance(value, dict):
            value = value.get("bytes") or value.get("path")
        if value is None:
            raise ValueError("no image in this row")
        return open_image(inside(folders, value) if isinstance(value, str) else io.BytesIO(value))

    return Split(table.column(labels).to_pylist(), open_row, place)


def class_names(features: Mapping[str, Any], labels: str) -> Sequence[str]:
    """Read the names of integer labels from the description of their column; empty: it has none."""
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
        raise DataError(f"{where}: {what}; columns: {', '.join(schema.names)}; name one with image_column")
    return str(found[0])


def _label_column(schema: "pyarrow.Schema", features: Mapping[str, Any], where: str) -> str:
    classes = [name for name, feature in features.items() if hasattr(feature, "names")]
    if len(classes) == 1:
        return classes[0]
    for name in _LABEL_NAMES:
        if name in (classes or schema.names):
            return name
    columns = ", ".join(schema.names)
    raise DataError(f"{where}: no column that is clearly the label; columns: {columns}; name one with label_column")
