import pytest

from casper.config import ConfigError
from casper.experiments import RunDirectory
from casper.experiments.analysis_files import read_analysis, write_analysis

ANALYSIS = {
    "num_neighbors": 10,
    "task_ends": [
        {"tasks_learnt": 1, "label_signal_variation": None},
        {"tasks_learnt": 2, "embedding": {"purity": 80.0, "points": [[0.5, 1.0], [2.0, 3.0]], "labels": [4, 5]}},
    ],
    "functional_maps": [],
}


def test_what_is_written_is_read(tmp_path):
    directory = RunDirectory(tmp_path)
    assert read_analysis(directory) is None
    write_analysis(directory, ANALYSIS)
    assert read_analysis(directory) == ANALYSIS
    assert "points" in ANALYSIS["task_ends"][1]["embedding"]  # what was given is left as it was


def test_points_lie_beside_it_and_may_be_missing(tmp_path):
    directory = RunDirectory(tmp_path)
    write_analysis(directory, ANALYSIS)
    assert "points" not in directory.analysis.read_text()
    directory.embedding.unlink()
    found = read_analysis(directory)
    assert found["task_ends"][1]["embedding"] == {"purity": 80.0}


def test_the_same_content_is_the_same_file(tmp_path):
    directory = RunDirectory(tmp_path)
    write_analysis(directory, ANALYSIS)
    before = directory.embedding.read_bytes()
    write_analysis(directory, ANALYSIS)
    assert directory.embedding.read_bytes() == before


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"task_ends": [1]}',
        '{"task_ends": {}}',
        '{"task_ends": [{}]}',
        '{"task_ends": [{"tasks_learnt": "2"}]}',
        '{"task_ends": [], "functional_maps": [7]}',
    ],
)
def test_what_is_no_analysis_is_said(tmp_path, content):
    directory = RunDirectory(tmp_path)
    directory.analysis.write_text(content)
    with pytest.raises(ConfigError, match=r"analysis\.json should"):
        read_analysis(directory)


@pytest.mark.parametrize("damage", ["other", "empty", "cut", "flipped"])
def test_points_that_cannot_be_read_are_said(tmp_path, damage):
    directory = RunDirectory(tmp_path)
    write_analysis(directory, ANALYSIS)
    whole = directory.embedding.read_bytes()
    flipped = whole[:60] + bytes(255 - byte for byte in whole[60:100]) + whole[100:]
    damaged = {"other": b"no arrays", "empty": b"", "cut": whole[:200], "flipped": flipped}
    directory.embedding.write_bytes(damaged[damage])
    with pytest.raises(ConfigError, match=r"embedding\.npz should hold the points of embeddings; it does not"):
        read_analysis(directory)
