import math

import pytest
import torch
import torch.nn.functional as F

from casper.losses import hard_triplet_loss, negatives_loss, supervised_contrastive


def random_projections(n, views, dim, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return F.normalize(torch.randn(n, views, dim, generator=generator, dtype=torch.float64), dim=2)


def literal(projections, labels, temperature):
    views = [(row, label.item()) for item, label in zip(projections, labels, strict=True) for row in item]
    losses = []
    for i, (anchor, label) in enumerate(views):
        similarity = {j: anchor @ other / temperature for j, (other, _) in enumerate(views) if j != i}
        total = sum(value.exp() for value in similarity.values())
        positives = [j for j in similarity if views[j][1] == label]
        losses.append(-sum(similarity[j] - total.log() for j in positives) / len(positives))
    return sum(losses) / len(losses)


def test_two_classes_at_right_angles():
    projections = torch.eye(2)[:, None].expand(2, 2, 2)  # each item's views are the same
    loss = supervised_contrastive(projections, torch.tensor([0, 1]), 1.0)
    assert loss.item() == pytest.approx(math.log(math.e + 2) - 1, abs=1e-6)
    assert loss.item() == pytest.approx(0.5514, abs=1e-4)


@pytest.mark.parametrize("number", [1, 2, 7])
@pytest.mark.parametrize("temperature", [0.07, 1.0])
def test_one_class_at_one_place(number, temperature):
    projections = torch.tensor([0.6, 0.8]).expand(number, 2, 2)
    loss = supervised_contrastive(projections, torch.full((number,), 5), temperature)
    assert loss.item() == pytest.approx(math.log(2 * number - 1), abs=1e-5)


@pytest.mark.parametrize("views", [2, 3])
@pytest.mark.parametrize("temperature", [0.07, 0.5, 1.0])
def test_literally(views, temperature):
    projections, labels = random_projections(9, views, 4), torch.tensor([3, 1, 3, 3, 0, 1, 7, 3, 1])
    loss = supervised_contrastive(projections, labels, temperature)
    torch.testing.assert_close(loss, literal(projections, labels, temperature))


def test_gradient():
    projections, labels = random_projections(4, 2, 3).requires_grad_(), torch.tensor([0, 1, 0, 2])
    assert torch.autograd.gradcheck(lambda z: supervised_contrastive(z, labels, 0.3), projections)


def test_the_order_of_items_and_views_is_no_matter():
    projections, labels = random_projections(8, 2, 5), torch.tensor([0, 0, 1, 1, 1, 2, 3, 3])
    loss = supervised_contrastive(projections, labels, 0.2)
    order = torch.randperm(8, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(supervised_contrastive(projections[order], labels[order], 0.2), loss)
    torch.testing.assert_close(supervised_contrastive(projections.flip(1), labels, 0.2), loss)
    assert not torch.isclose(supervised_contrastive(projections[order], labels, 0.2), loss)


def test_a_small_temperature_neither_overflows_nor_loses_the_gradient():
    projections, labels = random_projections(16, 2, 8).float().requires_grad_(), torch.arange(16) % 3
    loss = supervised_contrastive(projections, labels, 1e-3)  # exp(1000) is not a float
    loss.backward()
    assert loss.isfinite()
    assert projections.grad.isfinite().all()
    assert projections.grad.abs().max() > 0


def test_a_single_view_is_refused():
    with pytest.raises(ValueError, match="`projections` must be a tensor of at least 2 views per item"):
        supervised_contrastive(random_projections(3, 1, 4), torch.arange(3), 0.1)


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


def literal_triplet(features, labels, k, margin, pull):
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
def test_triplets_literally(loss, pull, k, margin):
    generator = torch.Generator().manual_seed(k)
    features = torch.rand(12, 3, generator=generator, dtype=torch.float64) * 2
    labels = torch.tensor([0, 1, 2, 0, 1, 0, 0, 2, 0, 0, 0, 0])  # class 2 has two items, class 0 eight
    own, reference = features.clone().requires_grad_(), features.clone().requires_grad_()
    value, expected = loss(own, labels, k, margin), literal_triplet(reference, labels, k, margin, pull)
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
