import io
import struct
import zipfile

import pytest
import torch
import xxhash

from casper import files
from casper.training.checkpoint import CheckpointError, load_checkpoint, previous, save_checkpoint
from faulty_disk import FailingAt
from support import Trap

STATE = {"tensor": torch.arange(3), "nested": {"list": [1, None, 2.5], "text": "x"}}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "checkpoint.pt"


def test_round_trip(path):
    save_checkpoint(path, STATE)
    state = load_checkpoint(path)
    assert torch.equal(state["tensor"], torch.arange(3))
    assert state["nested"] == {"list": [1, None, 2.5], "text": "x"}


def test_anybody_can_read_it_with_pytorch_alone(path):
    save_checkpoint(path, STATE)
    assert torch.equal(torch.load(path, weights_only=True)["tensor"], torch.arange(3))
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert archive.comment.startswith(b"xxh3-128 ")


def test_only_the_previous_checkpoint_is_kept(path, tmp_path):
    for number in range(3):
        save_checkpoint(path, {"number": number})
    assert load_checkpoint(path) == {"number": 2}
    assert load_checkpoint(previous(path)) == {"number": 1}
    assert sorted(file.name for file in tmp_path.iterdir()) == ["checkpoint.previous.pt", "checkpoint.pt"]


@pytest.mark.parametrize("number", range(6))
def test_a_failed_write_leaves_a_whole_checkpoint(path, monkeypatch, number):
    save_checkpoint(path, {"number": 0})
    save_checkpoint(path, {"number": 1})
    monkeypatch.setattr(files, "disk", disk := FailingAt(number))
    if number < 5:
        with pytest.raises(OSError, match="Input/output error"):
            save_checkpoint(path, {"number": 2})
    else:  # a write, a sync, two renamings, the directory's sync: there is no sixth operation
        save_checkpoint(path, {"number": 2})
        assert disk.calls == 5
    whole = [load_checkpoint(file)["number"] for file in (path, previous(path)) if file.exists()]
    assert whole in ([1, 0], [1], [2, 1])


def test_every_flipped_bit_is_noticed(path):
    save_checkpoint(path, {"a": 1})
    whole = path.read_bytes()
    for bit in range(8 * len(whole)):
        altered = bytearray(whole)
        altered[bit // 8] ^= 1 << bit % 8
        path.write_bytes(altered)
        with pytest.raises(CheckpointError, match="checksum does not match"):
            load_checkpoint(path)


def test_every_truncation_and_every_surplus_is_noticed(path):
    save_checkpoint(path, STATE)
    whole = path.read_bytes()
    for content in [*(whole[:length] for length in range(len(whole))), whole + b"\0", b"\0" + whole, whole + whole]:
        path.write_bytes(content)
        with pytest.raises(CheckpointError, match="checksum does not match"):
            load_checkpoint(path)


def with_checksum(data):
    """Sign a file as `save_checkpoint` does: a whole file that it never wrote."""
    data = data[:-2] + struct.pack("<H", 41)
    return data + b"xxh3-128 " + xxhash.xxh3_128_hexdigest(data).encode()


@pytest.mark.parametrize("wrap", [lambda trap: trap, lambda trap: {"trap": trap}, lambda trap: {"a": [1, {"b": trap}]}])
def test_code_in_a_checkpoint_does_not_run(path, tmp_path, wrap):
    buffer = io.BytesIO()
    torch.save(wrap(Trap(tmp_path / "sprung")), buffer)
    path.write_bytes(with_checksum(buffer.getvalue()))
    with pytest.raises(CheckpointError, match="it holds more than tensors and plain values"):
        load_checkpoint(path)
    assert not (tmp_path / "sprung").exists()
    torch.load(io.BytesIO(buffer.getvalue()), weights_only=False)
    assert (tmp_path / "sprung").exists()  # the trap works


def test_a_state_is_a_mapping(path):
    buffer = io.BytesIO()
    torch.save([1, 2], buffer)
    path.write_bytes(with_checksum(buffer.getvalue()))
    with pytest.raises(CheckpointError, match="must hold a dictionary, but got list"):
        load_checkpoint(path)


def test_a_file_that_is_not_there(path):
    with pytest.raises(FileNotFoundError):
        load_checkpoint(path)


def test_too_little_memory_is_no_damage(path, monkeypatch):
    save_checkpoint(path, STATE)
    monkeypatch.setattr(torch, "load", lambda *_, **__: (_ for _ in ()).throw(MemoryError))
    with pytest.raises(MemoryError):
        load_checkpoint(path)
