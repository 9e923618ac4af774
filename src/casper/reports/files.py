"""Write a report to a file: Markdown, HTML, LaTeX or CSV, by its suffix."""

from collections.abc import Callable
from pathlib import Path

from casper.config import ConfigError
from casper.files import make_directory, write_whole
from casper.reports.csv import to_csv
from casper.reports.html import to_html
from casper.reports.latex import to_latex
from casper.reports.markdown import to_markdown
from casper.reports.report import Report

_WRITERS: dict[str, Callable[[Report, str], str]] = {
    ".md": to_markdown,
    ".html": to_html,
    ".tex": to_latex,
    ".csv": lambda report, _: to_csv(report),
}


def check_report_path(path: Path) -> None:
    """Raise `ConfigError` for an unsupported file type.

    Example:
        >>> from pathlib import Path
        >>> from casper.reports import check_report_path
        >>> check_report_path(Path("report.md"))
        >>> check_report_path(Path("report.docx"))
        Traceback (most recent call last):
            ...
        casper.config.errors.ConfigError: --out must end in .md, .html, .tex, .csv, but got 'report.docx'
    """
    if path.suffix.lower() not in _WRITERS:
        raise ConfigError(f"--out must end in {', '.join(_WRITERS)}, but got {path.name!r}")


def write_report(report: Report, path: Path, title: str) -> None:
    """Write a report; raises `ConfigError` if the file cannot be written.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from casper.config import resolve_config
        >>> from casper.reports import FinishedRun, make_report, write_report
        >>> config = resolve_config({"method": "er"})
        >>> run = FinishedRun(config.name, config.as_dict(), {"class_il": {"final_average_accuracy": 90.0}})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_report(make_report([run]), Path(folder) / "report.md", "One run")
        ...     (Path(folder) / "report.md").read_text().splitlines()[0]
        '# One run'
    """
    check_report_path(path)
    try:
        make_directory(path.parent)
        write_whole(path, _WRITERS[path.suffix.lower()](report, title).encode())
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from error
