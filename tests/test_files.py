import errno
import os
import stat
import subprocess
from io import FileIO
from pathlib import Path

import pytest

from casper import files
from faulty_disk import FailingAt, FullDisk, Recording

BIG = bytes(range(256)) * 4096 * 3  # 3 MiB: three writes


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


def names(folder):
    return sorted(file.name for file in folder.iterdir())


def test_a_file_is_written_aside_synced_renamed_and_its_directory_synced(folder, monkeypatch):
    monkeypatch.setattr(files, "disk", disk := Recording())
    files.write_whole(folder / "a", BIG)
    assert (folder / "a").read_bytes() == BIG
    assert disk.operations == [
        *(("write", "a.tmp", 2**20) for _ in range(3)),
        ("sync", "a.tmp"),
        ("replace", "a.tmp", "a"),
        ("sync directory", "run"),
    ]


def test_the_disk_is_really_waited_for(folder, monkeypatch):
    done = []
    fsync, replace = os.fsync, os.replace

    def record(descriptor):
        done.append("directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", record)
    monkeypatch.setattr(os, "replace", lambda *names: (done.append("rename"), replace(*names)))
    files.write_whole(folder / "a", BIG)
    assert done == ["file", "rename", "directory"]


def test_no_descriptor_stays_open(folder):
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        files.write_whole(folder / "a", b"x")
        files.append(folder / "a", b"x")
        files.sync(folder / "a")
    assert len(os.listdir("/proc/self/fd")) == before


def test_what_was_there_moves_only_when_the_new_one_is_whole(folder, monkeypatch):
    files.write_whole(folder / "a", b"old")
    monkeypatch.setattr(files, "disk", disk := Recording())
    files.write_whole(folder / "a", b"new", keep=folder / "b")
    assert ((folder / "a").read_bytes(), (folder / "b").read_bytes()) == (b"new", b"old")
    assert disk.operations[1:4] == [("sync", "a.tmp"), ("replace", "a", "b"), ("replace", "a.tmp", "a")]


def test_without_a_file_before_there_is_nothing_to_keep(folder):
    files.write_whole(folder / "a", b"new", keep=folder / "b")
    assert names(folder) == ["a"]


@pytest.mark.parametrize("number", range(7))
def test_a_failure_at_any_operation_leaves_a_whole_file(folder, monkeypatch, number):
    files.write_whole(folder / "a", b"old")
    monkeypatch.setattr(files, "disk", disk := FailingAt(number))
    with pytest.raises(OSError, match="Input/output error") as caught:
        files.write_whole(folder / "a", BIG, keep=folder / "b")
    assert caught.value.filename == str(folder / "a")
    assert disk.calls == number + 1
    found = {name: (folder / name).read_bytes() for name in names(folder)}
    assert found in (
        {"a": b"old"},  # before the renaming
        {"b": b"old"},  # between the two
        {"a": BIG, "b": b"old"},  # the directory could not be synced
    )


def test_seven_operations_are_all_there_are(folder, monkeypatch):
    files.write_whole(folder / "a", b"old")
    monkeypatch.setattr(files, "disk", disk := FailingAt(7))
    files.write_whole(folder / "a", BIG, keep=folder / "b")
    assert disk.calls == 7


@pytest.mark.parametrize("room", range(3))
def test_a_full_disk_leaves_the_old_file_and_nothing_else(folder, monkeypatch, room):
    files.write_whole(folder / "a", b"old")
    monkeypatch.setattr(files, "disk", FullDisk(room))
    with pytest.raises(OSError, match="No space left") as caught:
        files.write_whole(folder / "a", BIG)
    assert caught.value.errno == errno.ENOSPC
    assert (names(folder), (folder / "a").read_bytes()) == (["a"], b"old")


