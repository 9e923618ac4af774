"""Sphinx extension: one page of API reference per public package, generated from `__all__` and the docstrings.

Docstrings are plain text with single backticks and formulas. `plain_to_rst` turns them into reStructuredText before
napoleon reads their sections.
"""

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

PACKAGES = {
    "casper.spectral": "the loss, and the mathematics under it",
    "casper.regularizers": "loss terms for any method",
    "casper.methods": "ways to learn from a stream",
    "casper.streams": "streams of tasks",
    "casper.data": "data sets, decoded once",
    "casper.memory": "the rehearsal memory",
    "casper.nets": "backbones, heads, BatchNorm statistics",
    "casper.losses": "the methods' losses as pure functions",
    "casper.training": "trainer, evaluation, checkpoints, events",
    "casper.metrics": "accuracies and their summaries",
    "casper.analysis": "measurements of a latent space",
    "casper.config": "options, names, presets",
    "casper.runs": "one run on disk",
    "casper.sweeps": "many runs",
    "casper.paper": "the paper's tables and figures as data",
    "casper.plots": "plain data to matplotlib",
    "casper.reports": "runs to tables and figures",
}
MODULES = {
    "casper.types": "images, tasks, batches, outputs",
    "casper.step": "everything one update may look at",
    "casper.errors": "errors",
}
NAME = re.compile(r"[A-Za-z_][\w.]*(\(\))?")
SECTION = re.compile(r"(Args|Attributes|Raises|Yields):$|:returns:")


