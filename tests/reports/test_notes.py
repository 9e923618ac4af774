from casper.config import resolve_config
from casper.reports import FinishedRun, make_report
from casper.reports.notes import legend, other_differences
from casper.reports.variants import variant_of
from finished import finished_run

GIVEN = {"stream": "split-cifar100", "protocol": "desk", "method": "er-ace", "buffer_size": 500}


def notes_of(*regularizers, **values):
    """The notes of a table of two variants; what is given besides is the second's."""
    first, second = regularizers
    runs = [finished_run({**GIVEN, "regularizer": [first]}, 10.0)]
    runs.append(finished_run({**GIVEN, "regularizer": [second], **values}, 11.0))
    (table,) = make_report(runs, paths=["class_il.final_average_accuracy"]).tables
    return table.notes


def test_a_legend_explains_what_a_table_has():
    assert legend() == make_report([finished_run({}, 60.0)]).notes[0]
    assert all(sign in legend() for sign in ("▲", "▼", "○", "?", "F*", "Recalibrated"))
    bare = legend("", forgetting=False, recalibrated=False)
    assert bare == "Mean ± sample standard deviation over seeds (number of seeds)."
    assert "▲" not in legend("difference", verdicts=False)


def test_versions_of_the_code_are_told():
    one = make_report([finished_run({"seed": seed}, 60.0) for seed in (0, 1)])
    assert "2 runs, all from one version of the code: 1.0 abc." in one.notes
    runs = [finished_run({"seed": 0}, 60.0), *(finished_run({"seed": seed}, 60.0, code="1.0 xyz") for seed in (1, 2))]
    several = make_report(runs)
    assert "These runs come from 2 versions of the code: 1.0 abc (1 run), 1.0 xyz (2 runs)." in several.notes


def test_digests_that_give_the_same_results_are_one_version_of_the_code():
    codes = ["0.1.0 7d4e3fc5a3", "0.1.0 9c2cf5ff47", "0.1.0 9c2cf5ff47", "1.0 abc"]
    runs = [finished_run({"seed": seed}, 60.0, code=code) for seed, code in enumerate(codes)]
    same = "0.1.0 7d4e3fc5a3 (1 run) = 0.1.0 9c2cf5ff47 (2 runs)"
    bits = "where = means bit-identical results"
    assert f"3 runs, all from one version of the code: {same}, {bits}." in make_report(runs[:3]).notes
    assert f"These runs come from 2 versions of the code: {same}, 1.0 abc (1 run), {bits}." in make_report(runs).notes


def test_the_interval_is_named_and_what_is_missing_too():
    report = make_report([finished_run({}, 60.0)], ["one", "two"])
    assert "Student's t" in report.notes[0]
    assert report.notes[-1] == "Not included because unfinished: 2 runs."


def test_a_variant_that_differs_in_more_than_its_regularizer_is_told(monkeypatch):
    assert not any("as well" in note for note in notes_of("none", "casper"))
    assert not any("as well" in note for note in notes_of("none", "casper", recalibrate=True))
    # As the paper's lines might have it: another rate beside a regularizer.
    plain, added = (resolve_config({**GIVEN, "regularizer": [name]}).as_dict() for name in ("none", "casper"))
    values = {
        variant_of(layout): {0: FinishedRun("name", {**layout, "lr": rate}, {})}
        for layout, rate in ((plain, 0.1), (added, 0.3))
    }
    assert list(other_differences(values)) == ["er-ace + casper differs from the plain method in lr as well."]


def test_what_the_papers_figures_are_beside_a_desk():
    (note,) = notes_of("none", "casper")
    assert note == (
        "These are not the paper's experiments: image_size 16 instead of the original, backbone convnet instead of "
        "resnet18, backbone.width 16 instead of 64, epochs 4 instead of 20, milestones [3] instead of []. "
        "Its values are included for orientation."
    )


def test_what_a_table_of_the_paper_adds_is_part_of_that():
    settings = {"epochs": 10, "batch_size": 32, "milestones": [7, 9]}
    runs = [finished_run({**GIVEN, **settings, "regularizer": ["none"]}, 10.0)]
    (table,) = make_report(runs, paths=["class_il.final_average_accuracy"]).tables
    assert "epochs 10 instead of 50" in table.notes[0]
    assert "milestones [7, 9] instead of [35, 45]" in table.notes[0]
    assert "batch_size" not in table.notes[0]


def test_where_the_desk_is_the_papers_own_set_up():
    given = {"stream": "rotated-mnist", "protocol": "desk", "method": "er-ace", "regularizer": ["none"]}
    run = finished_run(given, 80.0, scenario="domain_il")
    (table,) = make_report([run], paths=["domain_il.final_average_accuracy"]).tables
    assert table.notes == ("On this stream the desk protocol equals the paper's.",)


