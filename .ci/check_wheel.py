"""Check that the wheel is complete: `casper run` works from it, in a directory outside the repository.

With --wheel the wheel alone is unpacked into a temporary directory and runs with the dependencies that are installed;
without it the casper that is installed for --python is checked.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PLACE = "import casper, pathlib; print(pathlib.Path(casper.__file__).resolve().parent)"


def require_all_files(target: Path) -> None:
    """Compare what was unpacked with the source: YAML files and style sheets are easily left out."""
    source = Path(__file__).parents[1] / "src"
    files = {path.relative_to(source) for path in (source / "casper").rglob("*") if path.is_file()}
    missing = [str(path) for path in files if path.suffix != ".pyc" and not (target / path).exists()]
    if missing:
        raise SystemExit(f"the wheel lacks {', '.join(sorted(missing))}")


def check(python: str, wheel: Path | None, work: Path) -> Path:
    """Run casper in a directory; return the directory it was imported from."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if wheel is not None:
        target = work / "packages"
        install = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(target), str(wheel)]
        subprocess.run([python, *install], check=True)
        require_all_files(target)
        environment["PYTHONPATH"] = str(target)

    def run(*arguments: str) -> str:
        command = [python, *arguments]
        done = subprocess.run(command, cwd=work, env=environment, check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout

    place = Path(run("-c", PLACE).strip())
    expected = (
        target.resolve() if wheel is not None else Path(run("-c", "import sys; print(sys.prefix)").strip()).resolve()
    )
    if expected not in place.parents:
        raise SystemExit(f"casper must come from {expected}, but it comes from {place}")
    run("-m", "casper", "run", "--epochs", "1", "--threads", "1", "--out", "run")
    run("-m", "casper", "report", "run", "--out", "report.html")
    run("-m", "casper", "reproduce", "cil", "--protocol", "desk", "--dry-run")
    for name in ("run/metrics.json", "report.html"):
        if not (work / name).stat().st_size:
            raise SystemExit(f"{name} is empty")
    return place


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Run casper from its wheel.")
    parser.add_argument("--wheel", type=Path, help="wheel to unpack next to the installed dependencies")
    parser.add_argument("--python", default=sys.executable, help="interpreter to use")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        interpreter = os.path.abspath(options.python) if os.sep in options.python else options.python
        found = check(interpreter, options.wheel and options.wheel.resolve(), Path(folder))
    print(f"the wheel runs: casper was imported from {found}")
