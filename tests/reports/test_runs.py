import pytest

from casper.config import ConfigError
from casper.reports import FinishedRun, read_runs
from finished import analysis_of, finished_run, write_run


def test_a_run_needs_its_two_files_alone(tmp_path):
    write_run(tmp_path, {"seed": 3}, 61.5)
    (run,), unfinished = read_runs([tmp_path])
    assert run == finished_run({"seed": 3}, 61.5)
    assert unfinished == []


def test_places_are_runs_or_folders_and_none_counts_twice(tmp_path):
    first = write_run(tmp_path / "a", {"seed": 0}, 60.0)
    write_run(tmp_path / "a", {"seed": 1}, 61.0)
    write_run(tmp_path / "b", {"seed": 2}, 62.0)
    (tmp_path / "a" / "notes.txt").write_text("not a run")
    (tmp_path / "a" / "empty").mkdir()
    runs, _ = read_runs([tmp_path / "a", first, tmp_path / "b"])
    assert sorted(run.layout["seed"] for run in runs) == [0, 1, 2]


def test_what_is_not_finished_is_named(tmp_path):
    write_run(tmp_path, {"seed": 0}, 60.0)
    begun = write_run(tmp_path, {"seed": 1}, 61.0)
    (begun / "metrics.json").unlink()
    runs, unfinished = read_runs([tmp_path])
    assert [run.layout["seed"] for run in runs] == [0]
    assert unfinished == [begun.name]


def test_what_an_analysis_found_last_is_looked_up_beside_the_result():
    run = finished_run({}, 60.0, analysis_of((1, 2, 3), maps=((1, 3), (2, 3), (1, 2)), energy=9.0))
    assert run.value("analysis.label_signal_variation") == 30.0
    assert run.value("analysis.spectrum.eigengap") == pytest.approx(0.3)
    assert run.value("analysis.functional_map.off_diagonal_energy") == 9.0
    assert run.value("analysis.functional_map.from") == 2
    assert run.value("analysis.functional_map.missing") is None
    plain = finished_run({}, 60.0)
    assert plain.value("analysis.label_signal_variation") is None
    assert finished_run({}, 60.0, {"task_ends": [], "functional_maps": []}).value("analysis.memory") is None


def test_a_run_whose_analysis_is_damaged_is_still_a_run(tmp_path):
    told = []
    place = write_run(tmp_path, {}, 61.5)
    (place / "analysis.json").write_text("{")
    (run,), unfinished = read_runs([tmp_path], told.append)
    assert (run.analysis, unfinished) == (None, [])
    assert run.value("class_il.final_average_accuracy") == 61.5
    assert told[0].startswith("an analysis is left out: ")


def test_an_analysis_is_read_with_its_run(tmp_path):
    write_run(tmp_path, {}, 61.5, analysis={"task_ends": []})
    (run,), _ = read_runs([tmp_path])
    assert run.analysis == {"task_ends": []}


def test_the_main_block_is_that_of_the_streams_scenario():
    assert finished_run({}, 61.5).main_block[0] == "class_il"
    name, block = finished_run({}, 61.5, scenario="domain_il").main_block
    assert (name, block["final_average_accuracy"]) == ("domain_il", 61.5)
    assert finished_run({}, 61.5, class_il=None).main_block == ("domain_il", {})


def test_values_by_path():
    run = finished_run({}, 61.5, recalibrated=62.5)
    assert run.value("class_il.final_average_accuracy") == 61.5
    assert run.value("recalibrated.class_il.final_average_accuracy") == 62.5
    assert run.value("task_il.final_average_accuracy") is None
    assert run.value("class_il.nothing") is None
    assert run.value("class_il.accuracy_matrix") is None
    assert run.code == "1.0 abc"
    run.metrics.pop("code")
    assert run.code == "unknown"


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_a_place_without_runs(tmp_path, name):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match=name):
        read_runs([tmp_path / name])


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("metrics.json", "{"),
        ("metrics.json", "[]"),
        ("metrics.json", '{"class_il": 3, "domain_il": null, "latent": {}, "seconds": {}, "steps": 1}'),
        (
            "metrics.json",
            '{"class_il": {"accuracy_matrix": [["x"]]}, "domain_il": 0, "latent": 0, "seconds": 0, "steps": 1}',
        ),
        (
            "metrics.json",
            '{"class_il": null, "domain_il": null, "latent": {}, "seconds": {}, "steps": 1, "tasks": [1]}',
        ),
        ("config.yaml", "stream: a"),
        ("config.yaml", ": {"),
        ("config.yaml", "{stream: a, method: [er], regularizer: [], buffer_size: 1, seed: 0}"),
        ("config.yaml", "{stream: a, method: er, regularizer: [1], buffer_size: 1, seed: 0}"),
        ("config.yaml", "{stream: a, method: er, regularizer: x, buffer_size: 1, seed: 0}"),
        ("config.yaml", "{stream: a, method: er, regularizer: [], buffer_size: [], seed: 0}"),
    ],
)
def test_a_run_that_cannot_be_read_is_left_out_and_told(tmp_path, file, content):
    place, told = write_run(tmp_path, {}, 60.0), []
    write_run(tmp_path, {"seed": 1}, 61.0)
    (place / file).write_text(content)
    runs, unfinished = read_runs([tmp_path], told.append)
    assert [run.layout["seed"] for run in runs] == [1]
    assert unfinished == [place.name]
    assert len(told) == 1
    assert told[0].startswith("left out: ")
    assert place.name in told[0]
    with pytest.warns(UserWarning, match="left out"):
        read_runs([tmp_path])


def test_a_run_that_failed_before_it_began_is_not_finished(tmp_path):
    write_run(tmp_path, {}, 60.0)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "failure.json").write_text("{}")
    assert read_runs([tmp_path])[1] == ["other"]


def test_the_version_of_a_run_is_caspers_and_that_of_the_users_classes():
    layout = {"stream": "npz:x.npz", "method": "own:Method", "regularizer": ["casper", "own:Term"], "backbone": {}}
    recorded = {"own:Term": {"name": "term", "digest": "aaa, bbb"}, "other:Class": {"name": "x", "digest": "c"}}
    run = FinishedRun("name", layout, {"code": "1.0 abc", "user_code": recorded})
    assert run.version == "1.0 abc + own:Method not recorded + own:Term aaa, bbb"
    assert run.user_code["own:Term"]["name"] == "term"
