import pytest
import torch

from casper.regularizers.extra_pass import extra_pass
from support import small_trainer


@pytest.mark.parametrize("update", [True, False])
def test_features_are_those_of_training_mode_and_statistics_change_only_if_asked(update):
    net = small_trainer("er").net.train()
    inputs = torch.randn(9, 1, 8, 8)
    before = [buffer.clone() for buffer in net.buffers()]
    features = extra_pass(net, inputs, update_statistics=update)
    changed = [not torch.equal(*pair) for pair in zip(net.buffers(), before, strict=True)]
    assert all(changed) if update else not any(changed)
    assert features.requires_grad
    assert torch.equal(features, net(inputs).features)
