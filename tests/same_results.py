"""Compare what two versions of the code compute, bit for bit: the working tree, and a commit.

    python tests/same_results.py COMMIT
    python tests/same_results.py COMMIT --only demo --only runs

Parts, each computed by both codes with one thread:

    demo      the runs of `casper demo`
    runs      one short run of every method with every regularizer on split-digits, and some with other options, through
              the command line; those with an option that the commit does not know are not compared
    analysis  what `casper run --analyse` finds in the latent space of some of them
    resume    every run of tests/pairs/test_resume.py, its states in the middle, and the working tree's results when it
              resumes from the states that the commit has saved

Times and the version of the code are left out; what only the working tree has is counted as new and is no difference.
Prints one line for each kind of result; exit status 1 if something differs. All parts take about 15 minutes.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

ROOT = Path(__file__).parents[1]
PARTS = ("demo", "runs", "analysis", "resume")
SHORT = ["run", "--epochs", "1", "--seed", "3"]
OPTIONS = [
    *(["--validation", "0.2"], ["--labels-per-class", "20", "--method", "pser-ace"]),
    *(["--set", "casper.sampling=all"], ["--set", "casper.convention=released"]),
    ["--stream", "rotated-digits", "--tasks", "3"],
]
RESUMED = "results when resumed from the commit's states"
SHOWN = 5  # differences per line of the table


def comparable(values: dict[str, Any]) -> dict[str, Any]:
    """Leave out what may differ: times, and the version of the code."""
    skipped = [key for key in values if key in ("code", "time") or str(key).endswith("seconds")]
    return {str(key): value for key, value in values.items() if key not in skipped}


def checksums(state: Any) -> Any:
    """Replace each tensor in a nested state with a checksum of its bits, and everything else with its text."""
    if isinstance(state, dict):
        return {key: checksums(value) for key, value in comparable(state).items()}
    if isinstance(state, list | tuple):
        return [checksums(value) for value in state]
    if not isinstance(state, torch.Tensor):
        return f"{type(state).__name__} {state!r}"
    bits = state.detach().contiguous().flatten().view(torch.uint8).numpy().tobytes()
    return f"{state.dtype} {tuple(state.shape)} {hashlib.sha256(bits).hexdigest()}"


def read_run(path: Path) -> dict[str, Any]:
    """Record a run directory."""
    texts = {file.name: file.read_text("utf-8") for file in path.glob("*.[jy]*")}  # json, jsonl, yaml
    return {
        "files": sorted(file.name for file in path.iterdir()),
        "config.yaml": yaml.safe_load(texts["config.yaml"]),
        "log.jsonl": [comparable(json.loads(line)) for line in texts["log.jsonl"].splitlines()],
        "checkpoint": checksums(torch.load(path / "checkpoint.pt", weights_only=True)["trainer"]),
        **{name: comparable(json.loads(texts[name])) for name in ("metrics.json", "analysis.json") if name in texts},
    }


def casper(*arguments: str) -> None:
    print("  casper", *arguments, flush=True)
    done = subprocess.run([sys.executable, "-m", "casper", *arguments], stdout=subprocess.DEVNULL)
    if done.returncode not in (0, 2):  # 2: refused
        raise SystemExit(f"casper {' '.join(arguments)}: exit status {done.returncode}")


def read_runs(folder: Path) -> dict[str, Any]:
    return {path.parent.name: read_run(path.parent) for path in sorted(folder.glob("*/metrics.json"))}


def record_demo() -> dict[str, Any]:
    casper("demo", "--out", "demo")
    return read_runs(Path("demo"))


def record_runs() -> dict[str, Any]:
    from support import MEMORYLESS, REGULARIZER_ARGUMENTS, REHEARSING

    for method in [*MEMORYLESS, *REHEARSING]:
        for regularizer in ["none", *(REGULARIZER_ARGUMENTS if method in REHEARSING else ())]:
            extra = ["--recalibrate"] if regularizer == "casper" else []
            casper(*SHORT, "--method", method, "--regularizer", regularizer, *extra)
    for options in OPTIONS:
        casper(*SHORT, *options)
    return read_runs(Path("runs"))


def record_analysis() -> dict[str, Any]:
    for method in ("er-ace", "icarl", "x-der"):
        casper(*SHORT, "--method", method, "--regularizer", "casper", "--analyse")
    return read_runs(Path("runs"))


class ResumeRecorder:
    """Pytest plugin that puts a recording in the place of `assert_resumes` in tests/pairs/test_resume.py."""

    def __init__(self, earlier: Path | None) -> None:
        self.earlier, self.found, self.cases = earlier, {}, Counter()

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Let the test that comes record its run, named by its parameters: tests may be renamed."""
        parameters = item.name.partition("[")[2].rstrip("]")
        self.cases[parameters] += 1
        item.module.assert_resumes = partial(self.record, item.module, f"{parameters} {self.cases[parameters]}")

    def record(self, module: Any, name: str, build: Any, stops: list[Any], folder: Path) -> None:
        """Run a trainer and save its states; resume from those that the other code has saved."""
        print("  ", name, flush=True)
        states = Path("states", hashlib.sha256(name.encode()).hexdigest()[:16])
        states.mkdir(parents=True)
        listen = module.keep_states(stops, states)
        trainer = listen.trainer = build(listeners=[listen])
        metrics = comparable(trainer.run())
        end = checksums(trainer.state_dict())
        saved = {path.name: checksums(module.load_checkpoint(path)) for path in sorted(states.glob("*.pt"))}
        self.found[name] = {"metrics": metrics, "end": end, "states": saved}
        for path in sorted((self.earlier / states).glob("*.pt")) if self.earlier else ():
            resumed = build()
            resumed.load_state_dict(module.load_checkpoint(path))
            same = comparable(resumed.run()) == metrics and checksums(resumed.state_dict()) == end
            self.found[name].setdefault(RESUMED, {})[path.name] = same