def test_an_appended_line_is_there_or_not(folder, monkeypatch):
    files.append(folder / "log", b"first\n")
    files.append(folder / "log", b"second\n")
    monkeypatch.setattr(files, "disk", FullDisk(0))
    with pytest.raises(OSError, match="No space left") as caught:
        files.append(folder / "log", b"third\n")
    assert caught.value.filename == str(folder / "log")
    assert (folder / "log").read_bytes() == b"first\nsecond\n"


def test_a_short_write_is_continued(folder, monkeypatch):
    class Stingy(FileIO):
        def write(self, data):
            return super().write(data[:7])

    monkeypatch.setattr(files, "FileIO", Stingy)
    files.write_whole(folder / "a", BIG[:1000])
    assert (folder / "a").read_bytes() == BIG[:1000]


@pytest.mark.parametrize(
    ("content", "size", "left"),
    [
        (b"one\ntwo\nthree\n", 8, b"one\ntwo\n"),
        (b"one\ntwo\nthr", 100, b"one\ntwo\n"),
        (b"one\ntwo\n", 8, b"one\ntwo\n"),
        (b"one\ntwo\n", 6, b"one\n"),
        (b"half", 4, b""),
        (b"one\n", 0, b""),
    ],
)
def test_cut_leaves_whole_lines(folder, content, size, left):
    (folder / "log").write_bytes(content)
    files.cut(folder / "log", size)
    assert (folder / "log").read_bytes() == left


def test_cut_makes_a_file_that_is_not_there(folder):
    files.cut(folder / "log", 10)
    assert (folder / "log").read_bytes() == b""


def test_sync_reaches_the_file(folder, monkeypatch):
    files.append(folder / "log", b"x\n")
    monkeypatch.setattr(files, "disk", disk := Recording())
    files.sync(folder / "log")
    assert disk.operations == [("sync", "log")]
    assert (folder / "log").read_bytes() == b"x\n"


def test_renaming_and_removing_are_for_good(folder, monkeypatch):
    for name in "abc":
        (folder / name).write_text(name)
    monkeypatch.setattr(files, "disk", disk := Recording())
    files.rename(folder / "a", folder / "b")
    files.remove(folder, ["c", "missing"])
    assert names(folder) == ["b"]
    assert (folder / "b").read_text() == "a"
    end = ("sync directory", "run")
    assert disk.operations == [("replace", "a", "b"), end, ("remove", "c"), ("remove", "missing"), end]


@pytest.mark.parametrize("number", [0, 1])
def test_what_cannot_be_renamed_or_removed_is_named(folder, monkeypatch, number):
    monkeypatch.setattr(files, "disk", FailingAt(number))
    (folder / "a").write_text("a")
    with pytest.raises(OSError, match="Input/output error") as caught:
        files.rename(folder / "a", folder / "b")
    assert caught.value.filename == str(folder / "a")
    monkeypatch.setattr(files, "disk", FailingAt(number))
    with pytest.raises(OSError, match="Input/output error") as caught:
        files.remove(folder, ["c"])
    assert caught.value.filename == str([folder / "c", folder][number])


def test_directories_are_made_for_good(folder, monkeypatch):
    monkeypatch.setattr(files, "disk", disk := Recording())
    files.make_directory(folder / "a" / "b")
    files.make_directory(folder / "a" / "b")
    assert (folder / "a" / "b").is_dir()
    assert disk.operations == [("sync directory", "run"), ("sync directory", "a")]


def test_a_directory_that_is_gone_is_an_error(folder):
    with pytest.raises(FileNotFoundError):
        files.append(folder / "gone" / "log", b"x")
    with pytest.raises(FileNotFoundError):
        files.write_whole(folder / "gone" / "a", b"x")


@pytest.fixture
def victim(tmp_path):
    """A file outside the folder that nothing may change."""
    path = tmp_path / "victim"
    path.write_bytes(b"precious\n")
    yield path
    assert path.read_bytes() == b"precious\n"


