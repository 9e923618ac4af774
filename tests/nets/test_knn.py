import math

import torch

from casper.nets import knn as nearest_neighbors
from casper.nets import majority_vote, nearest_class_vote, weighted_vote


def directions(*degrees):
    radians = torch.tensor(degrees) * math.pi / 180
    return torch.stack([radians.cos(), radians.sin()], dim=1)


def test_weighted_and_majority_votes_disagree():
    # One neighbour of class 0 at the query itself, two of class 1 at 40 degrees: 2 votes to 1, but far.
    support, labels = directions(0.0, 40.0, -40.0), torch.tensor([0, 1, 1])
    query = directions(0.0)
    weighted = weighted_vote(query, support, labels, 2, 3)
    far = math.exp(math.cos(math.radians(40)) / 0.07)
    torch.testing.assert_close(weighted, torch.tensor([[math.exp(1 / 0.07), 2 * far]]), rtol=1e-4, atol=0)
    assert weighted.argmax().item() == 0
    assert majority_vote(query, support, labels, 2, 3).argmax().item() == 1


def test_only_the_nearest_vote():
    support, labels = directions(0.0, 10.0, 20.0, 30.0), torch.tensor([0, 1, 1, 1])
    assert majority_vote(directions(0.0), support, labels, 2, 1).argmax().item() == 0
    assert majority_vote(directions(0.0), support, labels, 2, 4).argmax().item() == 1
    sharp = weighted_vote(directions(0.0), support, labels, 2, 1)
    assert sharp[0, 1] == 0


def test_among_equals_the_nearest_ones_class_wins():
    support = torch.tensor([[1.0], [2.0], [3.0], [4.0]])
    votes = majority_vote(torch.tensor([[0.0]]), support, torch.tensor([3, 1, 1, 3]), 4, 4)
    assert votes.argmax().item() == 3
    torch.testing.assert_close(votes[0, [1, 3]], torch.tensor([2 + 3 / 5, 2 + 4 / 5]))


def test_majority_is_by_distance_and_weighted_by_direction():
    support, labels = torch.tensor([[10.0, 0.0], [0.0, 1.0]]), torch.tensor([0, 1])
    query = torch.tensor([[1.0, 0.5]])
    assert majority_vote(query, support, labels, 2, 1).argmax().item() == 1
    assert weighted_vote(query, support, labels, 2, 1).argmax().item() == 0


def test_the_support_finds_itself():
    generator = torch.Generator().manual_seed(0)
    support, labels = torch.randn(30, 8, generator=generator), torch.arange(30) % 5
    for vote in (weighted_vote, majority_vote, nearest_class_vote):
        assert torch.equal(vote(support, support, labels, 5, 1).argmax(dim=1), labels)


def test_what_lies_far_from_zero_finds_itself_too():
    generator = torch.Generator().manual_seed(0)
    support, labels = 100 + 0.05 * torch.randn(60, 512, generator=generator), torch.arange(60) % 7
    assert torch.equal(majority_vote(support, support, labels, 7, 1).argmax(dim=1), labels)


def test_more_neighbours_than_there_are_and_classes_without_support():
    support, labels = torch.tensor([[1.0], [2.0]]), torch.tensor([0, 2])
    for vote in (weighted_vote, majority_vote, nearest_class_vote):
        votes = vote(torch.tensor([[1.0]]), support, labels, 4, 11)
        assert votes[0, [1, 3]].isneginf().all()
        assert votes[0, [0, 2]].isfinite().all()


def test_chunks_do_not_change_the_votes(monkeypatch):
    generator = torch.Generator().manual_seed(0)
    queries, support = torch.randn(25, 4, generator=generator), torch.randn(30, 4, generator=generator)
    labels = torch.arange(30) % 5
    for vote in (weighted_vote, majority_vote, nearest_class_vote):
        whole = vote(queries, support, labels, 5, 7)
        monkeypatch.setattr(nearest_neighbors, "_CHUNK", 10)
        torch.testing.assert_close(vote(queries, support, labels, 5, 7), whole)
        monkeypatch.undo()


def test_a_weighted_vote_does_not_depend_on_lengths():
    support, labels = torch.tensor([[2.0, 0.0], [0.0, 3.0], [1.0, 1.0]]), torch.tensor([0, 1, 1])
    query = torch.tensor([[1.0, 0.5]])
    votes = weighted_vote(query, support, labels, 2, 3)
    torch.testing.assert_close(weighted_vote(7 * query, 5 * support, labels, 2, 3), votes)


def test_votes_less_a_little_of_the_nearest_distance():
    generator = torch.Generator().manual_seed(0)
    queries, support = torch.randn(20, 3, generator=generator), torch.randn(15, 3, generator=generator)
    labels = torch.arange(15) % 4
    for k in (1, 3, 40):
        scores = nearest_class_vote(queries, support, labels, 6, k)
        for query, row in zip(queries.double(), scores, strict=True):
            distances = [sum((query[d] - item[d]) ** 2 for d in range(3)).item() for item in support.double()]
            voters = sorted(range(15), key=lambda item: distances[item])[:k]
            for label in range(4):
                votes = sum(labels[voter].item() == label for voter in voters)
                nearest = min(distances[item] for item in range(15) if labels[item] == label)
                assert abs(row[label].item() - (votes - 1e-5 * nearest)) < 1e-12
            assert row[4:].isneginf().all()
        # Where all classes compete, who wins is who wins the majority.
        assert torch.equal(scores.argmax(dim=1), majority_vote(queries, support, labels, 6, k).argmax(dim=1))


def test_classes_without_a_vote_are_ranked():
    support, labels = torch.tensor([[0.0], [0.1], [5.0], [4.0]]), torch.tensor([0, 0, 1, 2])
    scores = nearest_class_vote(torch.tensor([[0.0]]), support, labels, 3, 2)
    assert scores[0, 0] == 2
    assert scores[0, 1:].argmax().item() == 1
    assert majority_vote(torch.tensor([[0.0]]), support, labels, 3, 2)[0, 1:].tolist() == [0, 0]


def test_without_support_no_class_has_a_score():
    empty = torch.empty(0, 3), torch.empty(0, dtype=torch.int64)
    assert torch.equal(nearest_class_vote(torch.rand(4, 3), *empty, 5, 3), torch.full((4, 5), -torch.inf).double())
