import pytest

from casper.config import resolve_config
from casper.paper import StepTimes
from casper.reports.step_times import STEP_TIME_HEADERS, step_time_markdown, step_time_rows, timed_variants


def measured(method, regularizer, seconds, passes):
    config = resolve_config({"method": method, "regularizer": regularizer})
    return StepTimes(config, 10, seconds, passes, passes - 1)


TIMES = [
    measured("er-ace", "none", (0.1, 0.2, 0.3), 2.0),
    measured("er-ace", "casper", (0.2, 0.3, 0.9), 3.0),
    measured("icarl", "casper", (0.5, 0.5, 0.5), 3.0),
]


def test_times_passes_and_ratios_paired_by_repeat():
    plain, regularized, single = step_time_rows(TIMES)
    assert plain == ("ER-ACE", "20.0", "2", "1", "", "", "", "")
    # 2, 1.5 and 3 times as long in the three repeats
    assert regularized == ("ER-ACE + CaSpeR", "46.7", "3", "2", "2.00", "1.50", "3.00", "1.43")
    assert single == ("iCaRL + CaSpeR", "50.0", "3", "2", "", "", "", "")
    assert len(plain) == len(STEP_TIME_HEADERS)


def test_as_markdown():
    lines = step_time_markdown(TIMES, "Steps", ["Measured alone."]).splitlines()
    assert lines[:4] == ["# Steps", "", "Measured alone.", ""]
    assert lines[4].count("|") == lines[5].count("|") == len(STEP_TIME_HEADERS) + 1
    assert lines[7] == "| ER-ACE + CaSpeR | 46.7 | 3 | 2 | 2.00 | 1.50 | 3.00 | 1.43 |"


def test_as_bars():
    bars = timed_variants(TIMES)
    assert [(bar.method, bar.regularizers, bar.passes) for bar in bars] == [
        ("ER-ACE", "", 2),
        ("ER-ACE", "CaSpeR", 3),
        ("iCaRL", "CaSpeR", 3),
    ]
    assert bars[1].seconds == pytest.approx((0.2, 0.3, 0.9))
    assert [bar.ratio for bar in bars] == [None, pytest.approx(2.0), None]  # the table's: the means' would be 2.33
