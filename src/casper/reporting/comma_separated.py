"""A report as comma-separated values: one line per cell, at full precision, for programs."""

import csv
import io

from casper.reporting.report import Report

_HEADERS = (
    "measure",
    "stream",
    "protocol",
    "settings",
    "method",
    "regularizer",
    "changes",
    "buffer_size",
    "mean",
    "std",
    "seeds",
    "gain",
    "gain_low",
    "gain_high",
    "gain_verdict",
    "gain_pairs",
    "paper",
    "paper_gain",
    "versions",
)


def to_csv(report: Report) -> str:
    """Write every cell of every table; a field that does not apply is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_HEADERS)
    versions = " ".join(sorted({run.code for run, _ in report.runs}))
    for table in report.tables:
        for row in table.rows:
            for size, cell in row.cells.items():
                gain = cell.gain
                judged = (gain.mean, gain.low, gain.high, gain.verdict, gain.count) if gain else (None,) * 5
                what = (table.measure.path, table.stream, table.protocol, table.settings)
                who = (row.method, row.regularizers or "none", row.changes, size)
                found = (cell.spread.mean, cell.spread.std, " ".join(map(str, cell.seeds)))
                writer.writerow([*map(_safe, (*what, *who)), *found, *judged, cell.paper, cell.paper_gain, versions])
    return text.getvalue()


def _safe(value: object) -> object:
    """Keep a spreadsheet from taking a name for a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@") else value
