"""What tells runs apart that share stream, method, regularizers and seed, and so all of their name but the hash."""

from collections.abc import Sequence

from casper.config import RunConfig, flattened
from casper.reporting.variants import settings_text


def telling_apart(configs: Sequence[RunConfig]) -> dict[str, str]:
    """Write by each run's name in which options it differs from those of nearly the same name.

    Where options differ, hyper-parameters that came with them go without saying: with another memory, other ones are
    published. Empty: no other run has nearly the same name.
    """
    alike: dict[str, list[RunConfig]] = {}
    for config in configs:
        alike.setdefault(config.name.rpartition("-")[0], []).append(config)
    texts = {}
    for group in alike.values():
        settings = [flattened(config.as_dict()) for config in group]
        keys = sorted({key for each in settings for key in each})
        differing = [key for key in keys if len({str(each.get(key)) for each in settings}) > 1]
        shown = [key for key in differing if "." not in key] or differing
        for config, each in zip(group, settings, strict=True):
            texts[config.name] = settings_text({key: each.get(key) for key in shown})
    return texts
