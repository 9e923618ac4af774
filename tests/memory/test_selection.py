import torch

from casper.memory import even_quotas, first_of_each, herd


def literal(features, size):
    """The definition, step by step."""
    mean, chosen = features.mean(dim=0), []
    for _ in range(min(size, len(features))):
        best, nearest = None, None
        for row in range(len(features)):
            if row in chosen:
                continue
            centre = features[[*chosen, row]].mean(dim=0)
            distance = (mean - centre).norm().item()
            if nearest is None or distance < nearest - 1e-12:
                best, nearest = row, distance
        chosen.append(best)
    return chosen


def test_three_points_by_hand():
    points = torch.tensor([[0.0], [1.0], [5.0]])
    assert points[herd(points, 3)].flatten().tolist() == [1.0, 5.0, 0.0]


def test_agrees_with_the_definition():
    features = torch.rand(40, 6, generator=torch.Generator().manual_seed(0))
    assert herd(features, 15).tolist() == literal(features.double(), 15)
    far = 1000 + features
    assert herd(far, 15).tolist() == literal(far.double(), 15)


def test_a_smaller_choice_is_the_beginning_of_a_larger_one():
    features = torch.rand(30, 4, generator=torch.Generator().manual_seed(1))
    assert herd(features, 5).tolist() == herd(features, 20)[:5].tolist()


def test_every_item_once_and_no_more_than_there_are():
    features = torch.rand(9, 2, generator=torch.Generator().manual_seed(2))
    assert sorted(herd(features, 100).tolist()) == list(range(9))
    assert herd(features, 0).tolist() == []


def test_the_first_of_equals():
    assert herd(torch.ones(4, 3), 4).tolist() == [0, 1, 2, 3]


def test_the_features_stay_as_they_are():
    features = torch.rand(9, 2, dtype=torch.float64)
    before = features.clone()
    herd(features, 4)
    assert torch.equal(features, before)


def test_rows_are_shared_out_evenly_and_the_rest_at_random():
    generator = torch.Generator().manual_seed(0)
    receivers = set()
    for _ in range(50):
        quotas = even_quotas(17, (4, 5, 6), 8, generator)
        assert quotas[[4, 5, 6]].sort().values.tolist() == [5, 6, 6]
        assert quotas.sum() == 17
        receivers.add(tuple(quotas.tolist()))
    assert len(receivers) == 3
    assert even_quotas(6, (0, 1), 2, generator).tolist() == [3, 3]


def test_the_first_items_of_each_class():
    labels = torch.tensor([1, 0, 1, 1, 2, 0, 2])
    assert first_of_each(labels, torch.tensor([1, 2, 0])).tolist() == [True, True, True, False, False, False, False]
    assert first_of_each(labels, torch.tensor([9, 9, 9])).all()
