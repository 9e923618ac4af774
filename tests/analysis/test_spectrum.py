import importlib

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from analysis.blobs import blobs
from casper.analysis import Spectrum, latent_graph, lowest_eigenpairs, spectrum
from casper.errors import ParameterError

# The package exports a function of the same name.
spectrum_module = importlib.import_module("casper.analysis.spectrum")


def dense_values(graph, count):
    adjacency = graph.toarray()
    scale = adjacency.sum(axis=1) ** -0.5
    return np.linalg.eigvalsh(np.eye(len(adjacency)) - scale[:, None] * adjacency * scale)[:count]


def check(graph, count, num_components):
    """Compare with a dense decomposition: values, and that the vectors are theirs and orthonormal."""
    values, vectors, components = lowest_eigenpairs(graph, count)
    assert components == num_components
    assert values == pytest.approx(dense_values(graph, count), abs=1e-10)
    assert np.abs(vectors.T @ vectors - np.eye(count)).max() < 1e-10
    scale = graph.sum(axis=1) ** -0.5
    laplacian = np.eye(graph.shape[0]) - scale[:, None] * graph.toarray() * scale
    assert np.abs(laplacian @ vectors - vectors * values).max() < 1e-10
    return values


def hypercube(dim):
    """Make a graph with the eigenvalues 2 j / dim, each (dim over j) times."""
    nodes = np.arange(2**dim)
    ends = (nodes[:, None] ^ (1 << np.arange(dim))).ravel()
    return csr_array((np.ones(len(ends)), (nodes.repeat(dim), ends)), shape=(len(nodes),) * 2)


@pytest.fixture(params=["dense", "iterated"])
def either(request, monkeypatch):
    """Have components decomposed whole, or iterated for."""
    monkeypatch.setattr(spectrum_module, "_DENSE", 10_000 if request.param == "dense" else 1)


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize(("groups", "size"), [(1, 600), (2, 300), (50, 52)])
def test_as_many_components_as_groups_and_the_same_as_a_dense_decomposition(groups, size):
    features, _ = blobs(groups, size)
    values = check(latent_graph(features, 8), groups + 15, groups)
    assert (values[:groups] == 0).all()
    assert values[groups] > 1e-3


@pytest.mark.usefixtures("either")
def test_components_that_are_alike_repeat_every_eigenvalue():
    features, _ = blobs(1, 200)
    far = [features + 1e3 * place for place in range(6)]
    values = check(latent_graph(torch.cat(far), 6), 30, 6)
    assert values.reshape(5, 6) == pytest.approx(values.reshape(5, 6)[:, :1].repeat(6, axis=1), abs=1e-10)


@pytest.mark.usefixtures("either")
def test_a_connected_graph_with_repeated_eigenvalues():
    values = check(hypercube(9), 30, 1)
    assert values * 9 / 2 == pytest.approx([0] + [1] * 9 + [2] * 20, abs=1e-9)


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("seed", range(3))
def test_random_graphs(seed):
    features = torch.randn(400, 3, generator=torch.Generator().manual_seed(seed))
    graph = latent_graph(features, 4)
    check(graph, 20, lowest_eigenpairs(graph, 1)[2])


def test_an_iteration_that_misses_a_repeated_value_runs_again(monkeypatch):
    """As Lanczos does in exact arithmetic: of every eigenspace, one vector."""
    import scipy.sparse.linalg

    monkeypatch.setattr(spectrum_module, "_DENSE", 1)
    asked = []

    def one_of_each(operator, number, which, v0, ncv):
        del which, ncv
        asked.append(number)
        values, vectors = np.linalg.eigh(operator @ np.eye(operator.shape[0]))
        groups = [np.abs(values - value) < 1e-7 for value in np.unique(values.round(8))[-number:]]
        seen = np.stack([vectors[:, group] @ (vectors[:, group].T @ v0) for group in groups], axis=1)
        return np.array([values[group].mean() for group in groups]), seen / np.linalg.norm(seen, axis=0)

    monkeypatch.setattr(scipy.sparse.linalg, "eigsh", one_of_each)
    values = check(hypercube(7), 12, 1)
    assert values * 7 / 2 == pytest.approx([0] + [1] * 7 + [2] * 4, abs=1e-7)
    assert asked[0] == 11
    assert set(asked[1:]) == {1}


