"""A report in a real browser; skipped where no chromium is installed."""

import fcntl
import json
import os
import shutil
import subprocess
from base64 import b64decode
from contextlib import contextmanager
from time import monotonic

import pytest

from casper.reports import make_report, write_report
from finished import finished_run, rising

NASTY = "<script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\">"

pytestmark = pytest.mark.skipif(not shutil.which("chromium"), reason="needs chromium")


class Browser:
    """A few commands of the DevTools protocol, over a pipe: messages are JSON that ends with a zero byte."""

    def __init__(self, commands, answers):
        self._commands, self._answers = commands, answers
        self._count, self._events = 0, []
        target = self._send("Target.createTarget", url="about:blank")["targetId"]
        self._page = {"sessionId": self._send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}
        for domain in ("Page", "Runtime", "Log"):
            self._send(f"{domain}.enable")

    _page = {}  # noqa: RUF012 - the browser itself, until a page is open

    def look(self, width, scheme="light"):
        """Set the window's width and the system's colour scheme."""
        self._send("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self._send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, path):
        self._events.clear()
        self._send("Page.navigate", url=path.as_uri())
        while "Page.loadEventFired" not in [event["method"] for event in self._events]:
            self._events.append(self._receive())

    def run(self, script):
        answer = self._send("Runtime.evaluate", expression=f"(() => {{{script}}})()", returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def picture(self):
        return b64decode(self._send("Page.captureScreenshot")["data"])

    def complaints(self):
        kinds = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        return [event for event in self._events if event["method"] in kinds]

    def close(self):
        self._page = {}
        self._send("Browser.close")

    def _send(self, method, **params):
        self._count += 1
        self._commands.write(json.dumps({"id": self._count, "method": method, "params": params, **self._page}).encode())
        self._commands.write(b"\0")
        while (answer := self._receive()).get("id") != self._count:
            self._events.append(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def _receive(self):
        message = bytearray()
        while (sign := self._answers.read(1)) != b"\0":
            assert sign, "the browser is gone"
            message += sign
        return json.loads(message)


@contextmanager
def browser(folder):
    """Start chromium, which reads commands from its file 3 and writes answers to its file 4."""
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    high_in, high_out = (fcntl.fcntl(file, fcntl.F_DUPFD, 10) for file in (theirs_in, theirs_out))
    arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    process = subprocess.Popen(
        ["chromium", *arguments, "--remote-debugging-pipe", f"--user-data-dir={folder}"],
        stderr=subprocess.DEVNULL,
        pass_fds=(3, 4),
        preexec_fn=lambda: (os.dup2(high_in, 3), os.dup2(high_out, 4)),
    )
    for file in (theirs_in, theirs_out, high_in, high_out):
        os.close(file)
    try:
        with open(ours_out, "wb", buffering=0) as commands, open(ours_in, "rb") as answers:
            opened = Browser(commands, answers)
            yield opened
            opened.close()
            process.wait(30)
    finally:
        process.kill()
        process.wait()


def first_column(number):
    return f"return [...document.querySelectorAll('#{number} tbody tr')].map((row) => row.cells[0].textContent)"


def press(section, column):
    return f"document.querySelectorAll('#{section} thead button')[{column}].click()"


def test_a_report_in_a_real_browser(tmp_path):
    finals = {"er": 50.0, "er-ace": 70.0, "der++": 60.0}
    runs = [
        finished_run({"method": method, "regularizer": [name], "seed": seed}, final + seed + 3 * (name == "casper"))
        for method, final in finals.items()
        for name in ("none", "casper")
        for seed in (0, 1)
    ]
    runs[0].metrics["tasks"] = [[NASTY, "cat"], ["dog", "cow"]]
    runs[0].layout["origin"]["lr"] = NASTY
    write_report(make_report(runs), tmp_path / "report.html", f"Report {NASTY}")

    with browser(tmp_path / "profile") as page:
        page.open(tmp_path / "report.html")
        assert page.complaints() == []
        assert page.run("return document.title") == f"Report {NASTY}"
        assert page.run("return document.querySelectorAll('h1, h1 *').length") == 1

        order = ["er-ace", "er-ace + casper", "der++", "der++ + casper", "er", "er + casper"]
        assert page.run(first_column("t0")) == order
        page.run(press("t0", 1))
        by_accuracy = ["er-ace + casper", "er-ace", "der++ + casper", "der++", "er + casper", "er"]
        assert page.run(first_column("t0")) == by_accuracy
        page.run(press("t0", 1))
        assert page.run(first_column("t0")) == by_accuracy[::-1]
        assert page.run("return document.querySelectorAll('#t0 th')[1].getAttribute('aria-sort')") == "ascending"
        page.run(press("t0", 0))
        assert page.run(first_column("t0")) == sorted(order)
        page.run(press("t0", 3))  # gains: plain methods have none, and stay below
        assert all("casper" in name for name in page.run(first_column("t0"))[:3])
        assert page.run(first_column("t1"))[0] == "er-ace"  # other tables stay as they are

        # A click opens a run: its matrix and its settings, in which names are text.
        page.run("for (const summary of document.querySelectorAll('.run > details > summary')) summary.click()")
        assert page.run("return document.querySelectorAll('.run > details[open]').length") == 12
        assert page.run("return document.querySelector('.run .heat').getBoundingClientRect().height") > 20
        titles = page.run("return [...document.querySelectorAll('.heat th[title]')].map((head) => head.title)")
        assert f"{NASTY}, cat" in titles
        assert NASTY in page.run("return document.querySelector('#runs').textContent")
        assert page.run("return document.querySelectorAll('#runs img, #runs script').length") == 0
        colours = page.run(
            "return [...document.querySelectorAll('.heat td[style]')].slice(0, 2)"
            ".map((cell) => getComputedStyle(cell).backgroundColor)"
        )
        assert len(set(colours)) == 2
        pictures = page.run("return [...document.images].map((image) => image.complete && image.naturalWidth > 0)")
        assert pictures == [True] * 3
        assert page.run("return document.documentElement.scrollWidth <= window.innerWidth")
        assert page.run("return document.title") == f"Report {NASTY}"
        assert page.complaints() == []


# What reaches beyond the window, or beyond a box that would have to be scrolled.
CUT_OFF = """
  const wide = document.documentElement.clientWidth + 1;
  return [...document.querySelectorAll("body *")].filter((element) => {
    const { left, right, width } = element.getBoundingClientRect();
    const inline = getComputedStyle(element).display === "inline";
    return width && (left < -1 || right > wide || (!inline && element.scrollWidth > element.clientWidth + 1));
  }).map((element) => `${element.tagName} ${element.className}: ${element.textContent.slice(0, 80)}`);
"""
OPEN_ALL = "for (const details of document.querySelectorAll('details')) details.open = true;"


def test_nothing_is_cut_off_on_a_narrow_page(tmp_path):
    given = {"stream": "split-cifar100", "protocol": "desk", "method": "er-ace"}
    runs = [
        finished_run({**given, "regularizer": [name], "buffer_size": size, "seed": seed}, 50.0 + seed, tasks=20)
        for name in ("none", "casper")
        for size in (500, 2000)
        for seed in (0, 1)
    ]
    for run in runs:
        run.layout["long"] = "a" * 200
        run.layout["origin"]["long"] = "b" * 200
    write_report(make_report(runs), tmp_path / "report.html", "Report " + "c" * 200)
    with browser(tmp_path / "profile") as page:
        page.look(400)
        page.open(tmp_path / "report.html")
        page.run(OPEN_ALL)
        assert page.run(CUT_OFF) == []
        # All numbers of a row are below each other, each with its header.
        cells = "[...document.querySelector('#t0 tbody tr:last-child').cells]"
        assert page.run(f"return {cells}.filter((cell) => cell.offsetHeight > 0).length") == 7
        head = "getComputedStyle(cell, '::before').content"
        assert page.run(f"return {cells}.map((cell) => {head})")[1:4] == ['"buffer 500"', '"F*"', '"gain"']
        page.run("document.querySelectorAll('.run > input')[0].click()")
        page.run("document.querySelectorAll('.run > input')[7].click(); document.querySelector('#compare').click()")
        assert page.run(CUT_OFF) == []
        assert page.complaints() == []


def test_colours_follow_the_system(tmp_path):
    runs = [
        finished_run({"method": "er", "regularizer": [name], "seed": seed}, rising(name, final, 20 * seed))
        for name, final in (("none", 60.0), ("casper", 61.0))
        for seed in (0, 1)
    ]
    write_report(make_report(runs), tmp_path / "report.html", "Report")
    # Of every text that is shown: the least contrast to its background, by the definition of WCAG 2.
    contrast = """
      const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
      const rgb = (...colours) => {
        canvas.clearRect(0, 0, 1, 1);
        for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
        return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
      };
      const light = (colour) => colour.map((value) => value / 255)
        .map((value) => value <= .04045 ? value / 12.92 : ((value + .055) / 1.055) ** 2.4)
        .reduce((sum, value, place) => sum + value * [.2126, .7152, .0722][place], 0);
      let least = [99, ""];
      for (const element of document.querySelectorAll("body *")) {
        const text = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
        if (!text || !element.getBoundingClientRect().width || element.disabled) continue;
        const below = [];
        for (let each = element; each; each = each.parentElement) below.unshift(getComputedStyle(each).backgroundColor);
        const ground = light(rgb(...below));
        const ink = light(rgb(...below, getComputedStyle(element).color));
        const ratio = (Math.max(ground, ink) + .05) / (Math.min(ground, ink) + .05);
        if (ratio < least[0]) least = [ratio, element.outerHTML.slice(0, 99)];
      }
      return [...least, rgb(getComputedStyle(document.body).backgroundColor)[0]];
    """
    with browser(tmp_path / "profile") as page:
        for scheme in ("light", "dark"):
            page.look(1280, scheme)
            page.open(tmp_path / "report.html")
            page.run(OPEN_ALL)
            least, where, ground = page.run(contrast)
            assert least >= 4.5, where
            assert (ground < 64) == (scheme == "dark")
            verdicts = "[...document.querySelectorAll('#t0 .higher, #t0 td[data-key]')]"
            assert len(set(page.run(f"return {verdicts}.map((cell) => getComputedStyle(cell).color)"))) == 2


def test_sections_fold(tmp_path):
    write_report(make_report([finished_run({}, 60.0)]), tmp_path / "report.html", "Report")
    with browser(tmp_path / "profile") as page:
        page.open(tmp_path / "report.html")
        opened = "return [...document.querySelectorAll('details.section[open]')].map((section) => section.id)"
        assert page.run(opened) == ["m0", "figures", "runs"]
        page.run("document.querySelector('#m0 > summary').click()")
        assert page.run(opened) == ["figures", "runs"]
        assert page.run("return document.querySelector('#t0').checkVisibility()") is False
        page.run("document.querySelector('nav a[href=\"#m1\"]').click()")
        assert page.run(opened) == ["m1", "figures", "runs"]
        page.run("document.querySelector('#fold').click()")
        assert page.run(opened) == []
        page.run("document.querySelector('#unfold').click()")
        assert len(page.run(opened)) == page.run("return document.querySelectorAll('nav a').length")
        folded = "return document.querySelector('.run details details .settings').checkVisibility()"
        page.run("document.querySelector('.run summary').click()")
        assert page.run(folded) is False
        page.run("document.querySelector('.run details details summary').click()")
        assert page.run(folded) is True


def test_two_of_three_hundred_runs_are_compared(tmp_path):
    runs = [
        finished_run({"method": method, "regularizer": [name], "seed": seed}, 50.0 + seed, tasks=10)
        for method in ("er", "er-ace", "der++")
        for name in ("none", "casper")
        for seed in range(50)
    ]
    runs[0].layout["lr"] = NASTY
    write_report(make_report(runs), tmp_path / "report.html", "Report")
    assert (tmp_path / "report.html").stat().st_size < 5_000_000
    with browser(tmp_path / "profile") as page:
        start = monotonic()
        page.open(tmp_path / "report.html")
        lines = page.run(
            "return [...document.querySelectorAll('.run > details > summary')].map((line) => line.textContent)"
        )
        assert len(lines) == 300
        places = [
            next(place for place, line in enumerate(lines) if line.startswith(name))
            for name in ("er (lr=", "er-ace + casper on split-digits, buffer 50, seed 3:")
        ]

        def tick(place):
            page.run(f"document.querySelectorAll('.run > input')[{place}].click()")

        def ticked():
            boxes = "[...document.querySelectorAll('.run > input')]"
            return page.run(f"return {boxes}.flatMap((box, place) => box.checked ? [place] : [])")

        bar = "return document.querySelector('#selection').checkVisibility()"
        assert page.run(bar) is False
        tick(5)
        assert page.run(bar) is True
        assert page.run("return document.querySelector('#compare').disabled") is True
        tick(places[0])
        tick(places[1])  # the third replaces the first
        assert sorted(ticked()) == sorted(places)
        assert page.run("return document.querySelector('#compare').disabled") is False
        page.run("document.querySelector('#compare').click()")
        assert page.run("return document.querySelector('#comparison').open") is True
        shown = page.run("return [...document.querySelectorAll('#comparison p')].map((line) => line.textContent)")
        assert shown == [f"{word}: {lines[place]}" for word, place in zip(("First", "Second"), places, strict=True)]
        heats = "[...document.querySelectorAll('#comparison .heat')]"
        left, right = page.run(f"return {heats}.map((heat) => heat.getBoundingClientRect().toJSON())")
        assert left["right"] < right["left"]
        assert left["top"] == right["top"]
        assert page.run(f"return {heats}.map((heat) => heat.rows[1].cells[1].textContent)") == ["60", "63"]
        rows = "[...document.querySelectorAll('#comparison .differing tbody tr')]"
        cells = page.run(f"return {rows}.map((row) => [...row.cells].map((cell) => cell.textContent))")
        differing = {key: values for key, *values in cells}
        assert differing["method"] == ['"er"', '"er-ace"']
        assert differing["regularizer"] == ["[]", '["casper"]']
        assert differing["seed"] == ["0", "3"]
        assert differing["lr"][0] == json.dumps(NASTY)
        assert differing["casper.sampling"] == ["\u2013", '"balanced"']
        assert not {"run", "stream", "batch_size"} & differing.keys()
        page.run("document.querySelector('#close').click(); document.querySelector('#clear').click()")
        assert ticked() == []
        assert page.run(bar) is False
        assert monotonic() - start < 10
        assert page.run("return document.title") == "Report"
        assert page.complaints() == []
