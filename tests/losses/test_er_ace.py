import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from casper.losses import asymmetric_cross_entropy, kept_columns

EXAMPLES = [([2], 2, {2, 3, 4, 5}), ([3], 3, {3, 4, 5}), ([4], 5, {4})]


def kept(labels, highest_seen, num_classes=6):
    columns = kept_columns(torch.tensor(labels), torch.tensor(highest_seen), num_classes)
    assert columns.dtype == torch.bool
    assert columns.shape == (num_classes,)
    return set(columns.nonzero().squeeze(1).tolist())


@pytest.mark.parametrize(("labels", "highest_seen", "columns"), EXAMPLES)
def test_kept_columns_of_the_examples(labels, highest_seen, columns):
    assert kept(labels, highest_seen) == columns


def test_absent_current_class_below_the_highest_is_masked():
    assert kept([3, 3], 3) == {3, 4, 5}
    assert kept([2, 2], 3) == {2, 3, 4, 5}


def test_highest_class_is_kept_even_where_it_is_absent():
    assert 3 in kept([2], 3)


def test_last_class_is_masked_where_it_is_absent():
    assert kept([4, 4], 5) == {4}
    assert kept([5], 5) == {5}
    assert kept([4, 5, 4], 5) == {4, 5}


def test_replayed_old_classes_in_the_batch_are_kept():
    assert kept([0, 1, 4], 4) == {0, 1, 4, 5}


@pytest.mark.parametrize(("labels", "highest_seen", "columns"), EXAMPLES)
def test_gradient_of_masked_columns_is_exactly_zero(labels, highest_seen, columns):
    logits = torch.randn(len(labels), 6, generator=torch.Generator().manual_seed(0), requires_grad=True)
    asymmetric_cross_entropy(logits, torch.tensor(labels), torch.tensor(highest_seen)).backward()
    masked = [column for column in range(6) if column not in columns]
    assert (logits.grad[:, masked] == 0).all()
    if len(columns) > 1:
        assert (logits.grad[:, sorted(columns)] != 0).all()


@settings(deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 7), min_size=1, max_size=12), st.integers(0, 7), st.integers(0, 10**6))
def test_equals_cross_entropy_over_the_kept_columns(labels, highest_seen, seed):
    highest_seen = max(highest_seen, *labels)
    columns = set(labels) | (set(range(highest_seen, 8)) if highest_seen < 7 else set())
    order = sorted(columns)
    logits = 5 * torch.randn(len(labels), 8, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    ours, theirs = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    loss = asymmetric_cross_entropy(ours, torch.tensor(labels), torch.tensor(highest_seen))
    expected = F.cross_entropy(theirs[:, order], torch.tensor([order.index(label) for label in labels]))
    torch.testing.assert_close(loss, expected)
    loss.backward()
    expected.backward()
    torch.testing.assert_close(ours.grad, theirs.grad)
    assert (ours.grad[:, [column for column in range(8) if column not in columns]] == 0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("scale", [1e4, -1e4])
def test_finite_for_large_logits(dtype, scale):
    logits = torch.full((3, 6), scale, dtype=dtype, requires_grad=True)
    loss = asymmetric_cross_entropy(logits, torch.tensor([2, 2, 3]), torch.tensor(3))
    loss.backward()
    assert loss.dtype == dtype
    torch.testing.assert_close(loss.item(), torch.log(torch.tensor(4.0, dtype=torch.float64)).item(), atol=1e-5, rtol=0)
    assert logits.grad.isfinite().all()


def test_masked_logits_do_not_matter():
    logits = torch.randn(4, 6, generator=torch.Generator().manual_seed(1))
    changed = logits.clone()
    changed[:, :2] += 1000
    labels, highest_seen = torch.tensor([2, 3, 3, 2]), torch.tensor(3)
    assert torch.equal(
        asymmetric_cross_entropy(logits, labels, highest_seen), asymmetric_cross_entropy(changed, labels, highest_seen)
    )


def test_arguments_are_not_changed():
    logits = torch.randn(2, 6)
    before = logits.clone()
    asymmetric_cross_entropy(logits, torch.tensor([4, 4]), torch.tensor(4))
    assert torch.equal(logits, before)
