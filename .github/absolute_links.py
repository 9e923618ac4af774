"""Make the relative links and images of a Markdown file absolute, for readers outside the repository."""

import argparse
import re
from pathlib import Path
from urllib.parse import urljoin

RELATIVE = re.compile(r"(\]\()(?![a-z][a-z0-9+.-]*:|#|/)([^)\s]+)(\))")


def absolute_links(text: str, base: str) -> str:
    """Return the text with `base` in front of every relative target; absolute ones and anchors stay.

    >>> absolute_links("![a](docs/a.png) [b](https://b.org) [c](#c)", "https://host/tree")
    '![a](https://host/tree/docs/a.png) [b](https://b.org) [c](#c)'
    """
    return RELATIVE.sub(lambda match: f"{match[1]}{urljoin(base.rstrip('/') + '/', match[2])}{match[3]}", text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make relative links absolute, in place.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--base", required=True, help="address of the repository's files; {tag} is replaced")
    parser.add_argument("--tag", required=True)
    options = parser.parse_args()
    if not options.base.startswith("https://"):
        parser.error(f"--base must be an https address, but got {options.base!r}: set the variable README_BASE")
    text = options.file.read_text("utf-8")
    options.file.write_text(absolute_links(text, options.base.replace("{tag}", options.tag)), "utf-8")