def test_fewer_pairs_than_components():
    features, _ = blobs(5, 20)
    values, vectors, components = lowest_eigenpairs(latent_graph(features, 3), 3)
    assert (values.tolist(), components) == ([0.0] * 3, 5)
    assert [set(np.flatnonzero(vector)) for vector in vectors.T] == [set(range(20 * g, 20 * g + 20)) for g in range(3)]


def test_the_largest_component_comes_first():
    features = torch.cat([blobs(1, 20)[0], blobs(1, 50)[0] + 1e3])
    _, vectors, _ = lowest_eigenpairs(latent_graph(features, 4), 2)
    assert np.flatnonzero(vectors[:, 0]).tolist() == list(range(20, 70))


def test_signs_are_fixed_and_the_result_is_the_same_every_time():
    graph = latent_graph(torch.randn(900, 3, generator=torch.Generator().manual_seed(0)), 6)
    values, vectors, _ = lowest_eigenpairs(graph, 9)
    assert all(vector[np.abs(vector).argmax()] > 0 for vector in vectors.T)
    again = lowest_eigenpairs(graph, 9)
    assert (values == again[0]).all()
    assert (vectors == again[1]).all()


def of_two_nodes(*rows):
    return csr_array(np.array(rows, dtype=float))


@pytest.mark.parametrize(
    ("graph", "count", "message"),
    [
        (of_two_nodes([0, 1], [1, 0]), 0, r"`count` must be in \[1, 2\], at most one for each node, but got 0"),
        (of_two_nodes([0, 1], [1, 0]), 3, r"`count` must be in \[1, 2\], at most one for each node, but got 3"),
        (np.eye(2), 1, r"`graph` must be a scipy.sparse.csr_array, square.* but got ndarray of shape \(2, 2\)"),
        (of_two_nodes([0, 1, 0], [1, 0, 0]), 1, "square"),
        (of_two_nodes([0, 1], [2, 0]), 1, "`graph` must be symmetric"),
        (of_two_nodes([0, np.nan], [np.nan, 0]), 1, "`graph` must be a matrix of finite, non-negative weights"),
        (of_two_nodes([0, -1], [-1, 0]), 1, "finite, non-negative weights, but got a negative or non-finite weight"),
        (of_two_nodes([0, 1, 0], [1, 0, 0], [0, 0, 0]), 1, "every node has an edge, but got 1 isolated nodes"),
    ],
)
def test_bad_input_is_named(graph, count, message):
    with pytest.raises(ParameterError, match=message):
        lowest_eigenpairs(graph, count)


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
        with pytest.raises(ParameterError, match=rf"`place` must be in \[1, 3\], but got {place}"):
            made.gap(place)


def test_one_eigenvalue_has_no_gap():
    with pytest.raises(ParameterError, match=r"`count` must be at least 2, for a gap, but got 1"):
        _ = spectrum(blobs(1, 20)[0], count=1, num_neighbors=3).widest_gap_at


def test_numbers_are_of_the_order_of_points_no_more():
    generator = torch.Generator().manual_seed(3)
    features = torch.randn(60, 4, dtype=torch.float64, generator=generator)
    order = torch.randperm(60, generator=generator)
    first, second = spectrum(features, 10, 5), spectrum(5 * features[order] - 1, 10, 5)
    assert second.eigenvalues.tolist() == pytest.approx(first.eigenvalues.tolist(), abs=1e-12)


@pytest.mark.parametrize("count", [0, 21])
def test_a_count_that_is_not_there_is_named(count):
    with pytest.raises(ParameterError, match=rf"`count` must be in \[1, 20\].* but got {count}"):
        spectrum(blobs(1, 20)[0], count=count)
