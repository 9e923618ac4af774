"""What the documentation shows, runs: README, CONTRIBUTING and every page of the site.

In `bash` blocks every line is a `casper` command and is run. Commands that are not casper's are in `sh` blocks.
"""

import importlib
import importlib.util
import json
import re
import shutil
from pathlib import Path

import numpy
import pytest

from casper.cli.app import main
from finished import InstantLauncher

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
BUILT = (DOCS / "_build", DOCS / "api" / "generated")
SITE = [page for page in sorted(DOCS.rglob("*.md")) if not any(page.is_relative_to(folder) for folder in BUILT)]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *SITE]
SWEEP_FILE = DOCS / "howto" / "sweeps.md"


def fenced(page, language):
    """The blocks of a page in one language; `{code-cell}` blocks of notebooks are run when the site is built."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def blocks(language):
    for page in PAGES:
        for number, code in enumerate(fenced(page, language)):
            yield pytest.param(page, code, id=f"{page.relative_to(ROOT)} {number}")


def yaml_files(page):
    """The YAML blocks of a page by file name, which a first line such as `# sweep.yaml` gives."""
    found = {}
    for code in fenced(page, "yaml"):
        named = re.match(r"# (\S+\.yaml)\n", code)
        found[named[1] if named else "sweep.yaml"] = code
    return found


@pytest.mark.parametrize(("page", "code"), list(blocks("python")))
def test_python_blocks_run(page, code):
    exec(compile(code, str(page), "exec"), {})


def make_what_commands_need(path, data_dir, page):
    """What the commands of the documentation find: data, a folder of photographs, arrays, sweeps, a module."""
    from image_files import picture

    (path / "DATA").symlink_to(data_dir)
    for name in ("cat", "dog"):
        (path / "pets" / name).mkdir(parents=True)
        for place in range(6):
            picture(place, (40 + place, 30)).save(path / "pets" / name / f"{place}.jpg")
    images, labels = numpy.zeros((8, 9, 9), dtype=numpy.uint8), numpy.arange(8) % 4
    numpy.savez(path / "own.npz", x_train=images, y_train=labels, x_test=images, y_test=labels)
    for name, content in {**yaml_files(SWEEP_FILE), **yaml_files(page)}.items():
        (path / name).write_text(content)
    for file in (ROOT / "results").rglob("*.yaml"):
        if "runs" not in file.parts:
            copy = path / file.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, copy)
    regularizer, method, *_ = fenced(ROOT / "CONTRIBUTING.md", "python")
    (path / "mymodule.py").write_text(regularizer + method)


@pytest.mark.parametrize(("page", "code"), list(blocks("bash")))
def test_casper_commands_run(page, code, tmp_path, monkeypatch, data_dir):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    make_what_commands_need(tmp_path, data_dir, page)
    # Many runs in no time, here: that they can be made for real is shown elsewhere.
    monkeypatch.setattr("casper.cli.make_runs.LocalLauncher", lambda *_, **__: InstantLauncher(lambda _: 50.0))
    for line in code.replace("\\\n", " ").splitlines():
        program, command, *arguments = line.partition("#")[0].split()
        assert program == "casper", f"{page.name}: commands that are not casper's belong into a block marked `sh`"
        if command == "run" and "--resume" not in arguments:
            arguments = in_one_epoch(arguments)
        assert main([command, *arguments]) == 0, line


def in_one_epoch(arguments):
    """Shorten the options of a run."""
    if "--epochs" in arguments:
        place = arguments.index("--epochs")
        arguments = arguments[:place] + arguments[place + 2 :]
    return [*arguments, "--epochs", "1"]


@pytest.mark.parametrize(("page", "code"), list(blocks("sh")))
def test_other_commands_are_not_caspers_and_make_has_its_targets(page, code):
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for line in code.replace("\\\n", " ").splitlines():
        program, *arguments = line.partition("#")[0].split()
        assert program != "casper", f"{page.name}: casper's commands belong into a block marked `bash`: they are run"
        if program == "make":
            assert set(arguments) <= set(targets)


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            if "generated/" in target:  # written when the site is built, which checks it
                continue
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)}: {target}"


def test_every_page_is_in_the_navigation():
    listed = set()
    for page in SITE:
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            entries = [line for line in tree.splitlines() if line and not line.startswith(":")]
            listed |= {(page.parent / f"{re.sub('.*<|>', '', entry)}.md").resolve() for entry in entries}
    assert {page.resolve() for page in SITE} - listed == {DOCS / "index.md"}


def test_the_readme_names_everything_there_is():
    from casper.config import KINDS

    for page in (ROOT / "README.md", DOCS / "quickstart.md"):
        text = page.read_text("utf-8")
        for names in KINDS.values():
            for name in names:
                assert f"`{name}`" in text, f"{page.name}: {name}"


def test_the_loss_takes_five_lines():
    for page in (ROOT / "README.md", DOCS / "quickstart.md"):
        first = fenced(page, "python")[0]
        assert len([line for line in first.splitlines() if line.strip()]) == 5


def test_every_published_table_is_on_the_site():
    included = "".join(page.read_text("utf-8") for page in (DOCS / "results").glob("*.md"))
    tables = [table for table in (ROOT / "results").rglob("*.md") if "runs" not in table.parts]
    for table in tables:
        if table.name != "README.md":
            assert f"{{include}} ../../{table.relative_to(ROOT)}\n" in included


# The files of a run


def keys(content, above=""):
    """Every key of a JSON value by its dotted path; `[]` marks the entries of a list."""
    if isinstance(content, dict):
        for key, value in content.items():
            path = f"{above}.{key}" if above else key
            yield path
            yield from keys(value, path)
    elif isinstance(content, list):
        for value in content:
            yield from keys(value, f"{above}[]")


def documented(section):
    """The rows of a section's tables in `files.md`."""
    text = (DOCS / "concepts" / "files.md").read_text("utf-8")
    (part,) = re.findall(rf"^## {re.escape(section)}\n(.*?)(?=^## )", text, re.DOTALL | re.MULTILINE)
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in re.findall(r"^\|.*\|$", part, re.MULTILINE)]


