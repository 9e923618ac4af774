"""What the documentation shows, runs."""

import re
from pathlib import Path

import numpy
import pytest

from casper.cli.app import main
from finished import InstantLauncher

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
QUICK = {"run": ["--epochs", "1"]}


def blocks(language):
    for page in PAGES:
        for number, code in enumerate(re.findall(rf"```{language}\n(.*?)```", page.read_text("utf-8"), re.DOTALL)):
            yield pytest.param(code, id=f"{page.name} {number}")


@pytest.mark.parametrize("code", list(blocks("python")))
def test_python_blocks_run(code):
    exec(compile(code, "documentation", "exec"), {})


def make_images_of_ones_own(path, data_dir):
    """What the commands of the documentation find: a data directory, a folder of photographs, arrays."""
    from image_files import picture

    (path / "DATA").symlink_to(data_dir)
    for name in ("cat", "dog"):
        (path / "pets" / name).mkdir(parents=True)
        for place in range(6):
            picture(place, (40 + place, 30)).save(path / "pets" / name / f"{place}.jpg")
    images, labels = numpy.zeros((8, 9, 9), dtype=numpy.uint8), numpy.arange(8) % 4
    numpy.savez(path / "own.npz", x_train=images, y_train=labels, x_test=images, y_test=labels)


@pytest.mark.parametrize("code", list(blocks("bash")))
def test_casper_commands_run(code, tmp_path, monkeypatch, data_dir):
    monkeypatch.chdir(tmp_path)
    make_images_of_ones_own(tmp_path, data_dir)
    # Many runs in no time, here: that they can be made for real is shown elsewhere.
    monkeypatch.setattr("casper.cli.make_runs.LocalLauncher", lambda *_, **__: InstantLauncher(lambda _: 50.0))
    (sweep,) = (param.values[0] for param in blocks("yaml"))
    (tmp_path / "sweep.yaml").write_text(sweep)
    for line in code.splitlines():
        program, command, *arguments = line.partition("#")[0].split()
        assert program == "casper"
        quick = [] if "--resume" in arguments else QUICK.get(command, [])
        assert main([command, *arguments, *quick]) == 0


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_readme_names_everything_there_is():
    from casper.config import KINDS

    text = (ROOT / "README.md").read_text("utf-8")
    for names in KINDS.values():
        for name in names:
            assert f"`{name}`" in text


def test_the_loss_takes_five_lines():
    first = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert len([line for line in first.group(1).splitlines() if line.strip()]) == 5
