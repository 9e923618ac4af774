"""What a run's latent space was found to be, on disk: numbers as text, the pictures' points as arrays beside them."""

import io
import json
import zlib
from collections.abc import Mapping
from copy import deepcopy
from typing import Any
from zipfile import BadZipFile

import numpy as np

from casper.config.errors import ConfigError
from casper.experiments.run_directory import RunDirectory, read_mapping
from casper.files import write_whole

_ARRAYS = ("points", "labels")


def write_analysis(directory: RunDirectory, analysis: Mapping[str, Any]) -> None:
    """Write `analysis.json`, and `embedding.npz` with the points of its embeddings."""
    content, arrays = deepcopy(dict(analysis)), {}
    for end in content["task_ends"]:
        for name in _ARRAYS if "embedding" in end else ():
            arrays[f"{name}_{end['tasks_learnt']:02d}"] = np.array(end["embedding"].pop(name))
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    write_whole(directory.embedding, buffer.getvalue())
    write_whole(directory.analysis, (json.dumps(content) + "\n").encode())


def read_analysis(directory: RunDirectory) -> dict[str, Any] | None:
    """Read it back; None: nobody asked. Embeddings have their points where these lie beside it.

    Raises:
        ConfigError: If a file cannot be read.
    """
    if not directory.analysis.exists():
        return None
    content = read_mapping(directory.analysis)
    ends: Any = content.get("task_ends")
    maps: Any = content.get("functional_maps", [])
    listed = all(isinstance(found, list) and all(isinstance(each, dict) for each in found) for found in (ends, maps))
    if not listed or not all(isinstance(end.get("tasks_learnt"), int) for end in ends):
        raise ConfigError(f"{directory.analysis} should hold the analysis of a run; it does not")
    if directory.embedding.exists():
        try:
            with np.load(directory.embedding, allow_pickle=False) as arrays:
                for end in ends:
                    if f"points_{end['tasks_learnt']:02d}" in arrays:
                        points = {name: arrays[f"{name}_{end['tasks_learnt']:02d}"].tolist() for name in _ARRAYS}
                        end["embedding"] = {**end.get("embedding", {}), **points}
        except (OSError, EOFError, LookupError, TypeError, ValueError, BadZipFile, zlib.error) as error:
            raise ConfigError(f"{directory.embedding} should hold the points of embeddings; it does not") from error
    return content