def test_numbers_of_threads_are_told():
    def notes(*threads):
        return make_report(
            [finished_run({"seed": seed}, 60.0, threads=number) for seed, number in enumerate(threads)]
        ).notes

    assert "These runs used different numbers of threads (1, 2), which give slightly different results." in notes(
        2, 1, 1
    )
    assert not any("threads" in note for note in (*notes(1, 1), *notes(1, None)))


def test_variants_without_a_common_seed_are_told():
    runs = [
        finished_run({**GIVEN, "regularizer": [name], "seed": seed}, 10.0)
        for seed, name in enumerate(("none", "casper"))
    ]
    (table,) = make_report(runs, paths=["class_il.final_average_accuracy"]).tables
    assert "er-ace + casper and the plain method have no seed in common, so there is no gain." in table.notes


def own_run(seed, digest, regularizer="own:Mine", **changes):
    """A run with a class of the user's, which is not imported."""
    plain = finished_run({"regularizer": ["none"], "seed": seed}, 60.0 + seed, **changes)
    code = {} if digest is None else {"user_code": {regularizer: {"name": "mine", "digest": digest}}}
    layout = {**plain.layout, "regularizer": [regularizer], regularizer: {"weight": 0.1}}
    return FinishedRun(f"own-{seed}", layout, {**plain.metrics, **code})


def notes_of_runs(*runs):
    report = make_report(runs, paths=["class_il.final_average_accuracy"])
    return [note for table in report.tables for note in table.notes], report.notes


def test_two_versions_of_a_users_class_are_never_pooled_in_silence():
    of_table, of_all = notes_of_runs(own_run(0, "aaa"), own_run(1, "aaa"))
    assert not any("version" in note for note in of_table)
    assert {"2 runs, all from one version of casper: 1.0 abc.", "own:Mine, one version: aaa (2 runs)."} < {*of_all}

    of_table, of_all = notes_of_runs(own_run(0, "aaa"), own_run(1, "bbb"), own_run(2, None), own_run(3, "aaa"))
    assert not any("one version of the code" in note for note in of_all)
    counts = "aaa (2 runs); bbb (1 run); not recorded (1 run)"
    assert f"own:Mine, an unknown number of versions: {counts}." in of_all
    (note,) = [note for note in of_table if "version" in note]
    assert "the mean is over 3 versions of the code: 1.0 abc + own:Mine aaa (seed 0, 3); " in note


def test_runs_that_do_not_record_the_users_code_do_not_count_as_one_version():
    of_table, of_all = notes_of_runs(own_run(0, None), own_run(1, None))
    assert "own:Mine, an unknown number of versions: not recorded (2 runs)." in of_all
    (note,) = of_table
    assert "the mean may be over several versions of the code, which is 1.0 abc + own:Mine not recorded." in note


def test_a_run_that_was_resumed_with_other_code_does_not_count_as_one_version():
    of_table, of_all = notes_of_runs(own_run(0, "aaa, bbb"))
    assert "own:Mine, 2 versions: aaa, bbb (1 run)." in of_all
    (note,) = of_table
    assert "its runs were resumed with another version of the code: 1.0 abc + own:Mine aaa, bbb." in note
    of_table, of_all = notes_of_runs(*(finished_run({"seed": seed}, 60.0, code="1.0 abc, 1.0 xyz") for seed in (0, 1)))
    (note,) = of_table
    assert "its runs were resumed with another version of the code: 1.0 abc, 1.0 xyz." in note
    assert "2 runs, resumed with another version of the code: 1.0 abc, 1.0 xyz." in of_all
    of_table, _ = notes_of_runs(finished_run({}, 60.0, code="0.1.0 7d4e3fc5a3, 0.1.0 9c2cf5ff47"))  # identical results
    assert of_table == []


def test_two_versions_of_casper_are_never_pooled_in_silence():
    runs = [finished_run({"seed": seed}, 60.0, code=code) for seed, code in enumerate(["1.0 abc", "1.0 xyz"])]
    of_table, _ = notes_of_runs(*runs)
    pooled = "er-ace + casper (buffer 50): the mean is over 2 versions of the code: 1.0 abc (seed 0); 1.0 xyz (seed 1)."
    assert of_table == [pooled]
    same = ["0.1.0 7d4e3fc5a3", "0.1.0 9c2cf5ff47"]
    of_table, _ = notes_of_runs(*(finished_run({"seed": seed}, 60.0, code=code) for seed, code in enumerate(same)))
    assert of_table == []


def test_a_gain_between_two_versions_is_told():
    code = {"none": "1.0 abc", "casper": "1.0 xyz"}
    runs = [finished_run({"regularizer": [name]}, 60.0, code=code) for name, code in code.items()]
    of_table, _ = notes_of_runs(*runs)
    other = "The plain method was computed by another version of the code in the gain of er-ace + casper (buffer 50)."
    assert of_table == [other]
