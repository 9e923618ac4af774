from pathlib import Path

import pytest
from matplotlib.figure import Figure

from casper.cli.app import main
from casper.cli.figure import write_picture
from casper.reports import FIGURES
from finished import analysis_of, write_run


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    """Two seeds of plain ER and of ER with CaSpeR, analysed, in the folder `runs`."""
    monkeypatch.chdir(tmp_path)
    for name, final in (("none", 60.0), ("casper", 61.0)):
        for seed in (0, 1):
            values = {"method": "er", "regularizer": [name], "seed": seed}
            write_run(Path("runs"), values, final + seed, analysis_of(embed=(1, 2)))


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_written_by_its_name(name, capsys):
    assert main(["figure", name, "runs"]) == 0
    captured = capsys.readouterr()
    assert captured.out == f"{name}: written to {name}.png\n"
    assert captured.err == ""
    assert Path(f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_into_several_files_that_are_the_same_each_time(capsys):
    for folder in ("a", "b"):
        assert main(["figure", "sigma", "runs", "--out", f"{folder}/f.pdf", "--out", f"{folder}/f.svg"]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == ["sigma: written to a/f.pdf", "sigma: written to a/f.svg"]
    assert Path("a/f.pdf").read_bytes().startswith(b"%PDF")
    assert not Path("sigma.png").exists()
    for kind in ("pdf", "svg"):
        assert Path(f"a/f.{kind}").read_bytes() == Path(f"b/f.{kind}").read_bytes()


def test_a_title_and_the_names_of_variants():
    assert main(["figure", "accuracy", "runs", "--out", "a.svg", "--title", "My runs"]) == 0
    text = Path("a.svg").read_text("utf-8")
    assert ">My runs<" in text
    assert ">ER + CaSpeR: " in text


def test_runs_one_by_one():
    places = [str(place) for place in sorted(Path("runs").glob("*none*"))]
    assert main(["figure", "accuracy", *places, "--out", "a.svg"]) == 0
    assert "CaSpeR" not in Path("a.svg").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["acuracy", "nowhere"], "unknown figure 'acuracy'; did you mean 'accuracy'? valid: "),
        (["tsne", "nowhere", "--out", "a.jpg"], "--out must end in .png, .pdf, .svg, but got 'a.jpg'"),
        (["tsne", "nowhere"], "nowhere cannot be read: No such file or directory"),
        (["tsne", "."], ". is neither a run nor a folder of runs"),
        (
            ["sigma", "plain"],
            "RUNS must have an analysis, but got 1 run without an analysis (create it with `casper analyse RUN`",
        ),
    ],
)
def test_complaints_are_one_line(arguments, complaint, capsys):
    write_run(Path("plain"), {"method": "er"}, 60.0)
    assert main(["figure", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"casper: {complaint}")
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert not list(Path().glob("*.png"))


def test_what_is_left_out_is_a_warning(capsys):
    begun = write_run(Path("runs"), {"method": "er", "seed": 7}, 60.0)
    (begun / "metrics.json").unlink()
    plain = write_run(Path("runs"), {"method": "er-ace"}, 60.0)
    assert main(["figure", "sigma", "runs"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == f"casper: warning: unfinished runs are left out: {begun.name}"
    assert lines[1].startswith("casper: warning: left out, without an analysis")
    assert lines[1].endswith(plain.name)
    assert len(lines) == 2


def test_no_finished_run(capsys):
    begun = write_run(Path("begun"), {"method": "er"}, 60.0)
    (begun / "metrics.json").unlink()
    assert main(["figure", "accuracy", "begun"]) == 2
    assert (
        capsys.readouterr().err.splitlines()[-1] == "casper: RUNS must contain at least one finished run, but got none"
    )


def test_a_file_that_cannot_be_written_is_one_line(capsys):
    Path("file").write_text("")
    assert main(["figure", "accuracy", "runs", "--out", "file/a.png"]) != 0
    assert capsys.readouterr().err.count("\n") == 1


def test_the_help_teaches_every_figure(capsys):
    assert main(["figure", "--help"]) == 0
    output = " ".join(capsys.readouterr().out.split())
    for name, kind in FIGURES.items():
        assert name in output
        assert kind.description.split(",")[0].split(" and ")[0][:30] in output
    assert "--analyse" in output


def test_to_look_at_and_to_print(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_picture(Figure(), Path("sigma-v1.5"))
    assert Path("sigma-v1.5.png").read_bytes().startswith(b"\x89PNG")
    assert Path("sigma-v1.5.pdf").read_bytes().startswith(b"%PDF")
    assert capsys.readouterr().out == "written to sigma-v1.5.png\nwritten to sigma-v1.5.pdf\n"
