import datasets
import huggingface_hub
import numpy
import pytest

from casper.data import Hub, hub, load
from casper.errors import DataError
from image_files import picture


class NotFound(huggingface_hub.errors.RepositoryNotFoundError):
    def __init__(self):
        Exception.__init__(self, "404")


def dataset(number, offset=0):
    features = datasets.Features({"img": datasets.Image(), "label": datasets.ClassLabel(names=["cat", "dog"])})
    rows = {"img": [picture(offset + row) for row in range(number)], "label": [row % 2 for row in range(number)]}
    return datasets.Dataset.from_dict(rows, features=features)


@pytest.fixture
def online(monkeypatch):
    """A hub that answers, with one data set; what was asked of it is recorded."""
    asked = []

    def load_dataset(name, revision=None):
        asked.append((name, revision, datasets.config.HF_HUB_OFFLINE))
        return datasets.DatasetDict(
            {"train": dataset(6), "validation": dataset(4, 100), "unsupervised": dataset(2, 200)}
        )

    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", lambda self, name, **options: None)
    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    return asked


def unreachable(monkeypatch, error=None):
    def dataset_info(self, name, **options):
        assert options["timeout"] <= 10
        raise error or ConnectionError("no route to host\nand more")

    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", dataset_info)


def test_a_data_set_of_the_hub(online):
    data = load(Hub("owner/pets"))
    assert data.class_names == ("cat", "dog")
    assert (len(data.train), len(data.test)) == (6, 4)
    assert (data.test.images[1].permute(1, 2, 0).numpy() == numpy.asarray(picture(101))).all()
    assert data.about.startswith("owner/pets: 2 classes with 3 training and 2 test images each")
    assert online == [("owner/pets", None, False)]
    load(Hub("owner/pets"))
    assert len(online) == 1  # decoded images need no network


def test_a_revision_and_a_test_split_by_name(online):
    data = load(Hub("owner/pets@abc123", test="unsupervised"))
    assert (len(data.train), len(data.test)) == (6, 2)
    assert (data.test.images[1].permute(1, 2, 0).numpy() == numpy.asarray(picture(201))).all()
    assert online == [("owner/pets", "abc123", False)]


def test_a_test_split_that_is_not_there(online):
    with pytest.raises(DataError, match="owner/pets: no split 'hidden'; found train, validation, unsupervised"):
        Hub("owner/pets", test="hidden").read()


def test_rows_are_named(online):
    split = Hub("owner/pets").read().splits["validation"]
    assert split.place(3) == "owner/pets validation row 3"


def test_without_a_network_the_error_says_where_it_was_looked_for_and_how_to_get_it(monkeypatch):
    unreachable(monkeypatch)
    with pytest.raises(DataError) as caught:
        Hub("owner/absent", looked="--data-dir D has no absent").read()
    assert str(caught.value).splitlines() == [
        "owner/absent not found: --data-dir D has no absent; the hub cannot be reached (no route to host and more).",
        "Where there is a network: hf download owner/absent --type dataset --local-dir DATA/absent; "
        "then --data-dir DATA here.",
    ]


def test_without_a_network_the_cached_copy_is_used_offline(online, monkeypatch):
    unreachable(monkeypatch)
    assert len(Hub("owner/cached").read().splits["train"]) == 6
    assert online == [("owner/cached", None, True)]
    assert datasets.config.HF_HUB_OFFLINE is False
    assert huggingface_hub.constants.HF_HUB_OFFLINE is False


def test_without_a_network_the_revision_is_requested_too(online, monkeypatch):
    unreachable(monkeypatch)
    Hub("owner/cached@abc").read()
    assert online == [("owner/cached", "abc", True)]


def test_an_error_without_a_word_has_a_name(monkeypatch):
    unreachable(monkeypatch, TimeoutError())
    with pytest.raises(DataError, match=r"cannot be reached \(TimeoutError\)"):
        Hub("owner/absent").read()


def test_a_revision_that_is_not_there(online, monkeypatch):
    class NoRevision(huggingface_hub.errors.RevisionNotFoundError):
        def __init__(self):
            Exception.__init__(self, "404")

    unreachable(monkeypatch, NoRevision())
    with pytest.raises(DataError, match="owner/pets has no revision 'abc'"):
        Hub("owner/pets@abc").read()


def test_the_folder_that_the_remedy_names(monkeypatch):
    unreachable(monkeypatch)
    with pytest.raises(DataError, match="--local-dir DATA/its_folder;"):
        Hub("owner/its-name", folder="its_folder").read()


def test_a_data_set_that_the_hub_does_not_have(online, monkeypatch):
    unreachable(monkeypatch, NotFound())
    with pytest.raises(DataError, match="owner/none not found: the hub has no such data set, or you have no access"):
        Hub("owner/none").read()
    assert online == []


def test_a_data_set_that_cannot_be_loaded(online, monkeypatch):
    def broken(name, revision=None):
        raise RuntimeError("Dataset scripts are\nno longer supported")

    monkeypatch.setattr(datasets, "load_dataset", broken)
    with pytest.raises(DataError, match="owner/old cannot be loaded: Dataset scripts are no longer supported"):
        Hub("owner/old").read()


def test_the_fingerprint_depends_on_all_arguments():
    asked = [Hub("a/b"), Hub("a/c"), Hub("a/b@1"), Hub("a/b", image_column="x"), Hub("a/b", test="t")]
    assert len({source.fingerprint for source in asked}) == 5
    assert Hub("a/b", looked="here").fingerprint == Hub("a/b").fingerprint


def test_patience_is_short():
    assert hub._PATIENCE <= 10
