import os
import signal

# Before torch is imported anywhere, and for the processes that tests start: two workers on two cores, one thread each.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

import pytest
import torch

torch.set_num_threads(1)
# A shell that starts the tests in the background has Ctrl-C ignored; here it means what it means to a user.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # where `nohup` has it ignored


def pytest_collection_modifyitems(items):
    """Begin with what takes a minute by itself, so that no worker is left alone with it at the end."""
    items.sort(key=lambda item: "kills" not in item.nodeid)


@pytest.fixture(autouse=True, scope="session")
def cache_of_its_own(tmp_path_factory):
    """Decoded images of the tests go into a directory of their own; no test looks at the user's."""
    os.environ["CASPER_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    os.environ.pop("CASPER_DATA", None)
    os.environ.pop("CASPER_MAX_DECODED_SIZE", None)


@pytest.fixture(autouse=True)
def one_thread():
    """Whatever a test asks for, the next one starts with one."""
    yield
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory):
    """A data directory with small sets in the true layouts."""
    from image_files import make_data_directory  # here: it imports `datasets`, and few tests need it

    return make_data_directory(tmp_path_factory.mktemp("data"))
