import tracemalloc
import zipfile

import numpy
import pytest

from casper.data import NpzFile
from casper.errors import DataError

X = numpy.random.default_rng(0).integers(0, 256, (6, 8, 8, 3), dtype=numpy.uint8)
Y = numpy.array([0, 1, 2, 0, 1, 2])
GOOD = {"x_train": X, "y_train": Y, "x_test": X[:3], "y_test": Y[:3]}


def source(tmp_path, **changes):
    arrays = {name: array for name, array in {**GOOD, **changes}.items() if array is not None}
    numpy.savez(tmp_path / "set.npz", **arrays)
    return NpzFile(tmp_path / "set.npz")


def test_colour_arrays(tmp_path):
    raw = source(tmp_path).read()
    assert list(raw.splits["train"].labels) == [0, 1, 2, 0, 1, 2]
    assert (numpy.asarray(raw.splits["test"].open(2)) == X[2]).all()
    assert raw.splits["test"].place(2) == f"{tmp_path / 'set.npz'} x_test[2]"


@pytest.mark.parametrize("images", [X[..., 0], X[..., :1]])
def test_grey_arrays(images, tmp_path):
    image = source(tmp_path, x_train=images, x_test=images[:3]).read().splits["train"].open(1)
    assert image.mode == "L"
    assert (numpy.asarray(image) == X[1, ..., 0]).all()


def test_text_labels_and_a_column_of_labels(tmp_path):
    raw = source(tmp_path, y_train=numpy.array(list("abcabc")), y_test=numpy.array(["a", "b", "c"])).read()
    assert raw.splits["train"].labels == ["a", "b", "c", "a", "b", "c"]
    assert source(tmp_path, y_train=Y.astype(numpy.uint8)).read().splits["train"].labels == Y.tolist()
    assert source(tmp_path, y_train=Y[:, None]).read().splits["train"].labels == Y.tolist()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y_test": None}, "no array 'y_test'; found x_train, y_train, x_test"),
        ({"x_train": X / 255}, "x_train must be uint8 (0 to 255), but got float64"),
        ({"x_test": X[:3].transpose(0, 3, 1, 2)}, "x_test must have shape (n, h, w), (n, h, w, 1) or (n, h, w, 3)"),
        ({"x_test": X[:3].repeat(2, axis=3)[..., :4]}, "x_test must have shape"),
        ({"x_test": X[:3, :0]}, "x_test must have shape"),
        ({"y_train": Y[:5]}, "y_train must be 6 integers or strings, but got int64 of shape (5,)"),
        ({"y_train": Y.astype(float)}, "y_train must be 6 integers or strings, but got float64"),
    ],
)
def test_arrays_that_do_not_fit(changes, message, tmp_path):
    with pytest.raises(DataError) as caught:
        source(tmp_path, **changes).read()
    assert message in str(caught.value)
    assert "set.npz" in str(caught.value)


def test_no_file_and_no_archive(tmp_path):
    with pytest.raises(DataError, match="no such file; expected one with the arrays x_train"):
        NpzFile(tmp_path / "set.npz")
    (tmp_path / "set.npz").write_bytes(b"PK not really")
    with pytest.raises(DataError, match=r"must be an archive of arrays, as numpy\.savez writes it, but is damaged"):
        NpzFile(tmp_path / "set.npz").read()


def test_a_plain_array_and_a_damaged_archive(tmp_path):
    with (tmp_path / "set.npz").open("wb") as file:
        numpy.save(file, X)
    with pytest.raises(DataError, match="a single array; expected an archive of x_train"):
        NpzFile(tmp_path / "set.npz").read()
    numpy.savez_compressed(tmp_path / "set.npz", **GOOD)
    content = bytearray((tmp_path / "set.npz").read_bytes())
    content[100:140] = bytes(40)
    (tmp_path / "set.npz").write_bytes(content)
    with pytest.raises(DataError, match=r"must be an archive of arrays, as numpy\.savez writes it, but is damaged"):
        NpzFile(tmp_path / "set.npz").read()


def test_arrays_of_objects_are_never_unpickled(tmp_path):
    with pytest.raises(DataError, match=r"must be an archive of arrays, as numpy\.savez writes it, but is damaged"):
        source(tmp_path, y_train=numpy.array([{}] * 6, dtype=object)).read()


def archive_with_headers(path, **headers):
    """An archive whose arrays have any header, and a few bytes of data."""
    numpy.savez(path, **GOOD)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            if header := headers.get(name.removesuffix(".npy")):
                text = header.encode().ljust(118) + b"\n"
                content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(100)
            archive.writestr(name, content)
    return NpzFile(path)


@pytest.mark.parametrize(
    ("dtype", "shape", "message"),
    [
        ("|u1", (2**50, 8, 8), "x_train and y_train: .* TB when decoded, more than 4GB; .* larger --max-decoded-size"),
        ("|u1", (2**62, 2**62, 3), "x_train and y_train: over a million TB when decoded"),
        ("|u1", (10**300, 8, 8), "x_train and y_train: over a million TB when decoded"),
        ("|V0", (2**50, 8, 8), "x_train and y_train: .* when decoded, more than 4GB"),
        ("|u1", (10**9, 1, 1), "x_train and y_train: 201 GB when decoded"),  # and the lists of its rows
        ("|u1", (-1, 8, 8), "damaged"),
        ("<U99999999", (20,), "x_train and y_train: 8 GB when decoded"),
        ("nonsense", (10,), "damaged"),
        ("|u1", "(", "damaged"),
    ],
)
def test_headers_with_absurd_shapes_are_one_line_before_anything_is_allocated(dtype, shape, message, tmp_path):
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}}}"
    with pytest.raises(DataError, match=message) as caught:
        archive_with_headers(tmp_path / "set.npz", x_train=header).read()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("version", [1, 2])
def test_a_long_header_is_not_inflated(tmp_path, version):
    numpy.savez_compressed(tmp_path / "set.npz", **{name: array for name, array in GOOD.items() if name != "x_test"})
    length, count = (2**16 - 1, 2) if version == 1 else (2**28, 4)
    with zipfile.ZipFile(tmp_path / "set.npz", "a", zipfile.ZIP_DEFLATED) as archive:
        prefix = numpy.lib.format.magic(version, 0) + length.to_bytes(count, "little")
        archive.writestr("x_test.npy", prefix + b" " * min(length, 2**24))
    tracemalloc.start()
    with pytest.raises(DataError, match="is damaged"):
        NpzFile(tmp_path / "set.npz").read()
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()


def test_a_small_file_of_a_large_array_is_not_inflated(tmp_path, monkeypatch):
    numpy.savez_compressed(tmp_path / "set.npz", **{**GOOD, "x_test": numpy.zeros((3, 3000, 3000), numpy.uint8)})
    assert (tmp_path / "set.npz").stat().st_size < 100_000
    monkeypatch.setenv("CASPER_MAX_DECODED_SIZE", "1MB")
    tracemalloc.start()
    with pytest.raises(DataError, match="x_test and y_test: 27 MB when decoded, more than 1MB"):
        NpzFile(tmp_path / "set.npz").read()
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()
    monkeypatch.delenv("CASPER_MAX_DECODED_SIZE")
    assert len(NpzFile(tmp_path / "set.npz").read().splits["test"]) == 3


def test_only_arrays_whose_header_was_checked_are_read(tmp_path):
    with zipfile.ZipFile(source(tmp_path)._path, "a") as archive:
        archive.writestr("x_train", b"no array")  # numpy.load prefers this name
    assert (numpy.asarray(NpzFile(tmp_path / "set.npz").read().splits["train"].open(0)) == X[0]).all()
