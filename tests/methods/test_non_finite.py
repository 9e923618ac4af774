import pytest
import torch
from torch import nn
from torch.optim import SGD

from casper import split_digits
from casper.methods import NonFiniteLossError, check_weights
from casper.methods.non_finite import bad_loss
from casper.step import Progress


def optimizer(net):
    return SGD(net.parameters(), lr=0.25)


def test_a_bad_loss_names_term_place_and_rate():
    terms = {"stream": torch.tensor(1.0), "casper": torch.tensor(float("nan")), "replay": torch.tensor(float("inf"))}
    error = bad_loss(terms, split_digits()[2], Progress(1, 5, 36), optimizer(nn.Linear(1, 1)))
    assert str(error) == (
        "the loss is not finite in task 3, epoch 2, step 37: casper = nan, replay = inf; "
        "the learning rate is 0.25, try a smaller one"
    )


def test_finite_terms_may_have_an_infinite_sum():
    terms = {"stream": torch.tensor(3e38), "replay": torch.tensor(3e38)}
    assert "step 1: their sum;" in str(
        bad_loss(terms, split_digits()[0], Progress(0, 1, 0), optimizer(nn.Linear(1, 1)))
    )


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_weights_and_statistics_are_checked_one_and_all(value):
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    check_weights(net, "now", optimizer(net))
    net[1].running_var[1] = value
    pattern = r"^1\.running_var of the network is not finite now; the learning rate is 0\.25, try a smaller one$"
    with pytest.raises(NonFiniteLossError, match=pattern):
        check_weights(net, "now", optimizer(net))
    with torch.no_grad():
        net[0].weight[0, 0] = value
    with pytest.raises(NonFiniteLossError, match=r"^0\.weight \(and 1 more\) of the network"):
        check_weights(net, "now", optimizer(net))
