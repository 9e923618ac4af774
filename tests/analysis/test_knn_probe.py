import torch

from casper.analysis import probe_accuracies


def test_the_mean_over_tasks_whatever_their_size():
    support, labels = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([0, 1])
    right = (torch.tensor([[1.0, 0.1]]), torch.tensor([0]))
    wrong = (torch.tensor([[1.0, 0.1]] * 3), torch.tensor([1] * 3))
    assert set(probe_accuracies([right, wrong], support, labels, 2).values()) == {50.0}


def test_names_say_neighbours_and_vote():
    # At 0 degrees one item of class 0; then, further and further off, ten of class 1: each vote sees another majority.
    angles = torch.tensor([0.0, *torch.linspace(0.9, 1.2, 10).tolist()])
    support = torch.stack([angles.cos(), angles.sin()], dim=1)
    labels = torch.tensor([0] + [1] * 10)
    found = probe_accuracies([(torch.tensor([[1.0, 0.0]]), torch.tensor([0]))], support, labels, 2)
    assert found == {"knn_5": 100.0, "knn_11": 100.0, "knn_5_majority": 0.0, "knn_11_majority": 0.0}
