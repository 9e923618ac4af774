"""Tables as the hub has them: a column of encoded images, a column of labels."""

import io
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from casper.errors import DataError
from casper.streams.sources.source import Split

if TYPE_CHECKING:
    import pyarrow
    from PIL.Image import Image

# Tried in this order where several columns would do.
_LABEL_NAMES = ("label", "labels", "fine_label", "class", "target")


def table_split(
    table: "pyarrow.Table",
    features: Mapping[str, Any],
    place: Callable[[int], str],
    *,
    image_column: str | None = None,
    label_column: str | None = None,
) -> tuple[Split, Sequence[str]]:
    """View a table as a split.

    Args:
        table: One row per image.
        features: What the columns hold, as `datasets` describes them.
        place: Names where a row comes from.
        image_column: The column of images: bytes, or structures with `bytes` and `path`. Default: the only one.
        label_column: The column of labels: integers or text. Default: the only class label, or the usual names.

    Returns:
        The split, and the names of its integer labels (empty: it has none).
    """
    images = image_column or _image_column(table, place)
    labels = label_column or _label_column(table, features, place)
    for column in (images, labels):
        if column not in table.column_names:
            raise DataError(f"{place(0)}: no column {column!r}; found {', '.join(table.column_names)}")
    encoded = table.column(images)
    names = getattr(features.get(labels), "names", None) or ()

    def open_row(row: int) -> "Image":
        from PIL import Image

        value = encoded[row].as_py()
        if isinstance(value, dict):
            value = value.get("bytes") or value.get("path")
        if value is None:
            raise ValueError("no image in this row")
        return Image.open(value if isinstance(value, str) else io.BytesIO(value))

    return Split(table.column(labels).to_pylist(), open_row, place), names


def _image_column(table: "pyarrow.Table", place: Callable[[int], str]) -> str:
    import pyarrow.types

    def holds_images(kind: Any) -> bool:
        if pyarrow.types.is_struct(kind):
            return {field.name for field in kind} >= {"bytes", "path"}
        return bool(pyarrow.types.is_binary(kind) or pyarrow.types.is_large_binary(kind))

    found = [field.name for field in table.schema if holds_images(field.type)]
    if len(found) != 1:
        what = f"several columns of images: {', '.join(found)}" if found else "no column of images"
        raise DataError(f"{place(0)}: {what}; columns: {', '.join(table.column_names)}; name one with image_column")
    return str(found[0])


def _label_column(table: "pyarrow.Table", features: Mapping[str, Any], place: Callable[[int], str]) -> str:
    classes = [name for name, feature in features.items() if hasattr(feature, "names")]
    if len(classes) == 1:
        return classes[0]
    for name in _LABEL_NAMES:
        if name in (classes or table.column_names):
            return name
    columns = ", ".join(table.column_names)
    raise DataError(f"{place(0)}: no column that is clearly the label; columns: {columns}; name one with label_column")
