import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from casper.analysis import functional_map, off_diagonal_energy, task_end_summary
from casper.config import ConfigError, resolve_config
from casper.nets import features_of
from casper.runs import AnalysisOptions, RunDirectory, analyse_run, execute
from casper.runs import analyse as module
from casper.runs.analyse import wanted_embeddings, wanted_maps
from casper.runs.directory import kept_checkpoints
from casper.runs.results import read_analysis
from casper.training import TaskDone

KEPT = {end: Path(str(end)) for end in (1, 2, 4, 5, 7, 10)}


def test_the_usual_is_the_middle_and_the_end_and_some_of_the_way():
    assert wanted_maps(AnalysisOptions(), KEPT, 10) == [(5, 10)]
    assert wanted_embeddings(AnalysisOptions(), KEPT, 10) == [4, 7, 10]
    assert wanted_maps(AnalysisOptions(), {10: Path("last")}, 10) == []
    assert wanted_embeddings(AnalysisOptions(), {10: Path("last")}, 10) == [10]


def test_what_is_asked_is_answered_once():
    assert wanted_maps(AnalysisOptions(maps=[(1, 4), (1, 4), (2, 5)]), KEPT, 10) == [(1, 4), (2, 5)]
    assert wanted_embeddings(AnalysisOptions(embed=[]), KEPT, 10) == []


def test_what_cannot_be_answered_is_named():
    with pytest.raises(
        ConfigError, match=r"--maps must name task ends with a saved checkpoint \(1, 2, .*\), but got 3"
    ):
        wanted_maps(AnalysisOptions(maps=[(3, 4)]), KEPT, 10)
    with pytest.raises(ConfigError, match="from an earlier task end to a later one, but got 5:5"):
        wanted_maps(AnalysisOptions(maps=[(5, 5)]), KEPT, 10)
    with pytest.raises(ConfigError, match="--embed must name task ends with a saved checkpoint"):
        wanted_embeddings(AnalysisOptions(embed=[6]), KEPT, 10)


CONFIG = resolve_config({"stream": "split-digits", "method": "er-ace", "epochs": 1, "buffer_size": 40})


