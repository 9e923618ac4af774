import math

import pytest
import torch

from casper.losses import controlled_transfer, cross_space_clustering

TWO = torch.eye(2)


def features(number, seed):
    return torch.randn(number, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def cosine(one, other):
    dot = sum(float(a * b) for a, b in zip(one, other, strict=True))
    length = math.sqrt(sum(float(a) ** 2 for a in one)) * math.sqrt(sum(float(b) ** 2 for b in other))
    return dot / length


def test_two_orthonormal_items_of_two_classes():
    assert cross_space_clustering(TWO, TWO, torch.tensor([0, 1])) == -0.5


def test_clustering_is_the_signed_mean_over_all_pairs():
    new, old, labels = features(6, 1), features(6, 2), [3, 1, 3, 0, 1, 3]
    expected = 0.0
    for i in range(6):
        for j in range(6):
            expected += (1 if labels[i] == labels[j] else -1) * (1 - cosine(new[i], old[j])) / 36
    assert cross_space_clustering(new, old, torch.tensor(labels)).item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_transfer_is_the_mean_over_pairs_of_the_divergence(temperature):
    new, old = features(7, 1), features(7, 2)
    current, previous = [0, 2, 5], [1, 3, 4]  # the item 6 belongs to neither
    expected = 0.0
    for i in current:
        before = [math.exp(cosine(old[i], old[j]) / temperature) for j in previous]
        now = [math.exp(cosine(new[i], new[j]) / temperature) for j in previous]
        for place in range(3):
            p, q = before[place] / sum(before), now[place] / sum(now)
            expected += temperature**2 * p * (math.log(p) - math.log(q)) / 9
    marks = [torch.tensor([i in rows for i in range(7)]) for rows in (current, previous)]
    assert controlled_transfer(new, old, *marks, temperature).item() == pytest.approx(expected, abs=1e-12)


def test_there_is_nothing_to_transfer_between_equal_spaces():
    new = features(6, 1)
    marks = torch.arange(6) < 3
    assert controlled_transfer(new, new, marks, ~marks, 2.0) == 0


@pytest.mark.parametrize(("current", "previous"), [([False] * 4, [True] * 4), ([True] * 4, [False] * 4)])
def test_without_a_pair_transfer_is_zero_and_so_is_its_gradient(current, previous):
    new = features(4, 1).requires_grad_()
    loss = controlled_transfer(new, features(4, 2), torch.tensor(current), torch.tensor(previous), 2.0)
    assert loss == 0
    assert torch.equal(torch.autograd.grad(loss, new)[0], torch.zeros_like(new))


def test_gradients_are_those_of_the_formulas():
    labels, marks = torch.tensor([0, 1, 0, 2]), torch.tensor([True, False, True, False])
    new, old = features(4, 1).requires_grad_(), features(4, 2)
    assert torch.autograd.gradcheck(lambda x: cross_space_clustering(x, old, labels), new)
    assert torch.autograd.gradcheck(lambda x: controlled_transfer(x, old, marks, ~marks, 2.0), new)


def test_features_of_length_zero_have_no_direction():
    new, old = torch.zeros(2, 3), torch.ones(2, 3)
    assert cross_space_clustering(new, old, torch.tensor([0, 1])) == 0  # the cosine counts as 0; the signs cancel
    assert controlled_transfer(new, old, torch.tensor([True, False]), torch.tensor([False, True]), 2.0) == 0
