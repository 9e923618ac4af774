import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from casper.metrics import accuracy, empty_matrix


def test_empty_matrix():
    assert empty_matrix(2) == [[None, None], [None, None]]


def test_rows_of_the_empty_matrix_are_separate():
    matrix = empty_matrix(3)
    matrix[0][1] = 5.0
    assert matrix[1] == matrix[2] == [None, None, None]


def test_accuracy_in_percent():
    scores = torch.tensor([[0.1, 0.9, 0.0], [0.5, 0.2, 0.3], [0.0, 0.1, 0.9], [0.3, 0.4, 0.3]])
    assert accuracy(scores, torch.tensor([1, 0, 2, 1])) == 100
    assert accuracy(scores, torch.tensor([1, 0, 2, 0])) == 75
    assert accuracy(scores, torch.tensor([0, 1, 1, 0])) == 0


def test_thirds_are_computed_in_double_precision():
    assert accuracy(torch.eye(3), torch.tensor([0, 0, 0])) == pytest.approx(100 / 3, abs=1e-12)


def test_only_the_columns_of_the_task_compete():
    scores = torch.tensor([[9.0, 1.0, 2.0, 3.0], [9.0, 1.0, 5.0, 3.0]])
    labels = torch.tensor([3, 2])
    assert accuracy(scores, labels) == 0
    assert accuracy(scores, labels, (2, 3)) == 100
    assert accuracy(scores, labels, (1, 2)) == 50


def test_negative_scores_of_the_task_win_over_masked_ones():
    scores = torch.tensor([[5.0, -1e30, -2e30]])
    assert accuracy(scores, torch.tensor([1]), (1, 2)) == 100


def test_scores_are_not_changed():
    scores = torch.tensor([[9.0, 1.0], [0.0, 2.0]])
    before = scores.clone()
    accuracy(scores, torch.tensor([1, 1]), (1,))
    assert torch.equal(scores, before)


def test_a_task_of_one_class_is_always_right():
    assert accuracy(-torch.eye(4).repeat(5, 1), torch.full((20,), 2), (2,)) == 100


@settings(deadline=None, derandomize=True)
@given(st.integers(1, 30), st.integers(1, 4), st.integers(1, 4), st.integers(0, 10**6), st.booleans())
def test_task_il_is_never_below_class_il(number, num_tasks, per_task, seed, ties):
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(number, num_tasks * per_task, generator=generator)
    scores = scores.round() if ties else scores
    for task in range(num_tasks):
        classes = range(task * per_task, (task + 1) * per_task)
        labels = torch.randint(classes.start, classes.stop, (number,), generator=generator)
        assert accuracy(scores, labels, classes) >= accuracy(scores, labels)
