from casper.reporting import make_report
from finished import finished_run

GIVEN = {"stream": "split-cifar100", "protocol": "desk", "method": "er-ace", "buffer_size": 500}


def notes_of(*regularizers, **values):
    """The notes of a table of two variants; what is given besides is the second's."""
    first, second = regularizers
    runs = [finished_run({**GIVEN, "regularizer": [first]}, 10.0)]
    runs.append(finished_run({**GIVEN, "regularizer": [second], **values}, 11.0))
    (table,) = make_report(runs, paths=["class_il.final_average_accuracy"]).tables
    return table.notes


def test_versions_of_the_code_are_told():
    one = make_report([finished_run({"seed": seed}, 60.0) for seed in (0, 1)])
    assert "2 runs, all made by one version of the code: 1.0 abc." in one.notes
    runs = [finished_run({"seed": 0}, 60.0), *(finished_run({"seed": seed}, 60.0, code="1.0 xyz") for seed in (1, 2))]
    several = make_report(runs)
    assert "These runs come from 2 versions of the code: 1.0 abc (1 runs), 1.0 xyz (2 runs)." in several.notes


def test_the_interval_is_named_and_what_is_missing_too():
    report = make_report([finished_run({}, 60.0)], ["one", "two"])
    assert "Student's t" in report.notes[0]
    assert report.notes[-1] == "2 further runs are not finished, and not shown."


def test_a_variant_that_differs_in_more_than_its_regularizer_is_told():
    assert "er-ace + casper differs from the plain method in lr as well." in notes_of("none", "casper", lr=0.3)
    assert not any("as well" in note for note in notes_of("none", "casper"))
    assert not any("as well" in note for note in notes_of("none", "casper", recalibrate=True, seed=4))


def test_what_the_papers_figures_are_beside_a_desk():
    (note,) = notes_of("none", "casper")
    assert note == (
        "These are not the paper's experiments: image_size 16 instead of as they are, backbone convnet instead of "
        "resnet18, backbone.width 16 instead of 64, epochs 4 instead of 20, milestones [3] instead of []. "
        "Its figures are shown for orientation."
    )
