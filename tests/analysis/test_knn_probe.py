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


def test_the_number_of_neighbours_in_the_name_is_the_one_that_votes():
    angles = torch.linspace(0.01, 0.03, 11)  # five of class 0, then six of class 1, nearly as near
    support = torch.stack([angles.cos(), angles.sin()], dim=1)
    labels = torch.tensor([0] * 5 + [1] * 6)
    found = probe_accuracies([(torch.tensor([[1.0, 0.0]]), torch.tensor([0]))], support, labels, 2)
    assert (found["knn_5"], found["knn_5_majority"], found["knn_11_majority"]) == (100.0, 100.0, 0.0)
    truly_1 = probe_accuracies([(torch.tensor([[1.0, 0.0]]), torch.tensor([1]))], support, labels, 2)
    assert (truly_1["knn_5"], truly_1["knn_11"], truly_1["knn_11_majority"]) == (0.0, 100.0, 100.0)
