"""Small data sets in the layouts of the real ones: parquet as on the hub, folders, arrays."""

import io

import numpy
import pyarrow
from datasets import ClassLabel, Features, Image, Value
from PIL import Image as Pillow
from pyarrow import parquet


def picture(seed, size=(8, 8), mode="RGB"):
    """A random image; size is (width, height)."""
    shape = (size[1], size[0], 3) if mode == "RGB" else (size[1], size[0])
    values = numpy.random.default_rng(seed).integers(0, 256, shape, dtype=numpy.uint8)
    return Pillow.fromarray(values)


def encoded(image, form="PNG"):
    buffer = io.BytesIO()
    image.save(buffer, form, **({"lossless": True} if form == "WEBP" else {}))
    return buffer.getvalue()


def write_parquet(path, images, labels, *, image="image", label="label", names=None, metadata=True, more=None):
    """Write encoded images and labels as the hub does, with or without its description of the columns."""
    columns = {image: [{"bytes": data, "path": None} for data in images], label: labels, **(more or {})}
    kind = Value("string") if isinstance(labels[0], str) else ClassLabel(names=names) if names else Value("int64")
    features = Features({image: Image(), label: kind, **{name: Value("int64") for name in more or {}}})
    struct = pyarrow.struct([("bytes", pyarrow.binary()), ("path", pyarrow.string())])
    table = pyarrow.table(
        {name: pyarrow.array(values, struct) if name == image else values for name, values in columns.items()}
    )
    table = table.replace_schema_metadata(features.arrow_schema.metadata if metadata else None)
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(table, path)


def write_set(folder, num_classes, per_class=(3, 2), *, size=(8, 8), mode="RGB", form="PNG", **layout):
    """Write train.parquet and test.parquet, classes in turn."""
    for part, number in zip(("train", "test"), per_class, strict=True):
        labels = [row % num_classes for row in range(number * num_classes)]
        offset = 0 if part == "train" else 10_000
        images = [encoded(picture(offset + row, size, mode), form) for row in range(len(labels))]
        names = layout.pop("names", None) or [f"class {label}" for label in range(num_classes)]
        write_parquet(folder / f"{part}.parquet", images, labels, names=names, **layout)


def make_data_directory(path):
    write_set(path / "cifar10", 10, image="img")
    write_set(path / "cifar100", 100, (1, 1), image="img", label="fine_label", more={"coarse_label": list(range(100))})
    write_set(path / "mnist", 10, mode="L", form="WEBP")  # which has no grey: it comes back in three channels
    write_set(path / "fashion_mnist", 10, mode="L")
    write_set(path / "mini_imagenet", 100, (1, 1), form="JPEG")
    return path
