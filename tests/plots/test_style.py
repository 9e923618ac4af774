import warnings
from io import BytesIO
from xml.etree import ElementTree

import matplotlib.colors
import pytest

from casper.errors import ParameterError
from casper.plots import TimedVariant, draw_times
from casper.plots.style import (
    COLOURS,
    dark_is_more,
    look,
    new_figure,
    panels,
    save_figure,
    set_title,
    wrapped,
)


def drawn():
    figure = new_figure(3, 2)
    axes = figure.subplots()
    axes.plot([1, 2], [3, 4], marker="o", label="a name")
    axes.scatter([1, 2], [3, 4], rasterized=True)
    axes.legend()
    set_title(figure, "a title")
    return figure


@pytest.mark.parametrize(
    ("kind", "head"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml"), ("PNG", b"\x89PNG")]
)
def test_the_suffix_says_the_kind_and_the_file_is_always_the_same(kind, head, tmp_path):
    paths = [tmp_path / "new" / f"{name}.{kind}" for name in ("a", "b")]
    for path in paths:
        save_figure(drawn(), path)
    contents = [path.read_bytes() for path in paths]
    assert contents[0].startswith(head)
    assert contents[0] == contents[1]


def test_no_file_depends_on_those_written_before_it(tmp_path):
    figure = drawn()
    save_figure(figure, tmp_path / "first.png")
    save_figure(figure, tmp_path / "then.pdf")
    save_figure(drawn(), tmp_path / "alone.pdf")
    assert (tmp_path / "then.pdf").read_bytes() == (tmp_path / "alone.pdf").read_bytes()


def test_files_have_no_date_and_their_text_is_text(tmp_path):
    save_figure(drawn(), tmp_path / "a.pdf")
    assert b"CreationDate" not in (tmp_path / "a.pdf").read_bytes()
    assert b"/TrueType" in (tmp_path / "a.pdf").read_bytes() or b"/CIDFontType2" in (tmp_path / "a.pdf").read_bytes()
    content = BytesIO()
    save_figure(drawn(), content)
    assert b">a name</text>" in content.getvalue()
    assert b"dc:date" not in content.getvalue()


def test_a_picture_has_150_dots_per_inch(tmp_path):
    from PIL import Image

    save_figure(drawn(), tmp_path / "a.png")
    assert Image.open(tmp_path / "a.png").size == (450, 300)


def test_dollar_signs_make_no_formula():
    figure, content = new_figure(3, 2), BytesIO()
    set_title(figure, r"costs $\nothing$")
    save_figure(figure, content)
    assert rb"costs $\nothing$" in content.getvalue()


@pytest.mark.parametrize("name", ["a.jpg", "a", "png"])
def test_other_kinds_are_refused_before_anything_is_written(name, tmp_path):
    with pytest.raises(ParameterError, match=rf"`path` must be a file that ends in .png, .pdf, .svg, but got '{name}'"):
        save_figure(drawn(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_no_two_of_many_lines_look_alike():
    looks = [look(place) for place in range(64)]
    assert len({(own.colour, own.marker) for own in looks}) == 64
    assert len({own.marker for own in looks[: len(COLOURS)]}) == len(COLOURS)


def test_dark_is_more_in_grey_too_and_the_lightest_is_not_white():
    shades = [matplotlib.colors.to_rgb(dark_is_more()(step)) for step in range(256)]
    greys = [0.299 * red + 0.587 * green + 0.114 * blue for red, green, blue in shades]
    assert greys == sorted(greys, reverse=True)
    assert 0.8 < greys[0] < 0.95
    assert greys[-1] < 0.3


def test_panels_that_are_left_over_are_empty():
    figure = new_figure(3, 2)
    assert len(panels(figure, 3, 2)) == 3
    assert [axes.axison for axes in figure.axes] == [True, True, True, False]


def test_titles_are_broken():
    assert wrapped("a b", 6.4) == "a b"
    lines = wrapped("word " * 60, 6.4).splitlines()
    assert len(lines) == 3
    assert lines[-1].endswith(" ...")
    assert max(map(len, lines)) <= 64
    assert wrapped("a " * 20 + "split-cifar100", 4.5).splitlines()[-1] == "split-cifar100"


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
@pytest.mark.parametrize("name", ["a\x1b[31m\x00\x0b", "half \udc80", "\ufffe & <b>"])
def test_control_characters_in_names_give_a_well_formed_figure(kind, name, tmp_path):
    figure = draw_times([TimedVariant(name, name, seconds=(10.0,))], f"one\ntwo {name}")
    figure.axes[0].set_ylabel(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # Matplotlib's, about characters without a glyph
        save_figure(figure, tmp_path / f"figure.{kind}")
    if kind == "svg":
        ElementTree.parse(tmp_path / "figure.svg")
