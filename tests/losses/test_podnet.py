import math

import pytest
import torch

from casper.losses import pod_flat, pod_spatial, proxy_hinge


def maps(*shapes, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator) for shape in shapes]


def test_identical_networks_cost_nothing_and_have_a_finite_gradient():
    new = [tensor.requires_grad_() for tensor in maps((2, 3, 4, 5), (2, 6, 2, 2))]
    old = [tensor.detach().clone() for tensor in new]
    spatial, flat = pod_spatial(new, old), pod_flat(new[-1], old[-1])
    assert spatial == 0
    assert abs(flat.item()) < 1e-6
    (spatial + flat).backward()
    assert all(tensor.grad.isfinite().all() for tensor in new)


def test_orthogonal_maps_are_sqrt_2_apart():
    new, old = torch.zeros(1, 2, 3, 3), torch.zeros(1, 2, 3, 3)
    new[0, 0], old[0, 1] = 4.0, 0.5
    torch.testing.assert_close(pod_spatial([new], [old]), torch.tensor(math.sqrt(2)))
    torch.testing.assert_close(pod_flat(new, old), torch.tensor(1.0))


def test_by_hand():
    new = torch.tensor([[[[1.0, 2.0], [0.0, 2.0]]]])  # squared sums: over h 1, 8; over w 5, 4
    old = torch.tensor([[[[1.0, 0.0], [0.0, 0.0]]]])  # 1, 0; 1, 0
    first = torch.tensor([1.0, 8, 5, 4]) / math.sqrt(106)
    second = torch.tensor([1.0, 0, 1, 0]) / math.sqrt(2)
    torch.testing.assert_close(pod_spatial([new], [old]), (first - second).norm())


def test_the_mean_is_over_images_and_then_over_maps():
    first, second = (torch.zeros(2, 2, 1, 1) for _ in range(2))
    first[:, 0], second[:, 0] = 1.0, 1.0
    changed = second.clone()
    changed[0] = torch.tensor([0.0, 1.0])[:, None, None]
    loss = pod_spatial([first, changed], [first, second])
    torch.testing.assert_close(loss, torch.tensor((0 + (math.sqrt(2) + 0) / 2) / 2))


def test_flat_pools_before_it_compares():
    new = torch.tensor([[[[3.0, -3.0]], [[1.0, 1.0]]]])  # pooled: 0, 1
    old = torch.tensor([[[[1.0, 1.0]], [[1.0, 1.0]]]])  # pooled: 1, 1
    torch.testing.assert_close(pod_flat(new, old), torch.tensor(1 - 1 / math.sqrt(2)))


def test_half_precision_maps_are_compared_in_single_precision():
    new, old = maps((2, 3, 4, 4), (2, 3, 4, 4))
    loss = pod_spatial([new.bfloat16()], [old.bfloat16()])
    assert loss.dtype == torch.float32
    assert pod_flat(new.bfloat16(), old.bfloat16()).dtype == torch.float32


def test_another_number_of_maps_is_refused():
    with pytest.raises(ValueError, match="zip"):
        pod_spatial(maps((1, 1, 1, 1)), [])


ALL = torch.tensor([True, True, True])


def test_proxy_hinge_by_hand():
    scores = torch.tensor([[-3.0, -1.0, -2.0]])
    expected = math.log(math.exp(-1) + math.exp(-2)) + 3
    torch.testing.assert_close(proxy_hinge(scores, torch.tensor([0]), ALL).item(), expected)
    sharp = math.log(math.exp(-2) + math.exp(-4)) + 6
    torch.testing.assert_close(proxy_hinge(scores, torch.tensor([0]), ALL, eta=2.0).item(), sharp)


def test_a_clear_winner_costs_nothing():
    scores = torch.tensor([[0.0, -9.0, -9.0], [-3.0, -1.0, -2.0]])
    one = proxy_hinge(scores[1:], torch.tensor([0]), ALL)
    assert proxy_hinge(scores[:1], torch.tensor([0]), ALL) == 0
    torch.testing.assert_close(proxy_hinge(scores, torch.tensor([0, 0]), ALL), one / 2)


def test_a_margin_taken_off_every_score_cancels_and_one_off_the_target_does_not():
    scores, labels = torch.tensor([[-3.0, -1.0, -2.0]]), torch.tensor([0])
    torch.testing.assert_close(proxy_hinge(scores - 0.6, labels, ALL), proxy_hinge(scores, labels, ALL))
    with_margin = proxy_hinge(scores, labels, ALL, margin=0.6)
    torch.testing.assert_close(with_margin, proxy_hinge(scores, labels, ALL) + 0.6)


def test_classes_still_to_come_do_not_compete():
    scores = torch.tensor([[-3.0, -1.0, 50.0]], requires_grad=True)
    loss = proxy_hinge(scores, torch.tensor([0]), torch.tensor([True, True, False]))
    torch.testing.assert_close(loss.item(), 2.0)
    loss.backward()
    assert scores.grad.tolist() == [[-1.0, 1.0, 0.0]]


def test_scores_far_below_zero_do_not_underflow():
    scores = torch.tensor([[-500.0, -300.0, -400.0]], requires_grad=True)
    loss = proxy_hinge(scores, torch.tensor([0]), ALL)
    torch.testing.assert_close(loss.item(), 200.0)
    loss.backward()
    assert scores.grad.isfinite().all()


def test_a_single_class_costs_nothing():
    scores = torch.tensor([[-3.0, -1.0, -2.0]], requires_grad=True)
    proxy_hinge(scores, torch.tensor([0]), torch.tensor([True, False, False])).backward()
    assert scores.grad.tolist() == [[0.0, 0.0, 0.0]]


def test_the_margin_is_as_sharp_as_the_scores():
    scores, labels = torch.tensor([[-3.0, -1.0, -2.0]]), torch.tensor([0])
    plain, wide = (proxy_hinge(scores, labels, ALL, eta=2.0, margin=margin) for margin in (0.0, 0.6))
    torch.testing.assert_close(wide, plain + 2 * 0.6)
