"""Pictures of the paper's figures, as files."""

from pathlib import Path
from typing import Any

from rich.console import Console

from casper.reporting import save_figure


def write_picture(console: Console, figure: Any, stem: Path) -> None:
    """Write a picture as PNG, to look at, and as PDF, to print."""
    for suffix in ("png", "pdf"):
        path = stem.with_name(f"{stem.name}.{suffix}")
        save_figure(figure, path)
        console.print(f"written to {path}", highlight=False, markup=False, soft_wrap=True)
