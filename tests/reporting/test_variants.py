import pytest

from casper.experiments import resolve_config
from casper.experiments.paper_tables import PAPER_TABLES, paper_table
from casper.reporting.variants import paper_figure, variant_of
from casper.sweeps import plan

ACCURACY = "class_il.final_average_accuracy"
CIFAR = {"stream": "split-cifar100", "method": "er-ace", "regularizer": ["casper"], "buffer_size": 500}


def variant(**values):
    return variant_of(resolve_config({**CIFAR, **values}).as_dict())


def test_a_run_of_a_protocol():
    for protocol in ("paper", "desk"):
        found = variant(protocol=protocol, seed=3, recalibrate=True)
        assert (found.protocol, found.settings, found.changes) == (protocol, "", "")
        assert (found.stream, found.method, found.regularizers, found.buffer_size) == (
            "split-cifar100",
            "er-ace",
            "casper",
            500,
        )


def test_departures_of_the_table_and_of_the_method():
    found = variant(protocol="desk", epochs=9, milestones=[3], lr=0.2, **{"casper.self_neighbor": True})
    assert found.protocol == "desk"
    assert found.settings == "epochs=9"
    assert found.changes == "lr=0.2, self_neighbor=true"
    assert variant(protocol="desk", validation=0.1).settings == "validation=0.1"


def test_what_a_table_of_the_paper_adds_is_its_own_standard():
    found = variant(epochs=50, batch_size=32, milestones=[35, 45])
    assert found.protocol == "paper"
    assert found.settings == "batch_size=32, epochs=50, milestones=[35, 45]"
    assert found.changes == ""
    assert paper_figure(found, ACCURACY) == 38.4


def test_every_runnable_cell_finds_its_own_figure():
    count = 0
    for table in map(paper_table, PAPER_TABLES):
        for protocol in ("paper", "desk"):
            for run in plan(table, protocol, 1):
                if run.config is None:
                    continue
                found = variant_of(run.config.as_dict())
                assert not found.changes
                for name, path in table.measures.items():
                    expected = run.cell.figures.get(name)
                    if (table.name, run.cell.method, run.cell.regularizer, name) == (
                        "scr",
                        "icarl",
                        "casper",
                        "accuracy",
                    ):
                        expected = {500: 40.87, 2000: 41.83}[run.cell.buffer_size]  # the paper prints two for 500
                    assert paper_figure(found, path) == expected, run
                    count += 1
    assert count > 400


def test_a_departure_or_a_control_has_no_figure_in_the_paper():
    assert paper_figure(variant(protocol="desk"), ACCURACY) == 36.7
    assert paper_figure(variant(protocol="desk", **{"casper.self_neighbor": True}), ACCURACY) is None
    assert paper_figure(variant(protocol="desk", epochs=5), ACCURACY) is None
    assert paper_figure(variant(protocol="desk", regularizer=["forward-only"]), ACCURACY) is None
    assert paper_figure(variant(protocol="desk", buffer_size=700), ACCURACY) is None
    assert paper_figure(variant(protocol="desk"), f"recalibrated.{ACCURACY}") is None


def test_other_streams_have_their_preset_as_standard():
    found = variant_of(resolve_config({"epochs": 2}).as_dict())
    assert (found.protocol, found.settings, found.changes) == (None, "epochs=2", "")
    assert paper_figure(found, ACCURACY) is None


@pytest.mark.parametrize("part", ["stream", "method"])
def test_parts_of_ones_own_are_not_imported(tmp_path, monkeypatch, part):
    (tmp_path / "trap.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    layout = {**resolve_config({}).as_dict(), part: "trap:Thing"}
    found = variant_of(layout)
    assert getattr(found, part) == "trap:Thing"
    assert found.protocol is None
    assert "epochs=" in found.settings


def test_images_of_ones_own_have_a_standard_too(tmp_path):
    layout = resolve_config({"stream": f"folder:{tmp_path}", "tasks": 2, "epochs": 7}).as_dict()
    assert variant_of(layout).settings == "epochs=7, tasks=2"


def test_settings_of_another_version_are_told():
    layout = {**resolve_config({}).as_dict(), "novelty": 3}
    assert "novelty=3" in variant_of(layout).settings
