import pytest
import torch
from scipy import stats

from casper.losses import Mixing, draw_mixing, pseudo_labels, sharpened_mean

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
    with pytest.raises(ValueError, match=r"`concentration` must be above 0\.5"):
        draw(3, concentration)


COLUMNS = torch.tensor([4, 5])


def logits(*pairs):
    """Logits of six classes; the first four, which do not compete, are higher than all others."""
    return torch.tensor([[100.0, 99.0, 98.0, 97.0, *pair] for pair in pairs])


@pytest.mark.parametrize(("lead", "label"), [(5.4, -1), (5.5, -1), (5.6, 5), (-5.6, 4)])
def test_a_class_must_lead_by_more_than_the_threshold(lead, label):
    assert pseudo_labels(torch.tensor([-1]), logits((0.0, lead)), COLUMNS, 5.5).tolist() == [label]


def test_true_labels_stay():
    found = pseudo_labels(torch.tensor([4, -1, 4, -1]), logits((0, 9), (0, 9), (0, 1), (0, 1)), COLUMNS, 5.5)
    assert found.tolist() == [4, 5, 4, -1]


def test_columns_may_be_in_any_order():
    assert pseudo_labels(torch.tensor([-1]), logits((0.0, 9.0)), torch.tensor([5, 4]), 5.5).tolist() == [5]


def test_a_class_alone_leads():
    assert pseudo_labels(torch.tensor([-1, 0]), logits((0.0, 0.0), (0.0, 0.0)), COLUMNS[:1], 5.5).tolist() == [4, 0]


def test_by_hand():
    # Two items in two views: means (.6, .3, .1) and (.5, .5, 0).
    answers = torch.tensor([[0.8, 0.2, 0.0], [1.0, 0.0, 0.0], [0.4, 0.4, 0.2], [0.0, 1.0, 0.0]])
    expected = torch.tensor([[0.36, 0.09, 0.01], [0.25, 0.25, 0.0]]) / torch.tensor([[0.46], [0.5]])
    torch.testing.assert_close(sharpened_mean(answers, 2), expected)


@pytest.mark.parametrize("temperature", [0.25, 0.5, 1.0])
def test_literally(temperature):
    answers = torch.rand(12, 5, generator=torch.Generator().manual_seed(0)).softmax(dim=1)
    found = sharpened_mean(answers, 3, temperature)
    assert found.shape == (4, 5)
    for item in range(4):
        powers = []
        for column in range(5):
            mean = sum(answers[item + 4 * view, column].item() for view in range(3)) / 3
            powers.append(mean ** (1 / temperature))
        for column in range(5):
            assert found[item, column].item() == pytest.approx(powers[column] / sum(powers), rel=1e-5)


def test_what_is_certain_stays():
    answers = torch.eye(3).repeat(3, 1)
    assert torch.equal(sharpened_mean(answers, 3), torch.eye(3))