@pytest.mark.parametrize(
    "write",
    [
        lambda path: files.write_whole(path, b"x"),
        lambda path: files.append(path, b"x"),
        files.sync,
        lambda path: files.cut(path, 3),
    ],
)
@pytest.mark.parametrize("exists", [True, False])
def test_nothing_is_written_through_a_link(folder, victim, write, exists):
    (folder / "a").symlink_to(victim if exists else folder / "nowhere")
    with pytest.raises(files.UnsafeFileError, match=r"/a must be a file, but it is a symbolic link; remove it$"):
        write(folder / "a")
    assert names(folder) == ["a"]


def test_a_link_that_appears_after_the_check_is_not_followed(folder, victim, monkeypatch):
    (folder / "a").symlink_to(victim)
    monkeypatch.setattr(files, "check_plain", lambda path: None)
    with pytest.raises(OSError, match="symbolic links"):
        files.append(folder / "a", b"x")
    files.write_whole(folder / "a", b"x")
    assert not (folder / "a").is_symlink()  # replaced, not followed


def test_a_temporary_file_has_a_name_that_nobody_can_prepare(folder, victim, monkeypatch):
    (folder / "a.tmp").symlink_to(victim)
    monkeypatch.setattr(files.secrets, "token_hex", lambda count: "0" * 2 * count)
    files.write_whole(folder / "a", b"x")
    (folder / f"a.{'0' * 16}.tmp").symlink_to(victim)
    with pytest.raises(OSError, match="must be a file"):
        files.write_whole(folder / "a", b"y")
    (folder / f"b.{'0' * 16}.tmp").hardlink_to(victim)
    with pytest.raises(FileExistsError):
        files.write_whole(folder / "b", b"y")


def test_temporary_files_of_killed_processes_are_recognised_and_removed(folder, victim):
    left = ["a.0123456789abcdef.tmp", "a.fedcba9876543210.tmp"]
    others = ["a.b.tmp", "b.0123456789abcdef.tmp", "a", "a.0123.tmp", "a.tmp"]
    for name in [*left, *others]:
        (folder / name).write_bytes(b"half")
    (folder / f"a.{'1' * 16}.tmp").symlink_to(victim)
    files.write_whole(folder / "a", b"x")
    assert set(left) <= set(names(folder))  # they may be of a process that is still writing
    for name in (left[0], "a.tmp"):
        os.utime(folder / name, (0, 0))
    files.write_whole(folder / "a", b"x")
    assert left[0] not in names(folder)
    assert "a.tmp" in names(folder)  # it can be the user's
    files.remove_stale(folder / "a")
    assert names(folder) == sorted(others)
    files.remove_stale(folder / "a", plain=True)  # in the directory of a run
    assert names(folder) == sorted({*others} - {"a.tmp"})


def test_pipes_and_devices_are_not_read_or_written(folder):
    os.mkfifo(folder / "pipe")
    (folder / "zero").symlink_to("/dev/zero")
    for name in ("pipe", "zero"):
        with pytest.raises(files.UnsafeFileError, match="it is a pipe or a device"):
            files.read(folder / name)
    with pytest.raises(files.UnsafeFileError, match="it is a pipe or a device"):
        files.append(folder / "pipe", b"x")
    assert files.read(folder / "pipe", pipe=True) == b""  # nobody writes to it


def test_a_pipe_with_a_writer_is_read_to_its_end(folder):
    with subprocess.Popen(["sh", "-c", "sleep 0.2; echo late"], stdout=subprocess.PIPE) as process:
        assert files.read(Path(f"/dev/fd/{process.stdout.fileno()}"), pipe=True) == b"late\n"


@pytest.mark.parametrize(("last", "found"), [(None, b"0123"), (2, b"23"), (9, b"0123")])
def test_the_end_of_a_file(folder, last, found):
    (folder / "a").write_bytes(b"0123")
    (folder / "b").symlink_to(folder / "a")
    assert files.read(folder / "a", last=last) == files.read(folder / "b", last=last) == found
