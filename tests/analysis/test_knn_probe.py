import pytest
import torch

from casper.analysis import knn_accuracy, nearest_mean_accuracy, probe_accuracies
from casper.errors import ParameterError

SUPPORT, LABELS = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([0, 1])


def test_a_set_classifies_itself_by_its_nearest_neighbour():
    generator = torch.Generator().manual_seed(0)
    features, labels = torch.randn(50, 4, generator=generator), torch.randint(5, (50,), generator=generator)
    for vote in ("weighted", "majority"):
        assert knn_accuracy(features, labels, features, labels, 1, vote) == 100


def test_three_neighbours_on_which_the_votes_disagree():
    # One of class 0 in the very direction of the query; two of class 1, nearer but at an angle.
    support, labels = torch.tensor([[9.0, 0.0], [1.0, 0.8], [1.0, -0.8]]), torch.tensor([0, 1, 1])
    query, truth = torch.tensor([[1.0, 0.0]]), torch.tensor([0])
    assert knn_accuracy(support, labels, query, truth, 3, "weighted") == 100
    assert knn_accuracy(support, labels, query, truth, 3, "majority") == 0


@pytest.mark.parametrize("vote", ["weighted", "majority"])
@pytest.mark.parametrize("kinds", [(torch.float16, torch.float16), (torch.float64, torch.float32)])
def test_no_type_of_numbers_changes_the_vote(vote, kinds):
    generator = torch.Generator().manual_seed(0)
    centres = torch.rand(4, 8, generator=generator)
    labels = torch.arange(80) % 4
    features = (centres[labels] + 0.2 * torch.randn(80, 8, generator=generator)).half()
    support, query = features[:40], features[40:]
    whole = knn_accuracy(support.float(), labels[:40], query.float(), labels[40:], 11, vote)
    typed = knn_accuracy(support.to(kinds[0]), labels[:40].to(torch.uint8), query.to(kinds[1]), labels[40:], 11, vote)
    assert typed == whole > 60


def test_labels_may_be_large_numbers():
    query = torch.tensor([[1.0, 0.1], [0.1, 1.0]])
    plain = knn_accuracy(SUPPORT, LABELS, query, torch.tensor([0, 1]), 1)
    assert knn_accuracy(SUPPORT, LABELS * 10**12, query, torch.tensor([0, 10**12]), 1) == plain


def test_a_class_that_has_no_support_is_never_right():
    query = torch.tensor([[1.0, 0.1], [1.0, 0.1]])
    assert knn_accuracy(SUPPORT, LABELS, query, torch.tensor([0, 7]), 1) == 50


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vote": "loud"}, "`vote` must be 'weighted' or 'majority', but got 'loud'"),
        ({"num_neighbors": 0}, "`num_neighbors` must be at least 1, but got 0"),
        ({"support": torch.rand(0, 2)}, "`support` must be a matrix of at least one row"),
        ({"query": torch.tensor([[torch.nan, 0.0]])}, "`query` must be finite"),
        ({"query": torch.rand(1, 3)}, "`query` must be a matrix of 2 columns, like `support`, but got 3"),
        (
            {"support_labels": torch.tensor([0, -1])},
            "`support_labels` must be 2 non-negative integers, but got .*minimum -1",
        ),
        ({"query_labels": torch.tensor([0, 1])}, "`query_labels` must be 1 non-negative integers"),
    ],
)
def test_bad_input_is_named(changes, message):
    given = {"support": SUPPORT, "support_labels": LABELS, "query": torch.rand(1, 2), "query_labels": torch.tensor([1])}
    with pytest.raises(ParameterError, match=message):
        knn_accuracy(**{**given, "num_neighbors": 1, **changes})


def test_the_mean_over_tasks_whatever_their_size():
    support, labels = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([0, 1])
    right = (torch.tensor([[1.0, 0.1]]), torch.tensor([0]))
    wrong = (torch.tensor([[1.0, 0.1]] * 3), torch.tensor([1] * 3))
    assert set(probe_accuracies([right, wrong], support, labels).values()) == {50.0}


def test_names_say_neighbours_and_vote():
    # At 0 degrees one item of class 0; then, further and further off, ten of class 1: each vote sees another majority.
    angles = torch.tensor([0.0, *torch.linspace(0.9, 1.2, 10).tolist()])
    support = torch.stack([angles.cos(), angles.sin()], dim=1)
    labels = torch.tensor([0] + [1] * 10)
    found = probe_accuracies([(torch.tensor([[1.0, 0.0]]), torch.tensor([0]))], support, labels)
    assert found == {
        "knn_5": 100.0,
        "knn_11": 100.0,
        "knn_5_majority": 0.0,
        "knn_11_majority": 0.0,
        "nearest_mean": 100.0,
    }


def test_the_number_of_neighbours_in_the_name_is_the_one_that_votes():
    angles = torch.linspace(0.01, 0.03, 11)  # five of class 0, then six of class 1, nearly as near
    support = torch.stack([angles.cos(), angles.sin()], dim=1)
    labels = torch.tensor([0] * 5 + [1] * 6)
    found = probe_accuracies([(torch.tensor([[1.0, 0.0]]), torch.tensor([0]))], support, labels)
    assert (found["knn_5"], found["knn_5_majority"], found["knn_11_majority"]) == (100.0, 100.0, 0.0)
    truly_1 = probe_accuracies([(torch.tensor([[1.0, 0.0]]), torch.tensor([1]))], support, labels)
    assert (truly_1["knn_5"], truly_1["knn_11"], truly_1["knn_11_majority"]) == (0.0, 100.0, 100.0)


def test_the_nearest_mean_is_that_of_all_items_of_a_class():
    support = torch.tensor([[0.0], [4.0], [5.0], [7.0]])
    labels = torch.tensor([3, 3, 8, 8])  # means 2 and 6
    query = torch.tensor([[3.9], [4.1], [-1.0]])
    assert nearest_mean_accuracy(support, labels, query, torch.tensor([3, 8, 3])) == 100.0
    assert nearest_mean_accuracy(support, labels, query, torch.tensor([8, 3, 8])) == 0.0
    far = nearest_mean_accuracy(support + 1e6, labels, query + 1e6, torch.tensor([3, 8, 3]))
    assert far == 100.0
    with pytest.raises(ParameterError, match="`query_labels` must be 3 non-negative integers"):
        nearest_mean_accuracy(support, labels, query, torch.tensor([0, 1]))
