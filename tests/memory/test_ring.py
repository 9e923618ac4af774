import pytest
import torch

from casper.memory import Ring


def items(*numbers):
    """Images of one grey each, and labels ten times as high, that say which item they are."""
    grey = torch.tensor(numbers, dtype=torch.uint8)
    return grey[:, None, None, None].expand(-1, 1, 2, 2).contiguous(), 10 * grey.long()


def held(ring):
    assert all(len(image.unique()) == 1 for image in ring.images)
    greys = ring.images[:, 0, 0, 0].tolist()
    assert ring.labels.tolist() == [10 * grey for grey in greys]
    return greys


@pytest.mark.parametrize("sizes", [[1] * 12, [3, 3, 3, 3], [5, 0, 2, 5], [4, 8], [12], [2, 10], [0, 0]])
@pytest.mark.parametrize("capacity", [1, 4, 5])
def test_it_holds_the_last_items(sizes, capacity):
    ring, shown = Ring(capacity, (1, 2, 2)), []
    for size in sizes:
        numbers = range(len(shown), len(shown) + size)
        ring.insert(*items(*numbers))
        shown += numbers
        assert sorted(held(ring)) == shown[-capacity:]
        assert len(ring) == min(capacity, len(shown))
        assert ring.seen == len(shown)


def test_all_items_come_out_in_random_order():
    ring = Ring(6, (1, 2, 2))
    ring.insert(*items(*range(8)))
    generator, orders = torch.Generator().manual_seed(0), set()
    for _ in range(20):
        copy = ring.shuffled(generator)
        greys = copy.images[:, 0, 0, 0].tolist()
        assert copy.labels.tolist() == [10 * grey for grey in greys]
        assert sorted(greys) == list(range(2, 8))
        orders.add(tuple(greys))
    assert len(orders) > 10
    copy.images.zero_()
    assert sorted(held(ring)) == list(range(2, 8))


def test_nothing_comes_out_of_an_empty_ring():
    assert len(Ring(3, (1, 2, 2)).shuffled(torch.Generator())) == 0


@pytest.mark.parametrize("before", [0, 2, 5, 7])
def test_a_loaded_state_continues(before):
    first, second = Ring(5, (1, 2, 2)), Ring(5, (1, 2, 2))
    first.insert(*items(*range(before)))
    state = first.state_dict()
    assert len(state["images"]) == min(before, 5)
    second.load_state_dict(state)
    for ring in (first, second):
        ring.insert(*items(20, 21, 22))
    assert held(first) == held(second)
    assert first.seen == second.seen == before + 3
    loaded = Ring(5, (1, 2, 2))
    loaded.load_state_dict(state)  # which what came later has not changed
    assert sorted(held(loaded)) == list(range(before))[-5:]


def test_refusals():
    with pytest.raises(ValueError, match=r"`capacity` must be at least 1, but got 0"):
        Ring(0, (1, 2, 2))
    large = Ring(9, (1, 2, 2))
    large.insert(*items(*range(9)))
    with pytest.raises(ValueError, match=r"`state` must be a state of 5 rows, but got 9"):
        Ring(5, (1, 2, 2)).load_state_dict(large.state_dict())
