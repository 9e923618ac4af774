"""Notes for the reader of a report."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from casper.config import flattened, resolve_config
from casper.config.presets import Protocol
from casper.formatting import counted
from casper.paper.tables import settings_of
from casper.reports.runs import UNKNOWN_DIGESTS, FinishedRun
from casper.reports.variants import Variant, base_of, written
from casper.runs.code_version import is_one_version, same_computation
from casper.runs.user_code import UNKNOWN

Item = TypeVar("Item")


def notes_of_all(runs: Sequence[FinishedRun], unfinished: Sequence[str], doubled: Sequence[str] = ()) -> Iterable[str]:
    """Explain the values, and list the versions of the code and the missing runs."""
    yield legend()
    yield _versions_note(runs)
    yield from _user_code_notes(runs)
    threads = sorted({run.metrics["threads"] for run in runs if isinstance(run.metrics.get("threads"), int)})
    if len(threads) > 1:
        numbers = ", ".join(map(str, threads))
        yield f"These runs used different numbers of threads ({numbers}), which give slightly different results."
    if unfinished:
        yield f"Not included because unfinished: {counted(len(unfinished), 'run')}."
    if doubled:
        yield f"Left out, because another run has the same settings and seed: {', '.join(doubled)}."


def legend(gain: str = "gain", *, verdicts: bool = True, forgetting: bool = True, recalibrated: bool = True) -> str:
    """Explain the values of a table; by default everything that any table of a report has.

    Args:
        gain: The name of the difference to the plain method; empty if the table has none.
        verdicts: Whether differences have signs of significance.
        forgetting: Whether the table has adjusted forgetting.
        recalibrated: Whether the evaluation is the recalibrated one.
    """
    parts = ["Mean ± sample standard deviation over seeds (number of seeds)."]
    if gain:
        signs = (
            ": ▲ above zero, ▼ below, ○ not distinguishable from zero, ? one seed, or equal differences in all seeds; "
            "one in twenty such intervals misses by chance"
        )
        pairs = f"{gain.capitalize()}: over the plain method, paired by seed, with its 95 % interval (Student's t)"
        parts.append(f"{pairs}{signs if verdicts else ''}.")
    if forgetting:
        parts.append("F*: adjusted forgetting.")
    if recalibrated:
        parts.append("Recalibrated: evaluated with BatchNorm statistics recomputed from the memory.")
    return " ".join(parts)


def _versions_note(runs: Sequence[FinishedRun]) -> str:
    """List the versions of casper behind the runs; digests that give the same results are one version."""
    codes = [run.code for run in runs]
    versions = _distinct(sorted({*codes}), same_computation)
    of = "casper" if any(run.user_code for run in runs) else "the code"
    counts = {code: f"{code} ({counted(codes.count(code), 'run')})" for code in codes} if len({*codes}) > 1 else {}
    text = ", ".join(" = ".join(counts.get(code, code) for code in version) for version in versions)
    if " = " in text:
        text += ", where = means bit-identical results"
    if len(versions) > 1:
        return f"These runs come from {len(versions)} versions of {of}: {text}."
    one = f"all from one version of {of}" if is_one_version(codes[0]) else f"resumed with another version of {of}"
    return f"{counted(len(codes), 'run')}, {one}: {text}."


def _user_code_notes(runs: Sequence[FinishedRun]) -> Iterable[str]:
    """List the versions of each class of the user."""
    found: dict[str, list[str]] = {}
    for run in runs:
        for part, entry in run.user_code.items():
            found.setdefault(part, []).append(entry["digest"])
    for part, digests in sorted(found.items()):
        counts = [f"{digest} ({counted(digests.count(digest), 'run')})" for digest in sorted({*digests})]
        known = {digest for each in digests for digest in each.split(", ")}
        several = f"{len(known)} versions" if len(known) > 1 else "one version"
        if known & UNKNOWN_DIGESTS:
            several = "an unknown number of versions"
        yield f"{part}, {several}: {'; '.join(counts)}."


def mixed_versions(values: Mapping[Variant, Mapping[int, FinishedRun]]) -> Iterable[str]:
    """Report the cells whose seeds, and the gains whose two sides, were computed by different versions of the code."""
    yield from mixed_seeds(values)
    gains = []
    for variant, by_seed in values.items():
        base = base_of(variant, values)
        plain = {} if base is None else values[base]
        if not all(_same_base(by_seed[seed], plain[seed]) for seed in by_seed.keys() & plain.keys()):
            gains.append(_name(variant))
    if gains:
        yield f"The plain method was computed by another version of the code in the gain of {', '.join(gains)}."


def mixed_seeds(values: Mapping[Variant, Mapping[int, FinishedRun]]) -> Iterable[str]:
    """Report the variants whose seeds were computed by different versions of the code."""
    for variant, by_seed in values.items():
        runs = sorted(by_seed.values(), key=lambda run: (run.version, run.layout["seed"]))
        several = _distinct(runs, _same_code)
        if len(several) > 1:
            each = [
                f"{' = '.join(dict.fromkeys(run.version for run in same))} "
                f"(seed {', '.join(str(run.layout['seed']) for run in same)})"
                for same in several
            ]
            yield f"{_name(variant)}: the mean is over {len(several)} versions of the code: {'; '.join(each)}."
        elif not is_one_version(runs[0].code) or any("," in entry["digest"] for entry in runs[0].user_code.values()):
            yield f"{_name(variant)}: its runs were resumed with another version of the code: {runs[0].version}."
        elif len(runs) > 1 and any(entry["digest"] in UNKNOWN_DIGESTS for entry in runs[0].user_code.values()):
            yield f"{_name(variant)}: the mean may be over several versions of the code, which is {runs[0].version}."


def _name(variant: Variant) -> str:
    name = " + ".join(filter(None, [variant.method, variant.regularizers]))
    return name + (f" (buffer {variant.buffer_size})" if variant.buffer_size else "")


def mixed_analyses(values: Mapping[Variant, Mapping[int, FinishedRun]]) -> Iterable[str]:
    """Report analyses that were computed by different versions of the code, whichever version executed the runs."""
    codes = [str((run.analysis or {}).get("code", UNKNOWN)) for by_seed in values.values() for run in by_seed.values()]
    several = _distinct(sorted({*codes}), same_computation)
    if len(several) > 1:
        each = [f"{' = '.join(same)} ({counted(sum(map(codes.count, same)), 'run')})" for same in several]
        yield f"The analyses come from {len(several)} versions of the code: {'; '.join(each)}."


def _same_code(one: FinishedRun, other: FinishedRun) -> bool:
    return same_computation(one.code, other.code) and one.user_code == other.user_code


def _same_base(run: FinishedRun, plain: FinishedRun) -> bool:
    """Return whether a run and that of the plain method were computed by the same code, except for regularizers."""
    return same_computation(run.code, plain.code) and all(
        run.user_code.get(part, entry)["digest"] == entry["digest"] for part, entry in plain.user_code.items()
    )


def _distinct(items: Iterable[Item], same: Callable[[Item, Item], bool]) -> list[list[Item]]:
    """Group items that are the same, such as versions of the code that give the same results."""
    groups: list[list[Item]] = []
    for item in items:
        found = next((group for group in groups if same(group[0], item)), None)
        if found is None:
            groups.append([item])
        else:
            found.append(item)
    return groups


def other_differences(values: Mapping[Variant, Mapping[int, FinishedRun]]) -> Iterable[str]:
    """Report where a variant and the plain method differ in more than the regularizer."""
    for variant, by_seed in values.items():
        base = base_of(variant, values)
        if base is None:
            continue
        if not by_seed.keys() & values[base].keys():
            name = f"{variant.method} + {variant.regularizers}"
            yield f"{name} and the plain method have no seed in common, so there is no gain."
        run = next(iter(by_seed.values()))
        theirs, plain = (_comparable(each, run) for each in (run, next(iter(values[base].values()))))
        if keys := sorted(key for key in theirs.keys() | plain.keys() if theirs.get(key) != plain.get(key)):
            name = f"{variant.method} + {variant.regularizers}"
            yield f"{name} differs from the plain method in {', '.join(keys)} as well."


def _comparable(run: FinishedRun, regularized: FinishedRun) -> dict[str, Any]:
    owners = tuple(f"{name}." for name in regularized.layout["regularizer"])
    skipped = ("seed", "regularizer", "recalibrate")
    return {
        key: value for key, value in flattened(run.layout).items() if key not in skipped and not key.startswith(owners)
    }


def protocol_notes(variant: Variant, printed: bool) -> Iterable[str]:
    """Explain the paper's values next to runs that do not follow its protocol."""
    if not printed or variant.protocol is None:
        return
    given = {"stream": variant.stream, "method": "er-ace", "regularizer": "none"}
    settings = next(each for each in settings_of(variant.stream) if written(each[variant.protocol]) == variant.settings)
    if (variant.protocol, variant.stream) == ("pretrained", "split-mini-imagenet"):
        yield "The trunk was trained with labels of these classes: these are no accuracies of continual learning."
    if variant.protocol == "paper":
        if _of_protocol("desk", given, settings) == _of_protocol("paper", given, settings):
            yield "On this stream the desk protocol equals the paper's."
        return
    ours, theirs = (_of_protocol(name, given, settings) for name in (variant.protocol, "paper"))
    if ours == theirs:
        yield f"On this stream the {variant.protocol} protocol equals the paper's."
        return
    other = [
        f"{key} {_short(key, ours[key])} instead of {_short(key, theirs.get(key))}"
        for key in ours
        if ours[key] != theirs.get(key) and key.partition(".")[0] in theirs
    ]
    yield f"These are not the paper's experiments: {', '.join(other)}. Its values are included for orientation."


def _of_protocol(name: Protocol, given: Mapping[str, Any], settings: Mapping[Protocol, Mapping[str, Any]]) -> Any:
    return flattened(resolve_config({**given, **settings[name], "protocol": name}).as_dict())


def _short(key: str, value: object) -> str:
    return ("the original" if key == "image_size" else "none") if value is None else str(value)
