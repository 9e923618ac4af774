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


@pytest.mark.parametrize("damage", ["no ends", "text", "labels"])
def test_another_layout_is_none(damage):
    layout = analysis_of(embed=(1,))
    if damage == "no ends":
        del layout["task_ends"]
    elif damage == "text":
        layout["task_ends"][0]["label_signal_variation"] = "much"
    else:
        layout["task_ends"][0]["embedding"]["labels"].pop()
    assert parse_analysis(layout) is None
