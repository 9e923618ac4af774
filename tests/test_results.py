"""What is published in results/ is what its runs say."""

import re
from pathlib import Path

import pytest

from casper.cli.app import main
from casper.runs import RunDirectory
from casper.sweeps import read_sweep

RESULTS = Path(__file__).parents[1] / "results"
# A sweep's runs lie beside it.
SWEEPS = sorted([*RESULTS.glob("*.yaml"), *RESULTS.glob("latent/*.yaml")])
RUNS = sorted(place.parent for place in RESULTS.rglob("runs/*/metrics.json"))
NAMES = {sweep: {config.name for config in read_sweep(sweep)} for sweep in SWEEPS}
BEGUN = [
    sweep for sweep in SWEEPS if any((sweep.parent / "runs" / name / "metrics.json").exists() for name in NAMES[sweep])
]


@pytest.mark.parametrize("place", RUNS, ids=lambda place: place.name)
def test_a_run_is_named_by_its_configuration_and_behind_a_sweep(place):
    assert RunDirectory(place).read_config().name == place.name
    assert any(place.name in names for sweep, names in NAMES.items() if sweep.parent == place.parents[1])


@pytest.mark.parametrize("sweep", BEGUN, ids=lambda sweep: sweep.stem)
def test_a_table_is_made_from_the_runs(sweep, tmp_path, monkeypatch):
    monkeypatch.chdir(RESULTS.parent)
    written = sweep.with_suffix(".md")
    sweep = sweep.relative_to(RESULTS.parent)
    runs = sweep.parent / "runs"
    assert main(["report", str(runs), "--sweep", str(sweep), "--out", str(tmp_path / "table.md")]) == 0
    assert (tmp_path / "table.md").read_text("utf-8") == written.read_text("utf-8")


def test_no_path_is_in_a_published_run():
    for place in RUNS:
        files = [place / name for name in ("config.yaml", "metrics.json", "analysis.json")]
        for text in (file.read_text("utf-8") for file in files if file.exists()):
            assert len(text) < 60_000
            assert not re.search(r"(^|[\s\"'=])/\w", text), place
