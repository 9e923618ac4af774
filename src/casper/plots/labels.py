"""Names of variants in a plot: their parts, and their line breaks."""

from collections.abc import Iterable
from dataclasses import dataclass
from textwrap import wrap

from casper.formatting import printable

_METHODS = {
    "finetune": "fine-tuning",
    "er": "ER",
    "er-ace": "ER-ACE",
    "icarl": "iCaRL",
    "der++": "DER++",
    "x-der": "X-DER",
    "podnet": "PODNet",
    "scr": "SCR",
    "pser-ace": "PsER-ACE",
    "ccic": "CCIC",
}
_REGULARIZERS = {"casper": "CaSpeR", "cscct": "CSCCT"}
_LETTERS = 40  # letters per line of a legend


@dataclass(frozen=True)
class VariantName:
    """A variant's name in parts, so that a figure can pair a method with and without an addition.

    Attributes:
        method: The method.
        added: The regularizers added to it; may be empty.
        detail: Settings that distinguish the method from others of the same name, such as the size of its memory.
        added_detail: The same for the addition.

    Example:
        >>> from casper.plots import VariantName
        >>> name = VariantName("ER-ACE", added="CaSpeR", detail="buffer 500", added_detail="weight=0.1")
        >>> name.text
        'ER-ACE + CaSpeR (buffer 500, weight=0.1)'
        >>> name.base
        'ER-ACE (buffer 500)'
    """

    method: str
    added: str = ""
    detail: str = ""
    added_detail: str = ""

    @property
    def base(self) -> str:
        """The method without the addition, such as `ER-ACE (buffer 500)`."""
        return _with(self.method, self.detail)

    @property
    def addition(self) -> str:
        """The addition, such as `+ CaSpeR (weight=0.1)`; may be empty."""
        return f"+ {_with(self.added, self.added_detail)}" if self.added else ""

    @property
    def text(self) -> str:
        """The whole name, such as `ER-ACE + CaSpeR (buffer 500, weight=0.1)`."""
        name = f"{self.method} + {self.added}" if self.added else self.method
        return _with(name, ", ".join(filter(None, (self.detail, self.added_detail))))

    @property
    def lines(self) -> str:
        """The whole name, broken for a legend or a panel's title."""
        return broken(self.text)


def _with(name: str, detail: str) -> str:
    return f"{name} ({detail})" if detail else name


def broken(text: str, letters: int = _LETTERS) -> str:
    """Break a name that is too long for a line: first between the name and its details."""
    text = printable(text)
    if len(text) <= letters:
        return text
    name, bracket, detail = text.partition(" (")
    parts = (name, f"({detail}") if bracket else (name,)
    return "\n".join(line for part in parts for line in wrap(part, letters, max_lines=2, placeholder=" ..."))


def bases(names: Iterable[VariantName]) -> list[str]:
    """List the methods, each once, in their order."""
    return list(dict.fromkeys(name.base for name in names))


def additions(names: Iterable[VariantName]) -> list[str]:
    """List the additions, each once; the empty one comes first."""
    return sorted(dict.fromkeys(name.addition for name in names), key=bool)


def name_of(method: str, regularizers: Iterable[str]) -> VariantName:
    """Name a method and its regularizers as in papers."""
    return VariantName(shown(method, _METHODS), " + ".join(shown(name, _REGULARIZERS) for name in regularizers))


def shown(name: str, known: dict[str, str]) -> str:
    """Return a name as in papers; for `package.module:Class` the name of the class."""
    return known.get(name, name.rpartition(":")[2])
