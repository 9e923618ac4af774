"""Training protocols: the paper's own, and one for a desk; and the paper's hyper-parameters for both."""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, Literal, get_args

from casper.experiments.config import flattened
from casper.experiments.errors import ConfigError
from casper.experiments.yaml_files import parse_yaml

Protocol = Literal["paper", "desk"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)


@cache
def packaged(name: str) -> Any:
    """Read one of the package's own YAML files."""
    return parse_yaml(resources.files("casper.experiments").joinpath(name).read_text("utf-8"))


def usual_protocol(stream: str) -> Protocol | None:
    """Name the protocol of a stream for which none was asked: the paper's on the paper's streams, else none."""
    return "paper" if stream in packaged("protocols.yaml")["paper"] else None


def protocol_values(protocol: Protocol, stream: str) -> dict[str, Any]:
    """Look up what a protocol sets on a stream, by dotted key; the desk's leaves streams outside the paper as they are.

    Raises:
        ConfigError: For the paper's protocol on a stream that is not in the paper.
    """
    known = packaged("protocols.yaml")[protocol]
    if stream in known:
        return flattened(known[stream])
    if protocol == "paper":
        raise ConfigError(f"--protocol paper should go with a stream of the paper ({', '.join(known)}); found {stream}")
    return {}


def paper_values(
    stream: str, method: str, regularizers: Sequence[str], buffer_size: int | None
) -> tuple[dict[str, Any], str]:
    """Look up the paper's learning rate, hyper-parameters and CaSpeR settings for a run.

    Args:
        stream: The stream's name.
        method: The method's name.
        regularizers: The regularizers' names.
        buffer_size: The memory's size; None: the method keeps none.

    Returns:
        Values by dotted key (empty: the stream is not in the paper), and their origin.
    """
    lines = packaged("paper.yaml").get(stream)
    if lines is None:
        return {}, ""
    size: int | str = "no buffer" if buffer_size is None else _nearest(lines, buffer_size)
    written = method if method in lines[size] else "finetune" if buffer_size is None else "er-ace"
    kind = "casper" if {"casper", "forward-only"} & {*regularizers} and "casper" in lines[size][written] else "plain"
    origin = f"{lines.get('origin', 'paper')} {stream} {size} {written} {kind}"
    if written != method:
        origin = f"{origin}, for want of its own" if "origin" in lines else f"not published, lent by {origin}"
    if buffer_size not in (size, None):
        origin = f"{origin}, nearest buffer {size}"
    batch_size = packaged("protocols.yaml")["paper"][stream]["batch_size"]
    # Another method's line gives its rate and CaSpeR's settings; its own hyper-parameters mean nothing here.
    return {"batch_size": batch_size, **by_owner(written, lines[size][written][kind])}, origin


def by_owner(method: str, line: Mapping[str, Any]) -> dict[str, Any]:
    """Lay a line out by owner: `lr`, the method's own, `casper.*`; the control draws as many classes as CaSpeR."""
    own = {f"{method}.{key}": value for key, value in line.items() if key not in ("lr", "casper")}
    casper = {f"casper.{key}": value for key, value in line.get("casper", {}).items()}
    control = {"forward-only.num_classes": line["casper"]["num_classes"]} if "casper" in line else {}
    return {"lr": line["lr"], **own, **casper, **control}


def _nearest(lines: Mapping[Any, Any], buffer_size: int) -> int:
    """Find the nearest size that has lines; the smaller of two equally near."""
    return min((size for size in lines if isinstance(size, int)), key=lambda size: (abs(size - buffer_size), size))
