"""The files around the package agree with it, and invent no addresses."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import casper

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_the_readme_is_short_and_its_images_are_relative():
    text = (ROOT / "README.md").read_text("utf-8")
    assert len(text.splitlines()) <= 150
    images = re.findall(r"!\[.*?\]\((.*?)\)", text)
    assert images
    assert all((ROOT / image).is_file() for image in images)


def test_the_citation_names_this_version_and_the_paper():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == casper.__version__
    (paper,) = citation["references"]
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    assert paper["title"] in readme
    assert paper["doi"] in readme
    assert all(author["family-names"] in readme for author in paper["authors"])


def test_the_versions_agree():
    (version,) = re.findall(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    assert version == casper.__version__


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_targets_that_exist_on_the_version_that_was_tested(path):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    text = path.read_text("utf-8")
    steps = [step for job in yaml.safe_load(text)["jobs"].values() for step in job["steps"]]
    called = [command.split()[1] for step in steps if (command := step.get("run", "")).startswith("make ")]
    assert set(called) <= targets
    versions = {step["with"]["python-version"] for step in steps if "python-version" in step.get("with", {})}
    assert versions <= {"3.11"}
    assert not re.search(r"https?://", text)


def test_hooks_use_the_environment():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"]
    assert [source["repo"] for source in hooks] == ["local"]
    assert {hook["entry"].split()[0] for hook in hooks[0]["hooks"]} == {".venv/bin/ruff", ".venv/bin/mypy"}


def make_links_absolute(path, base):
    script = ROOT / ".github" / "absolute_links.py"
    command = [sys.executable, script, path, "--base", base, "--tag", "v1"]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_release_has_absolute_links(tmp_path):
    page = tmp_path / "README.md"
    page.write_text((ROOT / "README.md").read_text("utf-8"), "utf-8")
    assert make_links_absolute(page, "https://host.example/{tag}/").returncode == 0
    targets = re.findall(r"\]\((.*?)\)", page.read_text("utf-8"))
    assert "https://host.example/v1/docs/demo_graph.png" in targets
    assert all(target.startswith("https://") for target in targets)
    assert any(target.startswith("https://doi.org/") for target in targets)


def test_a_release_without_an_address_fails(tmp_path):
    page = tmp_path / "README.md"
    page.write_text("[a](b.md)")
    assert "README_BASE" in make_links_absolute(page, "").stderr
    assert page.read_text() == "[a](b.md)"
