import math
import warnings

import pytest
import torch

from analysis.blobs import blobs
from casper.analysis import Spectrum, functional_map, map_between, off_diagonal_energy, off_diagonal_share, spectrum
from casper.errors import ParameterError


def cloud(seed=0, size=150):
    return torch.randn(size, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def test_the_same_features_give_the_identity():
    found = functional_map(cloud(), cloud(), 12)
    assert torch.allclose(found, torch.eye(12, dtype=torch.float64), atol=1e-10)
    assert off_diagonal_energy(found) == pytest.approx(0, abs=1e-9)
    assert off_diagonal_share(found) == pytest.approx(0, abs=1e-12)


def test_scale_and_motion_play_no_part():
    turned, _ = torch.linalg.qr(cloud(5, 4))
    moved = 100 * cloud() @ turned + 7
    assert torch.allclose(functional_map(cloud(), moved, 12), torch.eye(12, dtype=torch.float64), atol=1e-8)


def test_its_entries_are_products_of_eigenvectors():
    a, b = spectrum(cloud(0), 6), spectrum(cloud(1), 6)
    found = functional_map(cloud(0), cloud(1), 6)
    for i in range(6):
        for j in range(6):
            assert found[i, j] == pytest.approx(float((a.eigenvectors[:, i] * b.eigenvectors[:, j]).sum()), abs=1e-12)


def test_an_order_of_both_plays_no_part():
    order = torch.randperm(150, generator=torch.Generator().manual_seed(2))
    found, again = functional_map(cloud(0), cloud(1), 10), functional_map(cloud(0)[order], cloud(1)[order], 10)
    assert torch.allclose(found.abs(), again.abs(), atol=1e-8)


def test_more_distortion_has_more_energy():
    noise = cloud(9)
    energies = [off_diagonal_energy(functional_map(cloud(), cloud() + scale * noise, 12)) for scale in (0.0, 0.02, 0.5)]
    assert energies == sorted(energies)
    assert energies[1] > 0.05
    assert energies[2] > 3 * energies[1]


@pytest.mark.parametrize("angle", [0.0, 0.3, math.pi / 2, 4.0])
def test_the_energy_of_a_rotation(angle):
    turn = torch.tensor([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    assert off_diagonal_energy(turn) == pytest.approx(math.sqrt(2) * abs(math.sin(angle)), abs=1e-6)
    assert off_diagonal_share(turn) == pytest.approx(math.sin(angle) ** 2, abs=1e-6)


def test_a_flat_matrix():
    assert off_diagonal_energy(torch.ones(25, 25)) == pytest.approx(24)
    assert off_diagonal_share(torch.ones(25, 25)) == pytest.approx(1 - 1 / 25)


def test_a_graph_in_parts_is_mapped_with_one_warning():
    features, _ = blobs(3, 40)
    with pytest.warns(UserWarning, match="the graphs have 3 and 1 connected components") as caught:
        found = functional_map(features, cloud(size=120), 8)
    assert len(caught) == 1
    assert found.shape == (8, 8)


def test_a_connected_graph_is_mapped_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        functional_map(cloud(), cloud(1), 5)


def test_a_map_between_spectra_of_other_ranks_has_a_row_for_each_of_the_first():
    first, second = (Spectrum(torch.zeros(rank), torch.eye(9)[:, :rank], 1) for rank in (4, 2))
    assert map_between(first, second).shape == (4, 2)


def test_bad_input_is_named():
    with pytest.raises(ParameterError, match="`features_b` must be finite"):
        functional_map(cloud(), torch.full((150, 2), torch.nan))
    with pytest.raises(ParameterError, match=r"`rank` must be in \[1, 150\], .* but got 151"):
        functional_map(cloud(), cloud(), 151)
    assert off_diagonal_energy(torch.full((300, 300), 300.0).half()) == pytest.approx(299)
    assert off_diagonal_energy(torch.tensor([[0, 1], [1, 0]])) == pytest.approx(2**0.5)
    with pytest.raises(ParameterError, match=r"`features_b` must be of the same 150 items, but got 20 rows"):
        functional_map(cloud(), cloud(size=20))
    with pytest.raises(ParameterError, match=r"`matrix` must be square, but got shape \(2, 3\)"):
        off_diagonal_energy(torch.ones(2, 3))
    with pytest.raises(ParameterError, match="`matrix` must be finite and not all zero"):
        off_diagonal_share(torch.zeros(2, 2))
