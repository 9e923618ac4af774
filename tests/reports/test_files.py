import pytest

from casper.config import ConfigError
from casper.reports import check_report_path, make_report, write_report
from finished import finished_run


@pytest.mark.parametrize(
    ("name", "begins"),
    [("r.md", "# T"), ("r.html", "<!DOCTYPE html>"), ("r.tex", "% T"), ("r.csv", "measure,"), ("R.MD", "# T")],
)
def test_the_name_says_which_kind(tmp_path, name, begins):
    path = tmp_path / "new" / name
    write_report(make_report([finished_run({}, 60.0)]), path, "T")
    assert path.read_text("utf-8").startswith(begins)


@pytest.mark.parametrize("name", ["r.pdf", "r", "md"])
def test_other_kinds_are_refused(tmp_path, name):
    with pytest.raises(ConfigError, match=r"--out must end in \.md, \.html, \.tex, \.csv, but got"):
        check_report_path(tmp_path / name)


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"r\.md cannot be written: "):
        write_report(make_report([finished_run({}, 60.0)]), tmp_path / "file" / "r.md", "T")
