import pytest
import torch

from casper.config import ConfigError, resolve_config
from casper.plots.labels import VariantName
from casper.reports.replay_graphs import ReplayBatch, read_replay_batch
from casper.runs import RunDirectory
from casper.runs.execution import execute

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


def test_runs_of_one_seed_have_the_same_batch_and_their_own_features(runs):
    plain, casper = (read_replay_batch(run) for run in runs)
    assert torch.equal(plain.labels, casper.labels)
    assert len(plain.labels.unique()) == 8
    assert not torch.equal(plain.features, casper.features)
    again = read_replay_batch(runs[0])
    assert torch.equal(plain.features, again.features)


def test_a_run_without_its_checkpoint_is_a_config_error(runs, tmp_path):
    config = (runs[0].path / "config.yaml").read_bytes()
    (tmp_path / "config.yaml").write_bytes(config)
    with pytest.raises(ConfigError, match=r"checkpoint\.pt"):
        read_replay_batch(RunDirectory(tmp_path))


def test_edges_between_classes_are_counted_once():
    # Two pairs of one class each, far apart: with one neighbour there are two edges, with two there are more.
    features = torch.tensor([[0.0, 0.0], [0.0, 1.0], [9.0, 0.0], [9.0, 1.0]])
    separate = ReplayBatch(features, torch.tensor([0, 0, 1, 1]))
    assert separate.edges(1) == (0, 2)
    assert ReplayBatch(features, torch.tensor([0, 1, 0, 1])).edges(1) == (2, 2)
    assert separate.edges(3) == (4, 6)


def test_the_graph_has_the_counted_edges(runs):
    batch = read_replay_batch(runs[0])
    graph = batch.graph(VariantName("ER-ACE"), 4)
    between, edges = batch.edges(4)
    assert len(graph.edges) == edges
    assert sum(graph.labels[i] != graph.labels[j] for i, j in graph.edges) == between
    assert graph.labels == tuple(batch.labels.tolist())
    assert len(graph.points) == len(batch.labels)
