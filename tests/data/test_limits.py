import pytest

from casper.data.limits import check_decoded_size, parse_size
from casper.errors import DataError, ParameterError


@pytest.mark.parametrize(
    ("text", "size"), [("0B", 0), ("500MB", 5 * 10**8), ("4gb", 4 * 10**9), ("1.5KB", 1500), ("20TB", 2 * 10**13)]
)
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "4", "GB", "-1GB", "4 GB", "4GiB", "1e3MB", "\u0664GB", "9" * 400 + "B", "nanGB"])
def test_other_text_is_no_size(text):
    with pytest.raises(ParameterError, match="`max_decoded_size` must be a size such as 500MB or 4GB"):
        parse_size(text)


def test_the_limit_is_four_gigabytes_or_the_variable(monkeypatch):
    monkeypatch.delenv("CASPER_MAX_DECODED_SIZE", raising=False)
    check_decoded_size(4 * 10**9, "a.npz")
    with pytest.raises(DataError, match=r"^a.npz: 4.001 GB when decoded, more than 4GB; .* larger --max-decoded-size"):
        check_decoded_size(4_001_000_000, "a.npz")
    monkeypatch.setenv("CASPER_MAX_DECODED_SIZE", "1KB")
    with pytest.raises(DataError, match=r"^a.npz: 2 KB when decoded, more than 1KB"):
        check_decoded_size(2000, "a.npz")
    with pytest.raises(DataError, match="over a million TB"):
        check_decoded_size(10**5000, "a.npz")
    monkeypatch.setenv("CASPER_MAX_DECODED_SIZE", "much")
    with pytest.raises(
        DataError, match=r"^CASPER_MAX_DECODED_SIZE must be a size such as 500MB or 4GB, but got 'much'$"
    ):
        check_decoded_size(0, "a.npz")
