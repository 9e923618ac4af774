import pytest
import torch

from casper.losses import sharpened_mean


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