class Watcher:
    """Computes at every task end, within the run, what the analysis is to find afterwards."""

    def __init__(self, monkeypatch):
        build, self.ends = module.build_trainer, {}

        def built(*arguments, **named):
            self.trainer = build(*arguments, **named)
            return self.trainer

        monkeypatch.setattr("casper.runs.execution.build_trainer", built)

    def listen(self, event):
        if isinstance(event, TaskDone):
            view, memory = self.trainer.stream.transform.test, self.trainer.memory
            tests = [task.test for task in self.trainer.stream[: event.task + 1]]
            features = [(features_of(self.trainer.net, data.images, view), data.labels) for data in tests]
            support = features_of(self.trainer.net, memory.images, view)
            self.ends[event.task + 1] = features, support, memory.labels.clone()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run that has kept its states, and what was seen at its task ends."""
    path = tmp_path_factory.mktemp("analysed") / "run"
    with pytest.MonkeyPatch.context() as monkeypatch:
        watcher = Watcher(monkeypatch)
        execute(CONFIG, path, keep_checkpoints=True, listeners=[watcher.listen])
    return path, watcher.ends


@pytest.fixture
def run(finished, tmp_path):
    shutil.copytree(finished[0], tmp_path / "run")
    return RunDirectory(tmp_path / "run")


def test_every_task_end_as_it_was_in_the_run(run, finished):
    told = []
    found = analyse_run(
        run, AnalysisOptions(num_neighbors=6), progress=lambda *counts: told.append(counts), warn=told.append
    )
    assert [end["tasks_learnt"] for end in found["task_ends"]] == [1, 2, 3, 4, 5]
    for end in found["task_ends"]:
        expected = task_end_summary(*finished[1][end["tasks_learnt"]], 6)
        assert {name: end[name] for name in expected} == expected
    assert found["num_neighbors"] == 6
    assert read_analysis(run) == found
    assert [count for count in told if isinstance(count, tuple)] == [(done, 5) for done in range(6)]


def test_the_usual_maps_and_embeddings(run, finished):
    found = analyse_run(run)
    (only,) = found["functional_maps"]
    earlier, later = (torch.cat([part for part, _ in finished[1][end][0][:2]]) for end in (2, 5))
    expected = functional_map(earlier, later, 25, 20)
    assert (found["sigma_neighbors"], found["map_neighbors"], found["num_neighbors"]) == (5, 20, 5)
    assert (only["from"], only["to"], only["rank"], only["points"]) == (2, 5, 25, len(earlier))
    assert np.array(only["matrix"]) == pytest.approx(expected.numpy(), abs=1e-6)
    assert only["off_diagonal_energy"] == off_diagonal_energy(expected)
    embedded = {end["tasks_learnt"]: end["embedding"] for end in found["task_ends"] if "embedding" in end}
    assert list(embedded) == [2, 4, 5]  # 40 %, 70 % and all of five tasks
    assert np.array(embedded[5]["points"]).shape == (40, 2)
    assert embedded[5]["labels"] == finished[1][5][2].tolist()
    assert 0 < embedded[5]["purity"] <= embedded[5]["purity_most"] < 100
    batch = found["task_ends"][-1]["replay_batch"]
    assert batch["num_classes"] == 8
    assert len(batch["labels"]) == len(batch["points"]) == len(batch["eigenvalues"]) <= 40
    assert "replay_batch" not in found["task_ends"][0]


def test_runs_with_the_same_memory_show_the_same_replay_batch(run, tmp_path):
    config = resolve_config({**CONFIG.options.model_dump(exclude={"regularizer"}), "regularizer": ["none"]})
    execute(config, tmp_path / "plain", keep_checkpoints=True)
    first, second = (
        analyse_run(directory, AnalysisOptions(maps=[], embed=[4]))["task_ends"][3]["replay_batch"]
        for directory in (run, RunDirectory(tmp_path / "plain"))
    )
    assert first["labels"] == second["labels"]
    assert first["points"] != second["points"]


def test_other_maps_and_no_embedding(run):
    found = analyse_run(run, AnalysisOptions(maps=[(1, 3), (3, 4)], rank=5, embed=[]), warn=lambda _: None)
    assert [(each["from"], each["to"], len(each["matrix"])) for each in found["functional_maps"]] == [
        (1, 3, 5),
        (3, 4, 5),
    ]
    assert not any("embedding" in end for end in found["task_ends"])


def test_of_many_points_one_in_so_many_is_mapped(run, monkeypatch):
    whole = analyse_run(run, AnalysisOptions(embed=[]), warn=lambda _: None)["functional_maps"][0]["points"]
    monkeypatch.setattr(module, "_MOST_POINTS", 100)
    fewer = analyse_run(run, AnalysisOptions(embed=[]), warn=lambda _: None)["functional_maps"][0]["points"]
    assert fewer == -(-whole // 3)


def test_graphs_in_parts_are_warned_of_and_counted(run):
    told = []
    found = analyse_run(run, AnalysisOptions(num_neighbors=1, maps=[(2, 5)], rank=4, embed=[]), warn=told.append)
    parts = found["functional_maps"][0]["num_components"]
    assert min(parts) > 1
    assert told == [told[0]]
    assert f"after 2 and 5 tasks: functional map: the graphs have {parts[0]} and {parts[1]} connected" in told[0]


def test_a_memory_too_small_for_the_neighbours_is_warned_of(run):
    told, items = [], 40
    found = analyse_run(run, AnalysisOptions(num_neighbors=items, maps=[], embed=[]), warn=told.append)
    assert found["task_ends"][-1]["memory"] == items
    assert found["task_ends"][-1]["label_signal_variation"] is None
    assert told == ["no graph of the memory: its 40 items are too few for 40 neighbours each"]


def test_features_as_arrays(run, finished, tmp_path):
    analyse_run(run, AnalysisOptions(maps=[], embed=[]), features=tmp_path / "features.npz")
    with np.load(tmp_path / "features.npz") as arrays:
        assert len(arrays) == 5 * 4
        tests, support, labels = finished[1][3]
        assert (arrays["memory_03"] == support.numpy()).all()
        assert (arrays["memory_labels_03"] == labels.numpy()).all()
        assert (arrays["test_03"] == torch.cat([part for part, _ in tests]).numpy()).all()
        assert (arrays["test_labels_03"] == torch.cat([part for _, part in tests]).numpy()).all()


def test_options_by_their_old_name(run):
    with pytest.warns(DeprecationWarning, match="`options="):
        found = analyse_run(run, questions=AnalysisOptions(num_neighbors=6, maps=[], embed=[]))
    assert found["num_neighbors"] == 6


def test_states_go_when_they_are_not_to_stay(run):
    analyse_run(run, AnalysisOptions(maps=[], embed=[]), keep_checkpoints=False)
    assert kept_checkpoints(run.path) == {}
    assert run.checkpoint.exists()


def test_a_finished_run_that_kept_nothing_has_its_last_task_end(run, finished):
    told = []
    run.drop_kept_checkpoints()
    found = analyse_run(run, warn=told.append)
    assert told == ["not analysed, without checkpoint: after 1, 2, 3, 4 of 5 tasks"]
    assert [end["tasks_learnt"] for end in found["task_ends"]] == [5]
    expected = task_end_summary(*finished[1][5], num_neighbors=5)
    assert {name: found["task_ends"][0][name] for name in expected} == expected
    assert found["functional_maps"] == []


def test_a_method_without_a_memory(tmp_path):
    config = resolve_config({"stream": "split-digits", "method": "finetune", "regularizer": "none", "epochs": 1})
    execute(config, tmp_path / "run", keep_checkpoints=True)
    found = analyse_run(RunDirectory(tmp_path / "run"))
    assert {end["label_signal_variation"] for end in found["task_ends"]} == {None}
    assert all("embedding" not in end for end in found["task_ends"])
    assert len(found["functional_maps"]) == 1


@pytest.mark.parametrize(
    ("questions", "message"),
    [
        (
            AnalysisOptions(maps=[(2, 7)]),
            r"--maps must name task ends with a saved checkpoint \(1, 2, 3, 4, 5\), but got 7",
        ),
        (AnalysisOptions(maps=[(5, 2)]), "--maps must go from an earlier task end to a later one, but got 5:2"),
        (
            AnalysisOptions(embed=[0]),
            r"--embed must name task ends with a saved checkpoint \(1, 2, 3, 4, 5\), but got 0",
        ),
        (AnalysisOptions(maps=[(1, 2)], rank=5000), r"--rank must be .*, but got 5000"),
        (
            AnalysisOptions(embed=[1], num_neighbors=40),
            "--embed must name task ends with a memory of more than 40 items, but got 40",
        ),
        (AnalysisOptions(num_neighbors=0), r"--neighbors must be .*39.*, but got 0"),
    ],
)
def test_a_question_that_cannot_be_answered_is_named_and_nothing_written(run, questions, message):
    with pytest.raises(ConfigError, match=message):
        analyse_run(run, questions)
    assert not run.analysis.exists()


def test_without_any_state_there_is_nothing_to_ask(run):
    run.drop_kept_checkpoints()
    run.checkpoint.unlink()
    with pytest.raises(ConfigError, match="has no checkpoints of its task ends; run it with"):
        analyse_run(run)


def test_a_state_of_another_task_is_not_taken_for_this_one(run):
    kept = kept_checkpoints(run.path)
    kept[3].write_bytes(kept[1].read_bytes())
    with pytest.raises(ConfigError, match=r"task-03\.pt must be the checkpoint after 3 tasks, but is the one after 1"):
        analyse_run(run)


def test_features_that_are_all_alike_are_measured_and_not_drawn(run, monkeypatch):
    told = []
    monkeypatch.setattr(module, "features_of", lambda _net, images, _view: torch.ones(len(images), 4))
    found = analyse_run(run, AnalysisOptions(maps=[]), warn=told.append)
    assert told == [f"no embedding of the memory after {end} tasks: all its features are equal" for end in (2, 4, 5)]
    assert not any("embedding" in end or "replay_batch" in end for end in found["task_ends"])
    assert found["task_ends"][-1]["same_class_variance"] == 0


def test_a_map_is_made_once(run):
    found = analyse_run(run, AnalysisOptions(maps=[(2, 4), (2, 4)], embed=[]), warn=lambda _: None)
    assert len(found["functional_maps"]) == 1


def test_a_damaged_state_is_named(run):
    file = kept_checkpoints(run.path)[3]
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(ConfigError, match=r"checkpoint\.task-03\.pt is damaged"):
        analyse_run(run)


def test_a_given_number_of_neighbours_is_used_in_every_graph(run):
    found = analyse_run(run, AnalysisOptions(num_neighbors=6, maps=[(2, 5)], embed=[]), warn=lambda _: None)
    assert (found["sigma_neighbors"], found["map_neighbors"]) == (6, 6)
    assert found["functional_maps"][0]["num_neighbors"] == 6


@pytest.mark.parametrize(
    ("per_class", "expected", "told"),
    [
        (3, [(24, 20)], ["the functional map has rank 24 instead of 25: there are only 24 test images"]),
        (
            1,
            [(8, 7)],
            [
                "the functional map has rank 8 instead of 25: there are only 8 test images",
                "the functional map has 7 neighbours instead of 20: there are only 8 test images",
            ],
        ),
    ],
)
def test_few_test_images_lower_the_rank(tmp_path, per_class, expected, told):
    generator = np.random.default_rng(0)
    arrays = {}
    for part, number in (("train", 12), ("test", per_class)):
        labels = np.repeat(np.arange(16), number)
        arrays[f"x_{part}"] = generator.integers(0, 256, (len(labels), 8, 8), dtype=np.uint8)
        arrays[f"y_{part}"] = labels
    np.savez(tmp_path / "few.npz", **arrays)
    config = resolve_config({"stream": f"npz:{tmp_path / 'few.npz'}", "tasks": 2, "epochs": 1, "buffer_size": 40})
    execute(config, tmp_path / "run", keep_checkpoints=True)
    warnings = []
    found = analyse_run(RunDirectory(tmp_path / "run"), AnalysisOptions(embed=[]), warn=warnings.append)
    assert [(each["rank"], each["num_neighbors"]) for each in found["functional_maps"]] == expected
    assert [text for text in warnings if "the functional map has" in text] == told
    with pytest.raises(ConfigError, match="--rank must be"):
        analyse_run(RunDirectory(tmp_path / "run"), AnalysisOptions(rank=25, embed=[]), warn=warnings.append)


def test_without_two_test_images_there_is_no_map(tmp_path):
    arrays = {f"x_{part}": np.zeros((count, 8, 8), np.uint8) for part, count in (("train", 40), ("test", 2))}
    arrays |= {"y_train": np.repeat([0, 1], 20), "y_test": np.array([0, 1])}
    np.savez(tmp_path / "two.npz", **arrays)
    config = resolve_config({"stream": f"npz:{tmp_path / 'two.npz'}", "tasks": 2, "epochs": 1, "buffer_size": 20})
    execute(config, tmp_path / "run", keep_checkpoints=True)
    warnings = []
    found = analyse_run(RunDirectory(tmp_path / "run"), AnalysisOptions(embed=[]), warn=warnings.append)
    assert found["functional_maps"] == []
    assert "no functional map from 1 to 2 tasks: it needs at least 2 test images" in warnings
