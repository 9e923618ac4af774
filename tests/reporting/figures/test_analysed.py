import pytest

from casper.reporting.figures.analysed import parse_analysis
from finished import analysis_of


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
