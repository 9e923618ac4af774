"""A report in a real browser; skipped where no chromium is installed."""

import json
import shutil
import subprocess
import urllib.request
from contextlib import contextmanager

import pytest

from casper.reports import make_report, write_report
from finished import finished_run

NASTY = "<script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\">"

pytestmark = pytest.mark.skipif(
    not (shutil.which("chromium") and shutil.which("chromedriver")), reason="needs chromium and chromedriver"
)


class Browser:
    """A few commands of the WebDriver protocol."""

    def __init__(self, address):
        self._address = address
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        wanted = {"goog:chromeOptions": {"args": arguments}, "goog:loggingPrefs": {"browser": "ALL"}}
        root = "/session"  # the protocol's own word
        answer = self._send(root, capabilities={"alwaysMatch": wanted})
        self._here = f"{root}/{answer['sessionId']}"

    def open(self, path):
        self._send(f"{self._here}/url", url=path.as_uri())

    def run(self, script):
        return self._send(f"{self._here}/execute/sync", script=script, args=[])

    def complaints(self):
        return self._send(f"{self._here}/se/log", type="browser")

    def close(self):
        request = urllib.request.Request(self._address + self._here, method="DELETE")
        urllib.request.urlopen(request, timeout=30).close()

    def _send(self, path, **body):
        request = urllib.request.Request(
            self._address + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)["value"]


@contextmanager
def browser():
    driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        line = next(line for line in driver.stdout if "started successfully on port" in line)
        port = line.strip().rstrip(".").rpartition(" ")[2]
        opened = Browser(f"http://127.0.0.1:{port}")
        try:
            yield opened
        finally:
            opened.close()
    finally:
        driver.terminate()
        driver.wait()


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

    with browser() as page:
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
        page.run("for (const details of document.querySelectorAll('details')) details.querySelector('summary').click()")
        assert page.run("return document.querySelectorAll('details[open]').length") == 12
        assert page.run("return document.querySelector('details .heat').getBoundingClientRect().height") > 20
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
