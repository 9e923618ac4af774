import torch

from casper.losses import restricted


def test_other_columns_neither_win_nor_weigh_nor_get_a_gradient():
    logits = torch.tensor([[3.0, 1.0, 2.0]], requires_grad=True)
    left = restricted(logits, torch.tensor([False, True, True]))
    assert left.argmax().item() == 2
    torch.testing.assert_close(left.softmax(dim=1), torch.tensor([[0.0, 1 / (1 + torch.e), torch.e / (1 + torch.e)]]))
    left.logsumexp(dim=1).sum().backward()
    assert logits.grad[0, 0] == 0
    assert (logits.grad[0, 1:] > 0).all()


def test_a_mask_may_differ_between_rows():
    logits = torch.tensor([[3.0, 1.0], [3.0, 1.0]])
    own = torch.tensor([[True, False], [False, True]])
    assert restricted(logits, own).amax(dim=1).tolist() == [3.0, 1.0]


def test_nothing_is_nan_where_no_column_is_left():
    logits = torch.zeros(1, 2, requires_grad=True)
    left = restricted(logits, torch.tensor([False, False]))
    assert left.softmax(dim=1).isfinite().all()
    (left.logsumexp(dim=1) + 1).relu().sum().backward()
    assert logits.grad.tolist() == [[0.0, 0.0]]
