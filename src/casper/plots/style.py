"""The style of figures, and saving: readable without colours, and the same file from the same data."""

from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, BinaryIO

from casper.errors import require
from casper.files import make_directory, write_whole
from casper.formatting import printable_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

# Colours of Okabe and Ito, which colour-blind readers can distinguish; with different markers and dashes they also
# survive a black-and-white printer.
COLOURS = ("#000000", "#E69F00", "#0072B2", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", "-.", ":", "-", "--", "-.", ":")
_DOTS_PER_INCH = 150
_LETTERS_PER_INCH = 10  # in a title
# Without a date, two files of the same figure are equal.
_METADATA: dict[str, dict[str, Any]] = {"png": {}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}
FIGURE_SUFFIXES = tuple(f".{kind}" for kind in _METADATA)
# Text is saved as text, which is small and searchable.
_TEXT: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "casper", "pdf.fonttype": 42}


@dataclass(frozen=True)
class Look:
    """The look of a line; `fill` is Matplotlib's `fillstyle` of its markers."""

    colour: str
    marker: str
    dash: str = "-"
    fill: str = "full"


def look(place: int) -> Look:
    """Choose the look of the line at a place; the markers are shifted when the colours repeat."""
    turn = place // len(COLOURS)
    return Look(
        COLOURS[place % len(COLOURS)], MARKERS[(place + turn) % len(MARKERS)], DASHES[(place + turn) % len(DASHES)]
    )


def new_figure(width: float, height: float, *, compressed: bool = False) -> "Figure":
    """Create an empty figure, in inches, `compressed` if its panels have a fixed shape; no display is needed."""
    from matplotlib.figure import Figure  # imported here, as it takes half a second

    return Figure(figsize=(width, height), layout="compressed" if compressed else "constrained")


def panels(figure: "Figure", count: int, columns: int) -> list["Axes"]:
    """Create a number of panels, row by row; the rest of the last row is empty."""
    rows = -(-count // columns)
    axes = figure.subplots(rows, columns, squeeze=False).flatten().tolist()
    for unused in axes[count:]:
        unused.axis("off")
    return list(axes[:count])


@cache
def dark_is_more() -> "Colormap":
    """Create a colour map from light to dark blue, monotone in grey as well; its lightest colour is not white."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    shades = [colormaps["Blues"](0.15 + 0.85 * step / 255) for step in range(256)]
    return ListedColormap(shades)


def legend_beside(axes: "Axes", title: str, size: str = "small") -> None:
    """Add a legend to the right of a panel, with lines long enough to distinguish their dashes."""
    axes.legend(
        title=title,
        fontsize=size,
        title_fontsize=size,
        handlelength=3.5,
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        borderaxespad=0.0,
    )


def set_title(figure: "Figure", title: str) -> None:
    """Add a title above the whole figure, in three lines at most."""
    figure.suptitle(wrapped(title, figure.get_figwidth()), fontsize="medium")


def wrapped(title: str, width: float) -> str:
    """Wrap a title for a figure of a width in inches, into three lines at most."""
    letters = int(_LETTERS_PER_INCH * width)
    return "\n".join(wrap(title, letters, max_lines=3, placeholder=" ...", break_on_hyphens=False))


def save_figure(figure: "Figure", path: Path | BinaryIO) -> None:
    """Write a figure: PNG, PDF or SVG by the path's suffix; an open file receives SVG.

    Raises:
        ParameterError: For another suffix.

    Example:
        >>> from io import BytesIO
        >>> from casper.plots import TimedVariant, draw_times, save_figure
        >>> figure, file = draw_times([TimedVariant("ER", "", seconds=(10.0,))], "Digits"), BytesIO()
        >>> save_figure(figure, file)
        >>> b"<svg" in file.getvalue()
        True
    """
    if not isinstance(path, Path):
        path.write(_content(figure, "svg"))
        return
    suffix = path.suffix.lower()
    require(suffix in FIGURE_SUFFIXES, "path", f"a file that ends in {', '.join(FIGURE_SUFFIXES)}", path.name)
    content = _content(figure, suffix.removeprefix("."))
    make_directory(path.parent)
    write_whole(path, content)


def _content(figure: "Figure", kind: str) -> bytes:
    from matplotlib import rc_context
    from matplotlib.text import Text

    # Drawing changes the layout, so a copy is saved: the file does not depend on files saved before.
    figure = deepcopy(figure)
    for text in figure.findobj(Text):
        text.set_parse_math(False)  # a name with two dollar signs is not a formula
        text.set_text(printable_lines(text.get_text()))  # SVG cannot contain control characters
    content = BytesIO()
    with rc_context(_TEXT):
        figure.savefig(content, format=kind, dpi=_DOTS_PER_INCH, metadata=_METADATA[kind])
    return content.getvalue()
