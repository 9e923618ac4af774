import tracemalloc
import zipfile

import numpy as np
import pytest

from casper.config import ConfigError
from casper.runs import RunDirectory
from casper.runs.results import final_accuracy, look_up, parse_analysis, read_analysis, write_analysis
from finished import analysis_of

METRICS = {
    "nan": float("nan"),
    "class_il": {"final_average_accuracy": 61.5},
    "domain_il": None,
    "steps": 8,
    "odd": True,
    "huge": 10**400,
    "list": [1],
}


def test_a_figure_by_its_path():
    assert look_up(METRICS, "class_il.final_average_accuracy") == 61.5
    assert look_up(METRICS, "steps") == 8


def test_what_is_no_figure():
    for path in (
        "class_il",
        "class_il.nothing",
        "domain_il.final_average_accuracy",
        "steps.more",
        "odd",
        "list",
        "x.y",
        "nan",
        "huge",
    ):
        assert look_up(METRICS, path) is None


def test_the_accuracy_of_the_streams_own_scenario():
    assert final_accuracy(METRICS) == 61.5
    assert final_accuracy({"class_il": None, "domain_il": {"final_average_accuracy": 0.0}}) == 0.0
    assert (
        final_accuracy({"class_il": {"final_average_accuracy": 0.0}, "domain_il": {"final_average_accuracy": 1}}) == 0.0
    )
    assert final_accuracy({}) is None


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
    with pytest.raises(ConfigError, match=r"analysis\.json (must|does not)"):
        read_analysis(directory)


@pytest.mark.parametrize("damage", ["other", "empty", "cut", "flipped"])
def test_points_that_cannot_be_read_are_said(tmp_path, damage):
    directory = RunDirectory(tmp_path)
    write_analysis(directory, ANALYSIS)
    whole = directory.embedding.read_bytes()
    flipped = whole[:60] + bytes(255 - byte for byte in whole[60:100]) + whole[100:]
    damaged = {"other": b"no arrays", "empty": b"", "cut": whole[:200], "flipped": flipped}
    directory.embedding.write_bytes(damaged[damage])
    with pytest.raises(ConfigError, match=r"embedding\.npz does not contain the points of embeddings"):
        read_analysis(directory)


@pytest.mark.parametrize("shape", [(2**60,), (10**300,), "(", (60_000_000,)])
def test_points_with_an_absurd_header_or_size_are_said(tmp_path, shape):
    directory = RunDirectory(tmp_path)
    write_analysis(directory, ANALYSIS)
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}}}".encode().ljust(118) + b"\n"
    with zipfile.ZipFile(directory.embedding, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("points_02", "labels_02"):
            content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
            archive.writestr(f"{name}.npy", content + bytes(60_000_000 if shape == (60_000_000,) else 8))
    with pytest.raises(ConfigError, match=r"embedding\.npz does not contain the points of embeddings"):
        read_analysis(directory)


def test_an_analysis_is_read():
    found = parse_analysis(analysis_of(embed=(2,)))
    first, last = found.task_ends
    assert (first.tasks_learnt, first.label_signal_variation, first.label_signal_variation_share) == (1, 10.0, 0.1)
    assert first.embedding is None
    assert last.embedding.points[1] == (1.0, 1.0)
    assert last.embedding.purity == 84.0
    assert last.spectrum.num_classes == 4
    assert last.spectrum.eigenvalues[:2] == (0.0, 0.1)
    (found_map,) = found.functional_maps
    assert (found_map.start, found_map.end, found_map.off_diagonal_energy) == (1, 2, 9.0)
    assert found_map.num_components == (1, 2)


def test_without_a_memory_there_is_nothing_of_its_graph():
    (end,) = parse_analysis(analysis_of((1,), memory=False, maps=())).task_ends
    assert end.spectrum is None
    assert end.label_signal_variation is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda layout: layout.pop("task_ends"),
        lambda layout: layout["task_ends"][0].update(label_signal_variation="much"),
        lambda layout: layout["task_ends"][0]["embedding"]["labels"].pop(),
        lambda layout: layout["task_ends"][0]["spectrum"].update(eigenvalues=[]),
        lambda layout: layout["task_ends"][0]["replay_batch"].update(eigenvalues=[]),
        lambda layout: layout["task_ends"][0]["replay_batch"]["labels"].pop(),
        lambda layout: layout["task_ends"][0]["replay_batch"]["edges"].append([0, 1000]),
        lambda layout: layout["functional_maps"][0].update(matrix=[]),
        lambda layout: layout["functional_maps"][0]["matrix"][0].pop(),
    ],
)
def test_another_layout_is_none(damage):
    layout = analysis_of(embed=(1,))
    layout["task_ends"][0]["replay_batch"] = {
        "points": [[0.0, 0.0], [1.0, 1.0]],
        "labels": [0, 1],
        "edges": [[0, 1]],
        "eigenvalues": [0.0, 2.0],
        "num_classes": 2,
    }
    assert parse_analysis(layout) is not None
    damage(layout)
    assert parse_analysis(layout) is None


@pytest.mark.parametrize(("points", "labels"), [((10**7, 0), (0,)), ((3, 2), (2,)), ((3, 3), (3,)), ((3, 2), (3, 1))])
def test_points_of_a_wrong_shape_are_refused_before_they_become_lists(tmp_path, points, labels):
    directory = RunDirectory(tmp_path)
    directory.analysis.write_text('{"task_ends": [{"tasks_learnt": 1}]}')
    np.savez_compressed(directory.embedding, points_01=np.zeros(points), labels_01=np.zeros(labels))
    tracemalloc.start()
    with pytest.raises(ConfigError, match=r"embedding\.npz does not contain the points of embeddings"):
        read_analysis(directory)
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()
