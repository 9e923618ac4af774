import torch

from casper.memory import even_quotas, first_of_each


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
