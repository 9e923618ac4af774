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
    for part in ("+ forward-only", "+ CaSpeR", "as trained", "recalibrated", "Next:", "accuracy.png"):
        assert part in output
    assert re.search(r"CaSpeR +as trained( +[+-]\d+\.\d\d){3}", output)
    assert (tmp_path / "shown" / "accuracy.png").stat().st_size > 10_000
    assert len(list((tmp_path / "shown").glob("*/metrics.json"))) == 6


def test_variants_differ_by_the_regularizer_alone():
    configs = [
        demo.resolve_config({"regularizer": [name], "recalibrate": True}).as_dict() for name in demo.VARIANTS.values()
    ]
    owners = {"regularizer", "casper", "forward-only"}
    common = [{key: value for key, value in config.items() if key not in owners} for config in configs]
    assert common[0] == common[1] == common[2]


@pytest.mark.parametrize("seeds", ["0", "-1", "x"])
def test_a_number_of_seeds_that_makes_no_sense_is_one_line(seeds, capsys):
    assert main(["demo", "--seeds", seeds]) == 2
    assert capsys.readouterr().err.count("\n") == 1
