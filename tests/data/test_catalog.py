import pytest

from casper.data import CIFAR10, CIFAR100, MINI_IMAGENET, MNIST, Hub, ParquetFolder, find, find_on_hub
from casper.errors import DataError
from image_files import write_set

NO_COLUMNS = {"image_column": None, "label_column": None, "test": None}


def test_the_data_directory_comes_first_then_the_variable_then_the_hub(tmp_path, monkeypatch):
    write_set(tmp_path / "one" / "cifar10", 2, image="img")
    write_set(tmp_path / "two" / "cifar10", 3, image="img")
    write_set(tmp_path / "two" / "mnist", 3)
    monkeypatch.setenv("CASPER_DATA", str(tmp_path / "two"))
    assert find(CIFAR10, str(tmp_path / "one")).title == str(tmp_path / "one" / "cifar10")
    assert find(CIFAR10, None).title == str(tmp_path / "two" / "cifar10")
    assert find(MNIST, str(tmp_path / "one")).title == str(tmp_path / "two" / "mnist")
    found = find(CIFAR100, str(tmp_path / "one"))
    assert isinstance(found, Hub)
    assert found.title == "uoft-cs/cifar100"


def test_known_columns_are_used(tmp_path):
    more = {"label": [9] * 6}  # which would be taken, if the column were not known
    write_set(tmp_path / "cifar100", 3, (2, 2), image="img", label="fine_label", more=more, metadata=False)
    source = find(CIFAR100, str(tmp_path))
    assert isinstance(source, ParquetFolder)
    assert list(source.read().splits["train"].labels[:4]) == [0, 1, 2, 0]


def test_mini_imagenet_is_tested_on_the_same_split_wherever_it_is_found(tmp_path):
    write_set(tmp_path / "mini_imagenet", 3)
    assert find(MINI_IMAGENET, str(tmp_path)).read().test is None
    write_set(tmp_path / "other", 3)
    (tmp_path / "other" / "test.parquet").rename(tmp_path / "mini_imagenet" / "validation-00000-of-00001.parquet")
    assert find(MINI_IMAGENET, str(tmp_path)).read().test == "validation"


def test_any_name_of_the_hub_is_looked_for_locally_too(tmp_path):
    assert isinstance(find_on_hub("owner/pets", str(tmp_path), **NO_COLUMNS), Hub)
    write_set(tmp_path / "pets", 2)
    assert find_on_hub("owner/pets", str(tmp_path), **NO_COLUMNS).title == str(tmp_path / "pets")
    write_set(tmp_path / "owner" / "pets", 2)
    assert find_on_hub("owner/pets", str(tmp_path), **NO_COLUMNS).title == str(tmp_path / "owner" / "pets")
    assert isinstance(find_on_hub("owner/pets@refs/pr/1", str(tmp_path), **NO_COLUMNS), Hub)


@pytest.mark.parametrize("name", ["pets", "a/b/c", "", "a b/c", "a/b'c"])
def test_an_invalid_name_is_rejected(name):
    with pytest.raises(DataError, match="must be OWNER/NAME"):
        find_on_hub(name, None, **NO_COLUMNS)


def test_where_it_was_looked_for_is_remembered(tmp_path, monkeypatch):
    monkeypatch.setattr("casper.data.hub._PATIENCE", 0.01)
    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", _no_network)
    with pytest.raises(DataError) as caught:
        find(CIFAR10, str(tmp_path)).read()
    first = str(caught.value).splitlines()[0]
    assert f"--data-dir {tmp_path} has no cifar10/train.parquet and test.parquet; CASPER_DATA not set; the hub" in first


def test_a_directory_too_deep_is_reported(tmp_path, monkeypatch):
    write_set(tmp_path / "cifar10", 2)
    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", _no_network)
    with pytest.raises(DataError, match=r"use its parent directory\?"):
        find(CIFAR10, str(tmp_path / "cifar10")).read()


def test_the_remedy_names_the_folder_that_is_looked_for(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", _no_network)
    with pytest.raises(DataError, match="timm/mini-imagenet --type dataset --local-dir DATA/mini_imagenet;"):
        find(MINI_IMAGENET, str(tmp_path)).read()


def test_mini_imagenet_on_the_hub_is_tested_on_its_100_images_a_class():
    assert (MINI_IMAGENET.test, MINI_IMAGENET.few_shot) == ("validation", True)


def _no_network(self, name, **options):
    raise ConnectionError("down")
