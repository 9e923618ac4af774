import pytest
import torch
from torch import nn

from casper.nets import MLP, ConvNet, batch_norms, recompute_statistics, set_statistics, untouched_statistics


def convnet(seed=0):
    torch.manual_seed(seed)
    net = ConvNet((1, 8, 8), width=4)
    for _ in range(2):
        net.train()(images(8, seed=9))
    return net


def images(number, seed=0):
    return torch.randn(number, 1, 8, 8, generator=torch.Generator().manual_seed(seed)) * (1 + seed) + seed


def statistics(net):
    return [buffer.clone() for buffer in net.buffers()]


def unchanged(net, before):
    return all(torch.equal(one, other) for one, other in zip(net.buffers(), before, strict=True))


def test_batch_norms_are_those_that_keep_statistics():
    net = nn.Sequential(nn.BatchNorm1d(2), nn.Linear(2, 2), nn.BatchNorm2d(3, track_running_stats=False))
    assert batch_norms(net) == [net[0]]
    assert len(batch_norms(convnet())) == 4
    assert batch_norms(MLP((1, 8, 8))) == []


def test_a_plain_pass_in_training_mode_changes_the_statistics():
    net = convnet()
    before = statistics(net)
    net(images(8))
    assert not any(torch.equal(one, other) for one, other in zip(net.buffers(), before, strict=True))


def test_untouched_statistics_and_counter():
    net = convnet()
    before = statistics(net)
    assert sum(buffer.dtype == torch.int64 for buffer in before) == 4
    with untouched_statistics(net):
        net(images(8))
    assert unchanged(net, before)


def test_untouched_pass_uses_the_batch_statistics():
    net, twin = convnet(), convnet()
    with untouched_statistics(net):
        features, maps = net(images(8))
    expected, expected_maps = twin(images(8))
    assert torch.equal(features, expected)
    assert all(torch.equal(one, other) for one, other in zip(maps, expected_maps, strict=True))
    assert not torch.allclose(features, net.eval()(images(8))[0], atol=1e-3)


def test_untouched_pass_has_the_same_gradients():
    net, twin = convnet(), convnet()
    with untouched_statistics(net):
        features, _ = net(images(8))
    features.square().sum().backward()
    twin(images(8))[0].square().sum().backward()
    for one, other in zip(net.parameters(), twin.parameters(), strict=True):
        assert torch.equal(one.grad, other.grad)


def test_statistics_are_tracked_again_afterwards():
    net, twin = convnet(), convnet()
    with untouched_statistics(net):
        net(images(8))
    net(images(8, seed=1))
    twin(images(8, seed=1))
    assert unchanged(net, statistics(twin))


def test_statistics_are_tracked_again_after_an_exception():
    net = convnet()
    before = statistics(net)
    with pytest.raises(RuntimeError, match="channels"), untouched_statistics(net):
        net(torch.zeros(2, 5, 8, 8))
    assert unchanged(net, before)
    assert len(batch_norms(net)) == 4
    net(images(8))
    assert not unchanged(net, before)


def test_nested_use_keeps_the_statistics_untouched_to_the_end():
    net = convnet()
    before = statistics(net)
    with untouched_statistics(net):
        with untouched_statistics(net):
            net(images(8))
        net(images(8))
    assert unchanged(net, before)
    assert len(batch_norms(net)) == 4


def test_layers_without_statistics_stay_without():
    net = nn.Sequential(nn.BatchNorm2d(1, track_running_stats=False))
    with untouched_statistics(net):
        net(images(4))
    assert not net[0].track_running_stats


def test_recomputed_statistics_are_the_plain_average_over_batches():
    net = convnet()
    batches = [images(4, seed=1), images(12, seed=2), images(7, seed=3)]
    means, variances = [[] for _ in net.stages], [[] for _ in net.stages]
    with torch.no_grad():
        for signal in batches:
            for place, (convolution, norm) in enumerate(net.stages):
                values = convolution(signal).transpose(0, 1).flatten(1)
                mean, variance = values.mean(dim=1), values.var(dim=1, unbiased=False)
                count = values.shape[1]
                means[place].append(mean)
                variances[place].append(variance * count / (count - 1))
                shape = (1, -1, 1, 1)
                standard = (convolution(signal) - mean.view(shape)) / (variance.view(shape) + norm.eps).sqrt()
                signal = (standard * norm.weight.view(shape) + norm.bias.view(shape)).clamp(min=0)
    recompute_statistics(net, batches)
    for place, (_, norm) in enumerate(net.stages):
        torch.testing.assert_close(norm.running_mean, torch.stack(means[place]).mean(dim=0), atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(norm.running_var, torch.stack(variances[place]).mean(dim=0), atol=1e-4, rtol=1e-4)
        assert norm.num_batches_tracked == 3


def test_recomputing_twice_gives_the_same():
    net = convnet()
    recompute_statistics(net, [images(8, seed=1), images(8, seed=2)])
    before = statistics(net)
    recompute_statistics(net, iter([images(8, seed=1), images(8, seed=2)]))
    assert unchanged(net, before)


@pytest.mark.parametrize("training", [True, False])
def test_recomputing_restores_mode_and_momentum(training):
    net = convnet().train(training)
    net.stages[1].train(not training)
    modes = [module.training for module in net.modules()]
    momenta = [0.1, 0.3, 0.01, None]
    for layer, momentum in zip(batch_norms(net), momenta, strict=True):
        layer.momentum = momentum
    recompute_statistics(net, [images(8)])
    assert [module.training for module in net.modules()] == modes
    assert [layer.momentum for layer in batch_norms(net)] == momenta


def test_recomputing_changes_no_parameter():
    net = convnet()
    before = [parameter.clone() for parameter in net.parameters()]
    recompute_statistics(net, [images(8)])
    assert all(torch.equal(one, other) for one, other in zip(net.parameters(), before, strict=True))


def test_recomputing_keeps_no_graph():
    net, results = convnet(), []
    net.register_forward_hook(lambda _, given, result: results.append(result[0]))
    recompute_statistics(net, [images(8), images(8)])
    assert [features.requires_grad for features in results] == [False, False]


def test_dropout_stays_out_of_recomputed_statistics():
    net = nn.Sequential(nn.Dropout(0.5), nn.BatchNorm2d(1)).train()
    values = images(8)
    recompute_statistics(net, [values])
    torch.testing.assert_close(net[1].running_mean, values.mean().reshape(1))
    assert net[0].training


def test_net_without_batch_norm_is_left_alone():
    net = MLP((1, 8, 8))
    before = {name: value.clone() for name, value in net.state_dict().items()}
    recompute_statistics(net, [images(4)])
    with untouched_statistics(net):
        net(images(4))
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())


def test_cached_passes_are_not_repeated():
    batches, kept = [images(4, seed=1), images(12, seed=2), images(7, seed=3)], []
    net, other = convnet(), convnet()
    expected = recompute_statistics(net, batches, lambda compute: kept.append(compute()) or kept[-1])
    passed, given = [], iter(kept[:2])

    def piece(compute):
        result = next(given, None)
        return compute() if result is None else result

    other.register_forward_hook(lambda _, inputs, result: passed.append(len(inputs[0])))
    assert torch.equal(recompute_statistics(other, batches, piece), expected)
    assert passed == [7]
    assert unchanged(other, statistics(net))


def test_set_statistics_make_a_network_behave_like_the_other():
    net, other = convnet(), convnet()
    inputs = images(5, seed=4)
    set_statistics(other, recompute_statistics(net, [images(8, seed=1)]))
    assert torch.equal(other.eval()(inputs)[0], net.eval()(inputs)[0])
