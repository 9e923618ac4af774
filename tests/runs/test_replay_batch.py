import pytest

from casper.config import ConfigError, resolve_config
from casper.runs import RunDirectory
from casper.runs.execution import execute
from casper.runs.replay_batch import read_replay_graph

SMALL = {"epochs": 1, "backbone.width": 4, "tasks": 2, "buffer_size": 50}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs of one seed, without and with CaSpeR."""
    found = []
    for regularizer in ("none", "casper"):
        directory = tmp_path_factory.mktemp(regularizer)
        execute(resolve_config({**SMALL, "regularizer": [regularizer]}), directory)
        found.append(RunDirectory(directory))
    return found


def test_runs_of_one_seed_have_the_same_batch_and_different_graphs(runs):
    plain, casper = (read_replay_graph(run, 4) for run in runs)
    assert plain.labels == casper.labels
    assert len({*plain.labels}) == 8
    assert plain.points != casper.points
    assert read_replay_graph(runs[0], 4) == plain


def test_more_neighbours_give_more_edges(runs):
    assert len(read_replay_graph(runs[0], 4).edges) > len(read_replay_graph(runs[0], 2).edges)


def test_the_analysis_draws_the_same_batch(runs, tmp_path):
    from casper.runs import AnalysisOptions, analyse_run

    config = resolve_config({**SMALL, "regularizer": ["none"]})
    execute(config, tmp_path, keep_checkpoints=True)
    analysis = analyse_run(RunDirectory(tmp_path), AnalysisOptions(maps=[], embed=[2]))
    graph = read_replay_graph(runs[0], 4)
    assert analysis["task_ends"][-1]["replay_batch"]["labels"] == list(graph.labels)
    assert [tuple(edge) for edge in analysis["task_ends"][-1]["replay_batch"]["edges"]] == list(graph.edges)


def test_a_run_without_its_checkpoint_is_a_config_error(runs, tmp_path):
    (tmp_path / "config.yaml").write_bytes((runs[0].path / "config.yaml").read_bytes())
    with pytest.raises(ConfigError, match=r"checkpoint\.pt"):
        read_replay_graph(RunDirectory(tmp_path), 4)
