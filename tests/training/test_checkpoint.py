import pickle

import pytest
import torch

from casper.training import load_checkpoint, save_checkpoint


def test_round_trip(tmp_path):
    path = tmp_path / "checkpoint.pt"
    save_checkpoint(path, {"tensor": torch.arange(3), "nested": {"list": [1, None, 2.5], "text": "x"}})
    state = load_checkpoint(path)
    assert torch.equal(state["tensor"], torch.arange(3))
    assert state["nested"] == {"list": [1, None, 2.5], "text": "x"}


def test_the_one_before_is_kept_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "checkpoint.pt"
    for number in range(3):
        save_checkpoint(path, {"number": number})
    assert load_checkpoint(path) == {"number": 2}
    assert load_checkpoint(tmp_path / "checkpoint.previous.pt") == {"number": 1}
    assert sorted(file.name for file in tmp_path.iterdir()) == ["checkpoint.previous.pt", "checkpoint.pt"]


def test_a_failed_write_leaves_the_checkpoint_alone(tmp_path, monkeypatch):
    path = tmp_path / "checkpoint.pt"
    save_checkpoint(path, {"number": 0})
    monkeypatch.setattr(torch, "save", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        save_checkpoint(path, {"number": 1})
    assert load_checkpoint(path) == {"number": 0}


class Trap:
    def __reduce__(self):
        return (print, ("sprung",))


def test_code_in_a_checkpoint_does_not_run(tmp_path, capsys):
    torch.save({"trap": Trap()}, tmp_path / "checkpoint.pt")
    with pytest.raises(pickle.UnpicklingError):
        load_checkpoint(tmp_path / "checkpoint.pt")
    assert "sprung" not in capsys.readouterr().out
