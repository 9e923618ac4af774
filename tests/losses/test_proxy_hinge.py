import math

import torch

from casper.losses import proxy_hinge

ALL = torch.tensor([True, True, True])


def test_by_hand():
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