def record_resume(checkout: Path, earlier: Path | None) -> dict[str, Any]:
    recorder = ResumeRecorder(earlier)
    file = checkout / "tests" / "pairs" / "test_resume.py"
    if status := pytest.main(["-q", "-s", "-p", "no:cacheprovider", str(file)], plugins=[recorder]):
        raise SystemExit(f"{file} does not pass: {status!r}")
    return recorder.found


def record(checkout: Path, part: str, out: Path, earlier: Path | None = None) -> dict[str, Any]:
    """Record a part with the code of a checkout, in a process of its own."""
    out.mkdir(parents=True)
    environment = os.environ | {
        "PYTHONPATH": f"{checkout / 'src'}{os.pathsep}{checkout / 'tests'}",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
    }
    # -P: the helpers in the tests of the checkout, not those next to this file.
    command = [sys.executable, "-P", __file__, "--worker", str(checkout), part, str(earlier or "")]
    if subprocess.run(command, cwd=out, env=environment).returncode:
        raise SystemExit(f"{part} cannot be recorded with {checkout}; leave it out with --only")
    return json.loads((out / "recording.json").read_text("utf-8"))


def work(checkout: Path, part: str, earlier: Path | None) -> None:
    """Record a part in this process, with the code that PYTHONPATH leads to."""
    import casper as package

    assert Path(package.__file__).is_relative_to(checkout), package.__file__
    torch.set_num_threads(1)
    recorders = {"demo": record_demo, "runs": record_runs, "analysis": record_analysis}
    found = record_resume(checkout, earlier) if part == "resume" else recorders[part]()
    Path("recording.json").write_text(json.dumps(found), "utf-8")


def leaves(value: Any, *path: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Iterate over the values in a recording, each under its path, as text: two NaN are equal."""
    if isinstance(value, dict | list) and value:
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(part, *path, str(key))
    else:
        yield path, json.dumps(value)


@dataclass
class Comparison:
    """One kind of result: how many values were compared, how many are new, and where the others differ."""

    values: int = 0
    new: int = 0
    differing: list[str] = field(default_factory=list)


def compare(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Comparison]:
    """Compare two recordings, kind of result by kind."""
    earlier, later = (
        {(run, kind, *path): text for run in found for kind in found[run] for path, text in leaves(found[run][kind])}
        for found in (before, after)
    )
    table: dict[str, Comparison] = {}
    for path in sorted(earlier | later):
        run, kind, *place = path
        line = table.setdefault(kind, Comparison())
        expected = earlier.get(path, "true" if kind == RESUMED else None)
        if expected is None:
            line.new += 1
            continue
        line.values += 1
        if later.get(path) != expected:
            line.differing.append(" ".join([run, *place]))
    return table


def git(*arguments: str | Path) -> str:
    return subprocess.run(["git", *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def main() -> int:
    """Compare the working tree with a commit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", metavar="COMMIT", help="the commit to compare the working tree with")
    parser.add_argument("--only", action="append", choices=PARTS, help="compare this part; may be given several times")
    options = parser.parse_args()
    commit = git("-C", ROOT, "rev-parse", "--verify", f"{options.commit}^{{commit}}")
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        checkout = Path(folder, "checkout")
        git("clone", "--quiet", "--shared", "--no-checkout", ROOT, checkout)
        git("-C", checkout, "checkout", "--quiet", commit)
        for part in options.only or PARTS:
            print(f"{part}, {options.commit}", flush=True)
            before = record(checkout, part, Path(folder, "before", part))
            print(f"{part}, the working tree", flush=True)
            after = record(ROOT, part, Path(folder, "after", part), Path(folder, "before", part))
            lines += [(part, len(before), kind, line) for kind, line in compare(before, after).items()]
    print(f"\n{'part':9} {'runs':>4} {'values':>7} {'new':>6}")
    for part, runs, kind, line in lines:
        places = "; ".join(line.differing[:SHOWN]) + ("; ..." if len(line.differing) > SHOWN else "")
        verdict = f"{len(line.differing)} DIFFER: {places}" if line.differing else "identical"
        print(f"{part:9} {runs:4} {line.values:7} {line.new:6}  {kind}: {verdict}")
    return int(any(line.differing for *_, line in lines))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        work(Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4]) if sys.argv[4] else None)
    else:
        sys.exit(main())
