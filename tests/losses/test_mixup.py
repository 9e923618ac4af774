import pytest
import torch
from scipy import stats

from casper.losses import Mixing, draw_mixing

CPU = torch.device("cpu")


def draw(size, concentration, seed=0):
    return draw_mixing(size, concentration, torch.Generator().manual_seed(seed), CPU)


@pytest.mark.parametrize("concentration", [0.6, 0.75, 1.0, 3.0])
def test_weights_are_the_larger_part_of_a_beta_draw(concentration):
    weights = draw(20_000, concentration).weights.double()
    assert weights.min() >= 0.5
    assert weights.max() <= 1

    def cumulative(value):  # P(max(l, 1 - l) <= w), both tails of l being alike
        return 1 - 2 * stats.beta(concentration, concentration).sf(value)

    assert stats.kstest(weights.numpy(), cumulative).pvalue > 0.01


def test_items_are_weighted_one_by_one_and_partners_are_a_permutation():
    mixing = draw(500, 0.75)
    assert len(mixing.weights.unique()) > 490
    assert sorted(mixing.partners.tolist()) == list(range(500))
    assert mixing.partners.tolist() != list(range(500))
    ranks = stats.spearmanr(mixing.weights.numpy(), mixing.partners.numpy())
    assert ranks.pvalue > 0.01


def test_mixing_literally():
    generator = torch.Generator().manual_seed(0)
    images, targets = torch.rand(5, 2, 3, 3, generator=generator), torch.rand(5, 4, generator=generator)
    mixing = draw(5, 0.75)
    for values in (images, targets):
        mixed = mixing(values)
        assert mixed.shape == values.shape
        for item in range(5):
            weight, partner = mixing.weights[item], mixing.partners[item]
            torch.testing.assert_close(mixed[item], weight * values[item] + (1 - weight) * values[partner])


def test_a_weight_of_one_is_the_item_itself():
    values = torch.rand(3, 2)
    assert torch.equal(Mixing(torch.ones(3), torch.tensor([2, 0, 1]))(values), values)
    assert torch.equal(Mixing(torch.zeros(3), torch.tensor([2, 0, 1]))(values), values[[2, 0, 1]])


def test_all_randomness_is_the_generators():
    before = torch.get_rng_state()
    first, second, other = draw(50, 0.75), draw(50, 0.75), draw(50, 0.75, seed=1)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first.weights, second.weights)
    assert torch.equal(first.partners, second.partners)
    assert not torch.equal(first.weights, other.weights)
    assert not torch.equal(first.partners, other.partners)


@pytest.mark.parametrize("concentration", [0.5, 0.0, -1.0])
def test_refusals(concentration):
    with pytest.raises(ValueError, match=r"`concentration` should be above 0\.5"):
        draw(3, concentration)
