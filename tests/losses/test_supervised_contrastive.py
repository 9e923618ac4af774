import math

import pytest
import torch
import torch.nn.functional as F

from casper.losses import supervised_contrastive


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
    with pytest.raises(ValueError, match="`projections` should be of at least 2 views per item"):
        supervised_contrastive(random_projections(3, 1, 4), torch.arange(3), 0.1)