def public_names(module: Any) -> list[str]:
    """List what a package exports, or what a module without `__all__` defines."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    own = (name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__)
    return [name for name in own if not name.startswith("_")]


def home_of(name: str) -> str:
    """Find the page that documents a name of `casper`."""
    for place in (*PACKAGES, *MODULES):
        if name in public_names(importlib.import_module(place)):
            return place
    raise LookupError(f"no public package exports {name}")


def page(place: str) -> str:
    """Write the page of a package: its classes, functions and constants."""
    module = importlib.import_module(place)
    lines = [place, "=" * len(place), "", f".. module:: {place}", ""]
    lines += [*plain_to_rst((inspect.getdoc(module) or "").splitlines()), ""]
    values = {name: getattr(module, name) for name in public_names(module)}
    classes = [name for name, value in values.items() if inspect.isclass(value)]
    functions = [name for name, value in values.items() if inspect.isfunction(value)]
    for title, names, directive in (("Classes", classes, "autoclass"), ("Functions", functions, "autofunction")):
        if names:
            lines += [title, "-" * len(title), ""]
        for name in sorted(names, key=str.lower):
            lines += [
                f".. {directive}:: {place}.{name}",
                *([] if directive == "autofunction" else ["   :members:"]),
                "",
            ]
    others = sorted(set(values) - {*classes, *functions})
    if others:
        lines += [
            "Constants and type aliases",
            "--------------------------",
            "",
            ".. list-table::",
            "   :widths: 30 70",
            "",
        ]
        for name in others:
            lines += [f"   * - ``{name}``", f"     - ``{short(values[name])}``"]
    return "\n".join(lines) + "\n"


def short(value: Any) -> str:
    """Show a constant in one short line."""
    text = re.sub(
        r"\b(?:collections\.abc|typing|torch|casper)\.(?:\w+\.)*", "", re.sub(r"<class '(.*?)'>", r"\1", repr(value))
    )
    text = " ".join(re.sub(r" at 0x[0-9a-f]+", "", text).split())
    return text if len(text) <= 160 else f"{text[:150]} ..."


def overview(names: list[str]) -> str:
    """Write the page of `casper`: every exported name, its first line and a link."""
    lines = ["casper", "======", ""]
    casper = importlib.import_module("casper")
    lines += [*plain_to_rst((inspect.getdoc(casper) or "").splitlines()), ""]
    lines += [".. list-table::", "   :widths: 35 65", ""]
    for name in sorted(names, key=str.lower):
        place = home_of(name)
        first = (inspect.getdoc(getattr(casper, name)) or "").partition("\n")[0]
        lines += [f"   * - :py:obj:`{name} <{place}.{name}>`", f"     - {plain_to_rst([first])[0]}"]
    return "\n".join(lines) + "\n"


def plain_to_rst(lines: list[str]) -> list[str]:
    """Escape formulas, mark code that is not a name, and turn indented formulas into literal blocks."""
    result: list[str] = []
    indent, literal, in_sections, in_doctest = 0, False, False, False
    for number, line in enumerate(lines := _with_examples_as_rubrics(_with_returns_as_field(lines))):
        depth = len(line) - len(line.lstrip())
        in_sections = in_sections or bool(SECTION.match(line.strip()))
        after_blank = number > 0 and not lines[number - 1].strip()
        if line.lstrip().startswith((">>> ", "... ")) or (result and in_doctest):
            in_doctest = bool(line.strip())
            result.append(line)
            continue
        if literal and line.strip() and depth <= indent:
            literal = False
        if not literal and not in_sections and line.strip() and after_blank and depth >= indent + 4:
            literal = True
            result += [" " * indent + "::", ""]
        if not literal and line.strip() and not line.lstrip().startswith("- "):
            indent = depth
        result.append(line if literal else _escaped(line))
    return result


def _with_returns_as_field(lines: list[str]) -> list[str]:
    """Write `Returns:` as a field: napoleon would take its text up to a colon for a type."""
    result, place = list[str](), 0
    while place < len(lines):
        line = lines[place]
        place += 1
        if line.strip() != "Returns:" or place == len(lines):
            result.append(line)
            continue
        margin = line[: len(line) - len(line.lstrip())]
        result.append(f"{margin}:returns: {lines[place].strip()}")
        place += 1
        while place < len(lines) and len(lines[place]) - len(lines[place].lstrip()) > len(margin):
            result.append(f"{margin}    {lines[place].strip()}")
            place += 1
    return result


def _with_examples_as_rubrics(lines: list[str]) -> list[str]:
    """Write `Example:` as a heading, and its doctest at the margin."""
    result, inside, margin = list[str](), False, ""
    for line in lines:
        depth = len(line) - len(line.lstrip())
        if line.strip() == "Example:":
            inside, margin = True, line[:depth]
            result += [f"{margin}.. rubric:: Example", ""]
        elif inside and (not line.strip() or depth > len(margin)):
            result.append(line[4:] if line.strip() else line)
        else:
            inside = False
            result.append(line)
    return result


def _escaped(line: str) -> str:
    parts = re.split(r"(``.*?``|`[^`]*`)", line)
    return "".join(_code(part) if part.startswith("`") else _text(part) for part in parts)


def _code(part: str) -> str:
    inside = part.strip("`")
    return part if part.startswith("``") or NAME.fullmatch(inside) else f"``{inside}``"


def _text(part: str) -> str:
    part = part.replace("\\", "\\\\").replace("*", r"\*").replace("|", r"\|")
    return re.sub(r"(?<=\w)_(?=\W|$)|(?<!\w)_(?=\w)", r"\\_", part)


def _process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = plain_to_rst(lines)


def _write_pages(app: Any) -> None:
    folder = Path(app.srcdir) / "api" / "generated"
    folder.mkdir(parents=True, exist_ok=True)
    pages = {place: page(place) for place in (*PACKAGES, *MODULES)}
    pages["casper"] = overview(list(importlib.import_module("casper").__all__))
    for place, text in pages.items():
        file = folder / f"{place}.rst"
        if not file.exists() or file.read_text("utf-8") != text:  # an unchanged page is not read again
            file.write_text(text, "utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Register the extension."""
    app.connect("builder-inited", _write_pages)
    app.connect("autodoc-process-docstring", _process, priority=400)
    return {"parallel_read_safe": True}
