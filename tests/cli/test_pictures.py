from pathlib import Path

from matplotlib.figure import Figure
from rich.console import Console

from casper.cli.pictures import write_picture


def test_to_look_at_and_to_print(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_picture(Console(), Figure(), Path("sigma-v1.5"))
    assert Path("sigma-v1.5.png").read_bytes().startswith(b"\x89PNG")
    assert Path("sigma-v1.5.pdf").read_bytes().startswith(b"%PDF")
    assert capsys.readouterr().out == "written to sigma-v1.5.png\nwritten to sigma-v1.5.pdf\n"
