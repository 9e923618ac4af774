import pytest

from casper.config import resolve_config
from casper.reports.variants import base_of, variant_of

CIFAR = {"stream": "split-cifar100", "method": "er-ace", "regularizer": ["casper"], "buffer_size": 500}


def variant(**values):
    return variant_of(resolve_config({**CIFAR, **values}).as_dict())


def test_a_run_of_a_protocol():
    for protocol in ("paper", "desk"):
        found = variant(protocol=protocol, seed=3, recalibrate=True)
        assert (found.protocol, found.settings, found.changes) == (protocol, (), "")
        assert (found.stream, found.method, found.regularizers, found.buffer_size) == (
            "split-cifar100",
            "er-ace",
            "casper",
            500,
        )


def test_departures_of_the_table_and_of_the_method():
    found = variant(protocol="desk", epochs=9, milestones=[3], lr=0.2, **{"casper.self_neighbor": True})
    assert found.protocol == "desk"
    assert found.settings == ("epochs=9",)
    assert found.changes == "lr=0.2, milestones=[3], self_neighbor=true"
    assert variant(protocol="desk", validation=0.1).settings == ("validation=0.1",)


def test_what_a_table_of_the_paper_adds_is_its_own_standard():
    found = variant(epochs=50, batch_size=32, milestones=[35, 45])
    assert found.protocol == "paper"
    assert found.settings == ("batch_size=32", "epochs=50", "milestones=[35, 45]")
    assert found.changes == ""


def test_other_streams_have_their_preset_as_standard():
    found = variant_of(resolve_config({"epochs": 2}).as_dict())
    assert (found.protocol, found.settings, found.changes) == (None, ("epochs=2",), "")


@pytest.mark.parametrize("part", ["stream", "method"])
def test_parts_of_ones_own_are_not_imported(tmp_path, monkeypatch, part):
    (tmp_path / "trap.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    layout = {**resolve_config({}).as_dict(), part: "trap:Thing"}
    found = variant_of(layout)
    assert getattr(found, part) == "trap:Thing"
    assert found.protocol is None
    assert any(setting.startswith("epochs=") for setting in found.settings)


def test_images_of_ones_own_have_a_standard_too(tmp_path):
    layout = resolve_config({"stream": f"folder:{tmp_path}", "tasks": 2, "epochs": 7}).as_dict()
    assert variant_of(layout).settings == ("epochs=7", "tasks=2")


def test_settings_of_another_version_are_told():
    layout = {**resolve_config({}).as_dict(), "novelty": 3}
    assert "novelty=3" in variant_of(layout).settings


def test_a_schedule_that_was_fitted_to_other_epochs_is_no_departure_of_its_own():
    found = variant(protocol="desk", epochs=8)
    assert (found.settings, found.changes) == (("epochs=8",), "")
    smaller = variant(protocol="desk", batch_size=48)  # CaSpeR's draw follows the batch
    assert (smaller.settings, smaller.changes) == (("batch_size=48",), "")
    both = variant(protocol="desk", epochs=8, milestones=[2])
    assert (both.settings, both.method_changes) == (("epochs=8",), ("milestones=[2]",))


def test_departures_of_method_and_regularizer_are_told_apart():
    found = variant(protocol="desk", lr=0.3, **{"casper.weight": 5.0})
    assert (found.method_changes, found.regularizer_changes) == (("lr=0.3",), ("weight=5.0",))
    assert found.changes == "lr=0.3, weight=5.0"


def test_a_name_that_two_parts_have_keeps_its_owner():
    two = {**CIFAR, "protocol": "desk", "regularizer": ["casper", "forward-only"]}
    layouts = [resolve_config({**two, "casper.num_classes": 3}), resolve_config({**two, "forward-only.num_classes": 3})]
    assert [variant_of(layout.as_dict()).regularizer_changes for layout in layouts] == [
        ("casper.num_classes=3",),
        ("forward-only.num_classes=3",),
    ]
    assert variant(protocol="desk", **{"casper.num_classes": 3}).regularizer_changes == ("num_classes=3",)


def test_the_plain_method_to_compare_with_is_the_same_in_all_else():
    plain = [
        variant(regularizer=["none"], protocol="desk", **change) for change in ({}, {"lr": 0.3}, {"buffer_size": 50})
    ]
    assert base_of(variant(protocol="desk"), plain) == plain[0]
    assert base_of(variant(protocol="desk", **{"casper.weight": 5.0}), plain) == plain[0]
    assert base_of(variant(protocol="desk", lr=0.3), plain) == plain[1]
    assert base_of(variant(protocol="desk", buffer_size=50), plain) == plain[2]
    assert base_of(variant(protocol="desk", lr=0.7), plain) is None
    assert base_of(variant(protocol="desk", method="er"), plain) is None
    assert base_of(plain[0], plain) is None
