import re
from html.parser import HTMLParser

import pytest

from casper.reports import make_report
from casper.reports.html import to_html
from finished import finished_run, rising

NASTY = "<script>alert(1)</script>\"'&"


class Reader(HTMLParser):
    """Collects the tags with their attributes, and the text outside styles and scripts."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text, self._inside = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._inside.append(tag)

    def handle_endtag(self, tag):
        if self._inside and self._inside[-1] == tag:
            self._inside.pop()

    def handle_data(self, data):
        if not self._inside:
            self.text.append(data)


def page(**changes):
    runs = [
        finished_run({"method": "er", "regularizer": [name], "seed": seed}, rising(name, final, seed), **changes)
        for name, final in (("none", 60.0), ("casper", 61.0))
        for seed in (0, 1)
    ]
    return to_html(make_report(runs), "Title")


def test_it_holds_everything_and_fetches_nothing():
    reader = Reader(page())
    text = " ".join(reader.text)
    assert "er + casper" in text
    assert "60.50 ± 0.71 (2)" in text
    assert "one version of the code: 1.0 abc" in text
    for tag, attributes in reader.tags:
        for name in ("src", "href"):
            assert attributes.get(name, "#").startswith(("#", "data:")), (tag, attributes)
        assert tag not in ("link", "iframe", "object", "embed")
    policies = [attributes["content"] for tag, attributes in reader.tags if "http-equiv" in attributes]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"]


def test_cells_carry_the_number_they_are_sorted_by():
    reader = Reader(page())
    keys = [attributes["data-key"] for tag, attributes in reader.tags if tag == "td" and "data-key" in attributes]
    assert keys[:2] == ["60.5", "5.0"]
    assert any(float(key) == pytest.approx(1.0) for key in keys)  # the gain
    assert sum(tag == "button" for tag, _ in reader.tags) >= 4


def test_every_run_has_its_matrix_and_its_settings():
    found = page()
    assert found.count("<details><summary>er ") == 4
    assert found.count('class="heat"') == 4
    assert 'title="class 2, class 3">2</th>' in found
    assert '<td style="--v:70">70</td><td style="--v:69" class="ahead">69</td>' in found
    assert "<tr><td>casper.sampling</td><td>&quot;balanced&quot;</td><td>default</td>" in found
    assert "<tr><td>lr</td>" in found


def test_curves_are_pictures_inside_the_page():
    reader = Reader(page())
    pictures = [attributes for tag, attributes in reader.tags if tag == "img"]
    assert [picture["alt"] for picture in pictures] == ["split-digits, er, buffer 50"]
    assert pictures[0]["src"].startswith("data:image/svg+xml;base64,")


def test_a_matrix_with_missing_rows_has_no_curve():
    joint = finished_run({"method": "joint"}, 60.0)
    joint.metrics["class_il"]["accuracy_matrix"][0] = [None, None]
    found = to_html(make_report([joint]), "Title")
    assert "No run has a curve." in found
    assert "<td></td>" in found


def test_names_are_text():
    run = finished_run({}, 60.0, tasks=2, code=NASTY)
    run.metrics["tasks"] = [[NASTY, "cat"], ["dog"]]
    run.layout["stream"] = f"folder:{NASTY}"
    run.layout["casper"]["weight"] = NASTY
    found = to_html(make_report([run]), NASTY)
    assert len(re.findall("<script>", found)) == 1  # the page's own
    reader = Reader(found)
    titles = [attributes.get("title") for tag, attributes in reader.tags if tag == "th"]
    assert f"{NASTY}, cat" in titles
    assert NASTY in " ".join(reader.text)


def test_the_same_runs_give_the_same_page():
    assert page() == page()


def test_every_verdict_has_a_sign_and_a_colour():
    values = {"er": (60.0, 1e-7), "er-ace": (50.0, 1e-7), "der++": (55.0, 10.0), "icarl": (56.0, 0.0)}
    runs = [
        finished_run(
            {"method": method, "regularizer": [name], "seed": seed},
            final + seed * slope if name == "casper" else 55.0,
            latent={"same_class_variance": 0.5 + (name == "casper") * (0.1 + seed * 1e-7)},
        )
        for method, (final, slope) in values.items()
        for name in ("none", "casper")
        for seed in (0, 1)
    ]
    found = to_html(make_report(runs, paths=["class_il.final_average_accuracy", "latent.same_class_variance"]), "Title")
    found = found.partition("<details")[2]  # without the legend
    signs = re.findall(r'<span class="(\w+)" title="[^"]+">\S+(?: \[\S+ \S+\])? (.)</span>', found)
    assert set(signs) == {("higher", "▲"), ("lower", "▼"), ("undecided", "○"), ("undecided", "?"), ("differs", "▲")}
    # A variance that is higher is neither better nor worse.
    assert all(sign == ("differs", "▲") for sign in signs[4:])


def test_a_section_per_measure_can_be_folded():
    reader = Reader(page())
    sections = [attributes for tag, attributes in reader.tags if tag == "details" and attributes.get("class")]
    links = [attributes["href"] for tag, attributes in reader.tags if tag == "a"]
    assert links == [f"#{attributes['id']}" for attributes in sections]
    assert [attributes["id"] for attributes in sections][-2:] == ["figures", "runs"]
    opened = [attributes["id"] for attributes in sections if "open" in attributes]
    assert opened == ["m0", "figures", "runs"]  # the accuracy, not yet the variance and the times
    assert "<summary><h2>Class-IL: final average accuracy (%)</h2></summary>" in page()
    assert '<section id="t0"><h3>split-digits</h3>' in page()


def test_settings_without_a_value_are_folded():
    found = page()
    shown, _, folded = found.partition("</summary><div>")[2].partition("<details>")
    unset = folded.partition("</details>")[0]
    assert unset.count("<td>null</td>") == unset.count("<tr>") > 1
    assert unset.startswith(f"<summary>{unset.count('<tr>')} null settings</summary>")
    assert "<td>lr</td>" in shown
    assert "<td>null</td>" not in shown


def test_a_gain_is_coloured_and_a_difference_of_times_is_not():
    assert '<span class="higher" title="the interval is above zero">+1.00 [+1.00, +1.00] ▲</span>' in page()
    slower = [
        finished_run({"method": "er", "regularizer": [name], "seed": seed}, 60.0, seconds=seconds * (1 + 1e-7 * seed))
        for name, seconds in (("none", 10.0), ("casper", 20.0))
        for seed in (0, 1)
    ]
    found = to_html(make_report(slower, paths=["seconds.train"]), "Title")
    assert ">+10.0 [+10.0, +10.0]</td>" in found


def test_a_matrix_of_another_size_spoils_no_figure():
    runs = [finished_run({"seed": seed}, 60.0, tasks=tasks) for seed, tasks in ((0, 2), (1, 3))]
    assert to_html(make_report(runs), "Title").count("<img") == 1


def test_signs_that_steer_a_terminal_are_gone():
    assert "\x1b" not in to_html(make_report([finished_run({}, 60.0, code="a\x1b[31m")]), "a\x1b\x07")