def generalized(path):
    """A path with the names that differ from run to run replaced as in the documentation."""
    path = re.sub(r"\b(class_il|task_il|domain_il)\b", "SCENARIO", path)
    path = re.sub(r"^accuracies\.\d+", "accuracies.TASK", path)
    path = re.sub(r"^user_code\.[\w.]+:\w+", "user_code.CLASS", path)
    return re.sub(r"^(terms|diagnostics)\.[^.]+", lambda part: f"{part[1]}.{NAMES[part[1]]}", path)


NAMES = {"terms": "TERM", "diagnostics": "NAME"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Real runs that have, together, every key: a class stream with analysis, a domain stream, a method's numbers."""
    folder = tmp_path_factory.mktemp("runs")
    commands = {
        "class": ["--recalibrate", "--analyse", "--keep-checkpoints", "--method", "x-der", "--epochs", "7"],
        "domain": ["--stream", "rotated-digits", "--epochs", "1", "--backbone", "casper.nets:MLP"],
    }
    for name, options in commands.items():
        assert main(["run", *options, "--out", str(folder / name)]) == 0
    return [folder / name for name in commands]


def test_every_key_of_metrics_is_documented(runs):
    found = {generalized(path) for run in runs for path in keys(json.loads((run / "metrics.json").read_text()))}
    found = {path for path in found if not path.startswith("recalibrated.SCENARIO.")}  # "the same keys"
    rows = [row[0].strip("`") for row in documented("metrics.json")[2:]]
    assert set(rows) == found
    assert len(rows) == len(found)


def test_every_key_of_the_log_is_documented(runs):
    found = set()
    for run in runs:
        for line in (run / "log.jsonl").read_text().splitlines():
            content = json.loads(line)
            event = content.pop("event")
            found |= {(event, generalized(path)) for path in keys(content)}
    rows, event = set(), ""
    for first, key, _ in documented("log.jsonl")[2:]:
        event = first.strip("`") or event
        rows.add((event, key.strip("`")))
    assert rows == found


def test_every_key_of_the_analysis_is_documented(runs):
    found = set(keys(json.loads((runs[0] / "analysis.json").read_text())))
    assert {row[0].strip("`") for row in documented("analysis.json")[2:]} == found


def test_every_file_and_the_environment_are_documented(runs):
    text = (DOCS / "concepts" / "files.md").read_text("utf-8")
    for file in runs[0].iterdir():
        assert f"`{re.sub(r'task-[0-9]+', 'task-NN', file.name)}`" in text
    (part,) = re.findall(r"^## environment.json\n(.*?)(?=^## )", text, re.DOTALL | re.MULTILINE)
    listed = re.findall(r"`(\w+)`", part.partition(". ")[0])
    assert listed == list(json.loads((runs[0] / "environment.json").read_text()))


# The API reference


def api_pages():
    spec = importlib.util.spec_from_file_location("api_pages", DOCS / "_extensions" / "api_pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_has_a_page_for_every_public_package():
    pages = {*api_pages().PACKAGES, *api_pages().MODULES}
    index = (DOCS / "api" / "index.md").read_text("utf-8")
    packages = {f"casper.{init.parent.name}" for init in (ROOT / "src" / "casper").glob("*/__init__.py")}
    assert packages - pages == {"casper.cli"}
    assert set(re.findall(r"^generated/(casper\S+)$", index, re.MULTILINE)) == pages


def test_docstrings_become_restructured_text():
    convert = api_pages().plain_to_rst
    assert convert(["Compute a*_i = |C| of `name` and `f(x)`."]) == [r"Compute a\*\_i = \|C\| of `name` and ``f(x)``."]
    assert convert(["With p,", "", "    loss = λ_1.", "", "Then"]) == [
        "With p,",
        "",
        "::",
        "",
        "    loss = λ_1.",
        "",
        "Then",
    ]
    assert convert(["Example:", "    >>> a * b", "    `c`"]) == [".. rubric:: Example", "", ">>> a * b", "`c`"]
    assert convert(["Returns:", "    A: b.", "    c."]) == [":returns: A: b.", "    c."]
