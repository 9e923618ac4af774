"""Data sets of the Hugging Face hub, the source of `hub:OWNER/NAME`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from casper.data.cache import of_values
from casper.data.dataset import TEST_NAMES, RawSet, Source, Split
from casper.data.parquet import choose_columns, class_names, table_split
from casper.errors import DataError

# The seconds to wait for the first response. Without a network the error is immediate; a slow network has a chance.
_PATIENCE = 10.0


class Hub(Source):
    """An image-classification data set of the hub, downloaded once by `datasets`.

    Example:
        >>> from casper.data import Hub
        >>> source = Hub("ylecun/mnist")
        >>> source.title
        'ylecun/mnist'
    """

    def __init__(
        self,
        name: str,
        *,
        image_column: str | None = None,
        label_column: str | None = None,
        test: str | None = None,
        folder: str | None = None,
        looked: str = "",
    ) -> None:
        """Describe a data set; the network is not used yet.

        Args:
            name: `OWNER/NAME`, or `OWNER/NAME@REVISION` for a fixed revision.
            image_column: See `choose_columns`.
            label_column: See `choose_columns`.
            test: The name of the test split, if it is not `test`.
            folder: The name of its folder in a data directory. Default: the last part of its name.
            looked: A description of the places searched before, for the error message.
        """
        self.title = name
        self._name, _, self._revision = name.partition("@")
        self._columns = {"image_column": image_column, "label_column": label_column}
        self._test = test
        self._folder = folder or self._name.rpartition("/")[2]
        self._looked = looked
        self.fingerprint = of_values("hub", name, image_column, label_column, test)

    def read(self) -> RawSet:
        """Download the data set, or load it from the cache of `datasets`."""
        loaded = self._load()
        if self._test is not None and self._test not in loaded:
            raise DataError(f"{self._name}: no split {self._test!r}; found {', '.join(loaded)}")
        usual = {"train", *TEST_NAMES, self._test}
        chosen = [name for name in loaded if name in usual] or list(loaded)
        splits: dict[str, Split] = {}
        names: Sequence[str] = ()
        for split in chosen:
            data = loaded[split]

            def place(row: int, split: str = split) -> str:
                return f"{self._name} {split} row {row}"

            where = f"{self._name} {split}"
            images, labels = choose_columns(data.data.schema, data.features, where, **self._columns)
            splits[split] = table_split(data.data.table, images, labels, place, _cache_folders())
            names = class_names(data.features, labels)
        return RawSet(splits, names, self._test)

    def _load(self) -> Any:
        import datasets
        import huggingface_hub

        revision = self._revision or None
        try:
            huggingface_hub.HfApi().dataset_info(self._name, revision=revision, timeout=_PATIENCE)
        except huggingface_hub.errors.RepositoryNotFoundError as error:
            raise self._not_found("has no such data set, or you have no access (`hf auth login`)") from error
        except huggingface_hub.errors.RevisionNotFoundError as error:
            raise DataError(f"hub: {self._name} has no revision {self._revision!r}") from error
        except Exception as error:  # no network, a proxy, a time-out: each library has its errors
            try:
                with _offline():
                    return datasets.load_dataset(self._name, revision=revision)
            except Exception:
                reason = " ".join(str(error).split())[:200] or type(error).__name__
                raise self._not_found(f"cannot be reached ({reason})") from error
        try:
            return datasets.load_dataset(self._name, revision=revision)
        except Exception as error:  # a script, a broken file, a full disk: report it in one line
            raise DataError(f"hub: {self._name} cannot be loaded: {' '.join(str(error).split())[:300]}") from error

    def _not_found(self, reason: str) -> DataError:
        looked = f"{self._looked}; " if self._looked else ""
        return DataError(
            f"{self._name} not found: {looked}the hub {reason}.\n"
            f"Where there is a network: hf download {self._name} --type dataset --local-dir DATA/{self._folder}; "
            "then --data-dir DATA here."
        )


def _cache_folders() -> list[Path]:
    """Return the folders where both libraries store downloaded and extracted files."""
    import datasets.config
    import huggingface_hub.constants

    folders = (datasets.config.HF_DATASETS_CACHE, datasets.config.EXTRACTED_DATASETS_PATH)
    return [Path(folder) for folder in (*folders, huggingface_hub.constants.HF_HUB_CACHE)]


@contextmanager
def _offline() -> Iterator[None]:
    """Switch both libraries to offline mode; otherwise they retry for half a minute."""
    import datasets.config
    import huggingface_hub.constants

    places: tuple[Any, ...] = (datasets.config, huggingface_hub.constants)
    before = [place.HF_HUB_OFFLINE for place in places]
    for place in places:
        place.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        for place, value in zip(places, before, strict=True):
            place.HF_HUB_OFFLINE = value
