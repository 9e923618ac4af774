import os
import signal
import subprocess
import sys

import pytest

from casper.config import ConfigError
from casper.runs.lock import lock_owner, run_lock

HOLDER = """
import sys, time
from pathlib import Path
from casper.runs.lock import run_lock
with run_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the lock."""
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()


def test_the_second_process_is_refused_and_told_of_the_first(tmp_path, holder):
    wanted = f"is in use by process {holder.pid} on {os.uname().nodename}"
    with pytest.raises(ConfigError, match=wanted), run_lock(tmp_path):
        pass
    assert lock_owner(tmp_path) == f"process {holder.pid} on {os.uname().nodename}"
    with pytest.raises(ConfigError, match=wanted), run_lock(tmp_path):  # the first attempt has not erased the name
        pass


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_lock_dies_with_its_process(tmp_path, holder, number):
    holder.send_signal(number)
    holder.wait()
    assert lock_owner(tmp_path) is None
    with run_lock(tmp_path):
        pass


def test_a_lock_is_released_and_taken_again(tmp_path):
    for _ in range(2):
        with run_lock(tmp_path / "new" / "deeper"):
            assert lock_owner(tmp_path / "new" / "deeper") is not None
    with pytest.raises(ZeroDivisionError), run_lock(tmp_path):
        raise ZeroDivisionError
    assert lock_owner(tmp_path) is None


def test_asking_makes_no_files(tmp_path):
    assert lock_owner(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_cannot_be_looked_at_is_nobodys(tmp_path, monkeypatch):
    (tmp_path / ".lock").mkdir()
    assert lock_owner(tmp_path) is None


def test_a_directory_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError, match="cannot be written: File exists"), run_lock(tmp_path / "file" / "below"):
        pass
