import pytest

from casper.config import resolve_config
from casper.reports import FinishedRun
from casper.reports.variants import base_of, variant_of, variants_of

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


def test_a_run_behind_a_trunk():
    found = variant(protocol="pretrained")
    assert (found.protocol, found.settings, found.changes) == ("pretrained", (), "")
    digits = {"stream": "split-digits", "trunk": "efficientnet-lite0"}
    found = variant(**digits, **{"trunk.views": 2})
    assert (found.protocol, found.settings) == ("pretrained", ("trunk.views=2",))
    assert variant(**digits, epochs=9).settings == ("epochs=9",)
    assert variant(stream="split-digits").protocol is None


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


@pytest.mark.parametrize("part", ["stream", "method", "backbone"])
def test_parts_of_ones_own_are_not_imported(tmp_path, monkeypatch, part):
    (tmp_path / "trap.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    layout = {**resolve_config({}).as_dict(), part: {"name": "trap:Thing"} if part == "backbone" else "trap:Thing"}
    found = variant_of(layout)
    assert found.protocol is None
    if part == "backbone":
        assert "backbone=trap:Thing" in found.settings
    else:
        assert getattr(found, part) == "trap:Thing"
        assert any(setting.startswith("epochs=") for setting in found.settings) == (part == "stream")


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


def own_run(regularizers, *, method="er-ace", seed=0, names=None, **settings):
    """A run with classes of the user's, which are not imported; settings by the class's name without its module."""
    given = {"regularizer": ["none"], "seed": seed, "method": method if ":" not in method else "er-ace"}
    layout = {**resolve_config(given).as_dict(), "method": method, "regularizer": regularizers}
    parts = [part for part in (method, *regularizers) if ":" in part]
    layout |= {f"own:{part}": values for part, values in settings.items() if f"own:{part}" in parts}
    code = {part: {"name": (names or {}).get(part, part.partition(":")[2].lower()), "digest": "aaa"} for part in parts}
    return FinishedRun(f"run-{seed}", layout, {"user_code": code} if names != {} else {})


def test_a_users_regularizer_is_compared_with_the_plain_method():
    plain, added, both = variants_of(
        [own_run([]), own_run(["own:Term"], Term={"weight": 0.1}), own_run(["own:Term", "casper"], casper={})]
    )
    assert (added.regularizers, added.settings, added.changes) == ("term", plain.settings, "")
    assert both.regularizers == "term+casper"
    assert base_of(added, [added, plain]) == base_of(both, [both, plain]) == plain


def test_settings_of_a_users_class_are_told_where_runs_differ_in_them():
    runs = [
        own_run(["own:Term"], Term={"weight": weight, "depth": 3}, seed=seed) for weight in (1, 2) for seed in (0, 1)
    ]
    found = variants_of(runs)
    assert [each.changes for each in found] == ["weight=1", "weight=1", "weight=2", "weight=2"]
    assert {each.changes for each in variants_of(runs[:2])} == {""}
    methods = [
        own_run(added, method="own:Method", Method={"weight": weight}, Term={"weight": 5})
        for weight in (1, 2)
        for added in ([], ["own:Term"])
    ]
    first, with_term, second, _ = found = variants_of(methods)
    assert first.changes == with_term.changes == "method.weight=1"
    assert second.changes == "method.weight=2"
    assert base_of(with_term, found) == first


@pytest.mark.parametrize(
    "names",
    [
        {},  # not recorded
        {"own:Term": "casper", "own:Other": "x"},  # a name of the package
        {"own:Term": "x", "own:Other": "x"},
        {"own:Term": "a+b", "own:Other": "\x1b[31m"},
        {"own:Term": "x" * 100, "own:Other": " "},
    ],
)
def test_a_name_that_is_not_clear_is_no_label(names):
    first, second = variants_of([own_run(["own:Term"], names=names), own_run(["own:Other"], names=names)])
    assert first.regularizers == "own:Term"
    assert second.regularizers == ("x" if names.get("own:Term") == "casper" else "own:Other")


def test_runs_that_recorded_no_name_are_labelled_by_others():
    first, second = variants_of([own_run(["own:Term"]), own_run(["own:Term"], seed=1, names={})])
    assert first == second
    assert first.regularizers == "term"


def test_settings_of_a_users_stream_are_always_told():
    layout = {
        **resolve_config({"class_order": "shuffled"}).as_dict(),
        "stream": "own:stream",
        "own:stream": {"size": 3},
    }
    settings = variant_of(layout).settings
    assert {"class_order=shuffled", "own:stream.size=3", "tasks=5"} <= {*settings}
