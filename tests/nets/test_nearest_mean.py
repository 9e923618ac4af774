import torch

from casper.nets import class_means, nearest_mean_scores


def test_means_by_hand():
    features = torch.tensor([[0.0, 0.0], [2.0, 4.0], [1.0, 1.0]])
    means = class_means(features, torch.tensor([2, 2, 0]), 4)
    assert means[[0, 2]].tolist() == [[1.0, 1.0], [1.0, 2.0]]
    assert means[[1, 3]].isnan().all()


def test_the_nearest_of_two_means_wins_by_the_squared_distance():
    means = torch.tensor([[0.0, 0.0], [3.0, 4.0]])
    scores = nearest_mean_scores(torch.tensor([[0.0, 1.0], [3.0, 3.0]]), means)
    torch.testing.assert_close(scores, torch.tensor([[-1.0, -18.0], [-18.0, -1.0]]))
    assert scores.argmax(dim=1).tolist() == [0, 1]


def test_a_class_without_a_mean_has_no_score():
    means = torch.tensor([[float("nan"), float("nan")], [3.0, 4.0]])
    scores = nearest_mean_scores(torch.tensor([[0.0, 0.0]]), means)
    assert scores[0, 0].isneginf()
    assert scores[0, 1] == -25
    nothing = torch.full((3, 2), float("nan"))
    assert nearest_mean_scores(torch.zeros(2, 2), nothing).isneginf().all()


def test_scores_keep_their_digits_where_many_means_are_near_each_other():
    means = 1000 + torch.arange(60.0)[:, None] * torch.tensor([1e-2, 0.0])
    scores = nearest_mean_scores(means, means)
    assert scores.argmax(dim=1).tolist() == list(range(60))


def test_features_that_are_not_numbers_are_not_taken_for_a_missing_class():
    scores = nearest_mean_scores(torch.full((1, 2), torch.nan), torch.tensor([[0.0, 0.0], [3.0, 4.0]]))
    assert scores.isnan().all()
