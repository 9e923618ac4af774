import pytest
import torch

from analysis.blobs import blobs
from casper.analysis import Spectrum, spectrum
from casper.errors import ParameterError


def test_four_separate_groups():
    features, _ = blobs(4, 30)
    found = spectrum(features, count=8, num_neighbors=5)
    assert found.num_components == 4
    assert found.eigenvalues[:4].tolist() == [0.0] * 4
    assert found.widest_gap_at == 4
    assert found.gap(4) == float(found.eigenvalues[4]) > 0.01
    assert found.eigenvectors.shape == (120, 8)


def test_a_square_has_the_spectrum_of_a_cycle():
    corners = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    found = spectrum(corners, count=4, num_neighbors=2)
    assert found.eigenvalues.tolist() == pytest.approx([0.0, 1.0, 1.0, 2.0])
    assert (found.num_components, found.widest_gap_at) == (1, 1)


def test_gaps_are_counted_from_one():
    made = Spectrum(torch.tensor([0.0, 0.1, 0.5, 0.6]).double(), torch.zeros(4, 4), 1)
    assert [made.gap(place) for place in (1, 2, 3)] == pytest.approx([0.1, 0.4, 0.1])
    assert made.widest_gap_at == 2
    for place in (0, 4):
        with pytest.raises(ParameterError, match=rf"`place` should be in 1..3. Found {place}"):
            made.gap(place)


def test_one_eigenvalue_has_no_gap():
    with pytest.raises(ParameterError, match=r"`count` should be at least 2, for a gap. Found 1"):
        _ = spectrum(blobs(1, 20)[0], count=1, num_neighbors=3).widest_gap_at


def test_numbers_are_of_the_order_of_points_no_more():
    generator = torch.Generator().manual_seed(3)
    features = torch.randn(60, 4, dtype=torch.float64, generator=generator)
    order = torch.randperm(60, generator=generator)
    first, second = spectrum(features, 10, 5), spectrum(5 * features[order] - 1, 10, 5)
    assert second.eigenvalues.tolist() == pytest.approx(first.eigenvalues.tolist(), abs=1e-12)


@pytest.mark.parametrize("count", [0, 21])
def test_a_count_that_is_not_there_is_named(count):
    with pytest.raises(ParameterError, match=rf"`count` should be in 1..20.* Found {count}"):
        spectrum(blobs(1, 20)[0], count=count)
