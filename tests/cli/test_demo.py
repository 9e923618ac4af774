import re

import pytest

from casper.cli import demo
from casper.cli.app import main


def test_the_demo_compares_three_variants_and_draws_them(tmp_path, monkeypatch, capsys):
    resolve = demo.resolve_config
    small = {"epochs": 1, "backbone.width": 4, "tasks": 2}
    monkeypatch.setattr(demo, "resolve_config", lambda given: resolve({**given, **small}))
    monkeypatch.chdir(tmp_path)
    for _ in range(2):  # the second time over the first
        assert main(["demo", "--seeds", "2", "--out", "shown"]) == 0
    output = capsys.readouterr().out
    for part in ("+ forward-only", "+ CaSpeR", "as trained", "recalibrated", "Next:"):
        assert part in output
    assert re.search(r"^shown/accuracy\.png: look at ", output, re.MULTILINE)
    found = re.findall(
        r"^shown/latent_graph\.png: look at .* (\d+) with CaSpeR and (\d+) without", output, re.MULTILINE
    )
    assert len(found) == 2
    assert found[0] == found[1]  # the batch and the graph are the same each time
    assert re.search(r"CaSpeR +as trained( +[+-]\d+\.\d\d){3}", output)
    for picture in ("accuracy.png", "latent_graph.png"):
        content = (tmp_path / "shown" / picture).read_bytes()
        assert content.startswith(b"\x89PNG")
        assert len(content) > 10_000
    assert len(list((tmp_path / "shown").glob("*/metrics.json"))) == 6


def test_variants_differ_by_the_regularizer_alone():
    configs = [
        demo.resolve_config({"regularizer": [name], "recalibrate": True}).as_dict() for name in demo.VARIANTS.values()
    ]
    owners = {"regularizer", "casper", "forward-only"}
    common = [{key: value for key, value in config.items() if key not in owners} for config in configs]
    assert common[0] == common[1] == common[2]


def test_the_names_of_the_runs_are_those_of_earlier_versions():
    """The hashes name the configurations: the demo's runs are the same."""
    names = []
    for regularizer in demo.VARIANTS.values():
        given = {"method": "er-ace", "regularizer": [regularizer], "seed": 0, "recalibrate": True}
        names.append(demo.resolve_config({**given, "stream": "split-digits"}).name)
    assert [name.rpartition("-")[2] for name in names] == ["b9b12129", "13cabfa8", "c1673ef7"]


def test_the_verdict_says_whether_casper_reduced_the_edges():
    assert "did not" not in demo._verdict(62, 47)
    for without, with_casper in ((47, 47), (47, 62)):
        assert "did not reduce them here" in demo._verdict(without, with_casper)
        assert f"{with_casper} with CaSpeR and {without} without" in demo._verdict(without, with_casper)


@pytest.mark.parametrize("seeds", ["0", "-1", "x"])
def test_a_number_of_seeds_that_makes_no_sense_is_one_line(seeds, capsys):
    assert main(["demo", "--seeds", seeds]) == 2
    assert capsys.readouterr().err.count("\n") == 1
