"""The number of items that a memory of a given size holds."""

import math
from typing import TYPE_CHECKING, Any

from casper.config.build_part import build_part
from casper.config.errors import ConfigError, explained
from casper.config.options import RunConfig
from casper.config.registry import Find
from casper.config.stream_options import stream_arguments
from casper.errors import ParameterError

if TYPE_CHECKING:
    from casper.methods import Method

_LABEL = 8  # bytes
_MOST_ITEMS = 2**31 - 1
_KNOWN: dict[str, int] = {}  # bytes per item, by what they depend on: a sweep has many runs of one stream


def items_within(size: str, config: RunConfig, data_dir: str | None, find: Find) -> tuple[int, str]:
    """Convert a size such as `64MB` (10⁶ bytes) to a number of items: images or feature vectors, labels and columns.

    Args:
        size: The size.
        config: The configuration of the run with another buffer size.
        data_dir: The directory to search for data sets first.
        find: Looks up the class or function behind a name.

    Returns:
        The number of items, and a note for the user; 1 and no note if the method has no memory.

    Raises:
        ConfigError: If the text is not a size, or no item fits into it.
        DataError: If the stream's images are not available.
    """
    from casper.data.limits import parse_size

    try:
        limit = parse_size(size, "buffer_size")
    except ParameterError as error:
        raise ConfigError(
            f"--buffer-size must be a number of items or {error.requirement}, but got {size!r}"
        ) from error
    method: Any = find("method", config.options.method)
    if not method.keeps_memory:
        return 1, ""
    options = config.options
    described = options.model_dump(include={"stream", "method", "tasks", "image_size", "trunk"})
    key = repr((described, config.hyper.get(options.stream), config.hyper.get("trunk"), data_dir))
    each = _KNOWN[key] = _KNOWN.get(key) or _bytes_per_item(config, method, data_dir, find)
    if limit // each > _MOST_ITEMS:
        raise ConfigError(f"--buffer-size must be at most {_MOST_ITEMS:,} items, but {size} holds {limit // each:,}")
    if limit < each:
        raise ConfigError(f"--buffer-size must be at least {each} bytes, the size of an item, but got {size}")
    return limit // each, f"--buffer-size {size}: {limit // each:,} items of {each:,} bytes"


def _bytes_per_item(config: RunConfig, method: type["Method"], data_dir: str | None, find: Find) -> int:
    from casper.nets import check_trunk

    options = config.options
    stream = build_part(config, "stream", options.stream, stream_arguments(options, data_dir, find), find)
    item = math.prod(stream.item_shape) * stream.item_type.itemsize
    if options.trunk is not None:
        trunk = build_part(config, "trunk", options.trunk, find=find)
        try:
            check_trunk(trunk)
        except ParameterError as error:
            raise explained(error) from error
        item = 2 * trunk.views * trunk.dim  # float16
    entries = {True: stream.num_classes, False: 1}
    columns = method.memory_columns.values()
    return int(item + _LABEL + sum(column.dtype.itemsize * entries[column.per_class] for column in columns))
