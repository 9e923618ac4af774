import pytest
import torch

from casper.losses import hard_triplet_loss, negatives_loss

POINTS = torch.tensor([[0.0], [1.0], [3.0], [7.0]], dtype=torch.float64)
TWO = torch.tensor([0, 0, 1, 1])
DOMAINS = torch.tensor([[0.0], [0.5], [0.8], [5.0]], dtype=torch.float64)


def literal_ranks(features, labels, anchor, k):
    """The k largest distances to the anchor's class, zeros for all others, and the k smallest to the others."""
    own, other = [], []
    for item in range(len(labels)):
        distance = sum((features[anchor, d] - features[item, d]) ** 2 for d in range(features.shape[1]))
        same = labels[anchor] == labels[item]
        own.append(distance if same else 0.0 * distance)
        if not same:
            other.append(distance)
    return sorted(own, reverse=True)[:k], sorted(other)[:k]


def literal(features, labels, k, margin, pull):
    terms = []
    for anchor in range(len(labels)):
        far, near = literal_ranks(features, labels, anchor, k)
        for rank, nearest in enumerate(near):
            terms.append(max((far[rank] if pull else 0.0) - nearest + margin, 0.0 * nearest))
    return sum(terms) / len(terms)


@pytest.mark.parametrize(("k", "expected"), [(1, 3.25), (2, 1.625)])
def test_triplets_by_hand(k, expected):
    assert hard_triplet_loss(POINTS, TWO, k).item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("k", "expected"), [(1, 0.545), (2, 0.3175)])
def test_negatives_by_hand(k, expected):
    assert negatives_loss(DOMAINS, TWO, k).item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("k", [1, 2, 5, 11, 30])
@pytest.mark.parametrize("margin", [1.0, 3.0])
@pytest.mark.parametrize(("loss", "pull"), [(hard_triplet_loss, True), (negatives_loss, False)])
def test_literally(loss, pull, k, margin):
    generator = torch.Generator().manual_seed(k)
    features = torch.rand(12, 3, generator=generator, dtype=torch.float64) * 2
    labels = torch.tensor([0, 1, 2, 0, 1, 0, 0, 2, 0, 0, 0, 0])  # class 2 has two items, class 0 eight
    own, reference = features.clone().requires_grad_(), features.clone().requires_grad_()
    value, expected = loss(own, labels, k, margin), literal(reference, labels, k, margin, pull)
    torch.testing.assert_close(value, expected)
    value.backward()
    expected.backward()
    torch.testing.assert_close(own.grad, reference.grad)
    assert own.grad.abs().max() > 0


def test_the_usual_margin_is_one():
    assert torch.equal(hard_triplet_loss(POINTS, TWO, 2), hard_triplet_loss(POINTS, TWO, 2, 1.0))
    assert torch.equal(negatives_loss(DOMAINS, TWO, 2), negatives_loss(DOMAINS, TWO, 2, 1.0))


@pytest.mark.parametrize("loss", [hard_triplet_loss, negatives_loss])
def test_gradients(loss):
    features = torch.rand(8, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64, requires_grad=True)
    labels = torch.tensor([0, 1, 2, 0, 1, 0, 2, 2])
    assert torch.autograd.gradcheck(lambda points: loss(points, labels, 2), features)


@pytest.mark.parametrize("loss", [hard_triplet_loss, negatives_loss])
@pytest.mark.parametrize(("labels", "k"), [([4, 4, 4, 4], 2), ([0, 0, 1, 1], 0), ([], 2)])
def test_without_a_pair_there_is_nothing_to_learn(loss, labels, k):
    features = POINTS[: len(labels)].clone().requires_grad_()
    value = loss(features, torch.tensor(labels, dtype=torch.int64), k)
    value.backward()
    assert value.item() == 0
    assert (features.grad == 0).all()


@pytest.mark.parametrize("loss", [hard_triplet_loss, negatives_loss])
def test_equal_items_have_a_finite_gradient(loss):
    features = torch.ones(6, 2, requires_grad=True)
    loss(features, torch.tensor([0, 0, 0, 1, 1, 1]), 2).backward()
    assert features.grad.isfinite().all()
