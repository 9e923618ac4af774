from dataclasses import replace

import pytest

from casper.plots.times import TimedVariant, draw_times, note, unit_of

PLAIN = TimedVariant("ER", "", (100.0, 140.0), 2.0)
ADDED = TimedVariant("ER", "CaSpeR", (180.0, 180.0), 3.5)
OTHER = TimedVariant("DER++", "CaSpeR", (60.0,))


def test_bars_are_means_with_their_deviations():
    axes = draw_times([ADDED, PLAIN, OTHER], "title").axes[0]
    plain, added = (own for own in axes.containers if own.get_label() in ("method alone", "+ CaSpeR"))
    assert plain.get_label() == "method alone"
    assert [bar.get_height() for bar in plain] == [2.0]
    assert [bar.get_height() for bar in added] == [3.0, 1.0]
    ((low, high),) = plain.errorbar.lines[2][0].get_segments()
    assert high[1] - low[1] == pytest.approx(2 * 800**0.5 / 60)
    assert axes.get_ylabel() == "wall-clock time of training (min)"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["ER", "DER++"]


def test_pairs_stand_side_by_side_and_differ_in_hatching():
    axes = draw_times([PLAIN, ADDED, OTHER], "title").axes[0]
    plain, added = (own for own in axes.containers if own.get_label() in ("method alone", "+ CaSpeR"))
    assert plain[0].get_x() + plain[0].get_width() == pytest.approx(added[0].get_x())
    assert added[1].get_x() + added[1].get_width() / 2 == pytest.approx(1.0)  # alone, in the middle
    assert plain[0].get_hatch() != added[0].get_hatch()
    assert plain[0].get_facecolor() != added[0].get_facecolor()


def test_what_stands_above_the_bars():
    axes = draw_times([PLAIN, ADDED, OTHER], "title").axes[0]
    assert [text.get_text() for text in axes.texts] == ["2 passes", "×1.50\n3.5 passes", ""]
    assert axes.get_ylim()[0] == 0
    assert axes.get_ylim()[1] > 3.3


def test_a_ratio_needs_the_method_alone():
    assert note(OTHER, [PLAIN, ADDED, OTHER]) == ""
    assert note(ADDED, [PLAIN, ADDED]) == "×1.50\n3.5 passes"
    assert note(replace(ADDED, ratio=1.25), [PLAIN, ADDED]) == "×1.25\n3.5 passes"
    assert note(ADDED, [TimedVariant("ER", "", (0.0,)), ADDED]) == "3.5 passes"


@pytest.mark.parametrize(
    ("seconds", "unit"), [(0.1, "s"), (119.0, "s"), (120.0, "min"), (7199.0, "min"), (7200.0, "h")]
)
def test_units(seconds, unit):
    assert unit_of(seconds)[0] == unit
