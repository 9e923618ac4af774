import os

from casper.streams.sources.fingerprint import of_files, of_values


def test_it_is_the_same_for_the_same_files_and_other_for_changed_ones(tmp_path):
    file = tmp_path / "a"
    file.write_bytes(b"1234")
    os.utime(file, ns=(1, 1))
    first = of_files([file])
    assert of_files([file]) == first
    assert of_files([file], extra=["column"]) != first
    os.utime(file, ns=(1, 2))
    assert of_files([file]) != first
    file.write_bytes(b"12345")
    os.utime(file, ns=(1, 1))
    assert of_files([file]) != first
    other = tmp_path / "b"
    other.write_bytes(b"1234")
    os.utime(other, ns=(1, 1))
    assert of_files([other]) != first


def test_values():
    assert of_values(1, None, "a") == of_values(1, None, "a")
    assert len({of_values(1, None), of_values(1, "None"), of_values(None, 1), of_values("1", None)}) == 4
