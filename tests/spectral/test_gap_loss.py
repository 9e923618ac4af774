import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from casper import ParameterError, spectral_gap_loss
from casper.spectral import GapConvention

ORACLE = np.load(Path(__file__).parents[1] / "data" / "spectral_gap.npz")


def gradient_of(features, *arguments, **choices):
    leaf = features.clone().requires_grad_()
    spectral_gap_loss(leaf, *arguments, **choices).backward()
    return leaf.grad


def reference_loss(features, num_communities, num_neighbors, gap_offset=0, metric="squared", self_neighbor=False):
    """The loss by autograd alone, step by step as the method is described: slow, and obviously that."""
    n = len(features)
    others = ~torch.eye(n, dtype=torch.bool)
    differences = features[:, None] - features[None, :]
    squared = differences.square().sum(2)
    chosen = num_neighbors - self_neighbor
    hard = torch.zeros(n, n, dtype=features.dtype)
    for i in range(n):
        order = sorted((j for j in range(n) if j != i), key=lambda j, i=i: squared[i, j].item())
        for j in order[:chosen]:
            hard[i, j] = hard[j, i] = 1
    logits = -squared if metric == "squared" else -(squared + 1e-12).sqrt()
    logits = torch.where(others, logits, -torch.inf)
    weights = torch.zeros_like(hard)
    for _ in range(chosen):
        weight = logits.softmax(1)
        weights = weights + weight
        complement = 1 - weight
        logits = logits + complement.log().detach() + ((complement + 1e-7).log() - (complement + 1e-7).log().detach())
    weights = weights + weights.T
    adjacency = hard + weights - weights.detach()
    if self_neighbor:
        adjacency = adjacency + torch.eye(n, dtype=features.dtype)
    degree = adjacency.sum(1)
    laplacian = torch.eye(n, dtype=features.dtype) - adjacency / (degree[:, None] * degree[None, :]).sqrt()
    values = torch.linalg.eigvalsh(laplacian)
    gap = num_communities + gap_offset
    return values[:gap].sum() - values[gap]


@pytest.mark.parametrize("choices", [GapConvention(1, "plain", True), GapConvention(0, "squared", False)])
def test_choices_may_be_given_as_one_convention(choices):
    torch.manual_seed(0)
    features = torch.randn(12, 4, dtype=torch.float64)
    expected = gradient_of(features, 3, 4, **vars(choices))
    assert torch.equal(gradient_of(features, 3, 4, convention=choices), expected)
    assert spectral_gap_loss(features, 3, 4, convention=choices) == spectral_gap_loss(features, 3, 4, **vars(choices))
    stronger = spectral_gap_loss(features, 3, 4, convention=choices, gap_offset=1)
    assert stronger == spectral_gap_loss(features, 3, 4, **{**vars(choices), "gap_offset": 1})


@pytest.mark.parametrize("convention", ["paper", "released"])
@pytest.mark.parametrize("case", range(5))
def test_value_and_gradient_agree_with_the_authors_functions(case, convention):
    features = torch.from_numpy(ORACLE[f"{case}/features"])
    arguments = int(ORACLE[f"{case}/num_communities"]), int(ORACLE[f"{case}/num_neighbors"])
    loss = spectral_gap_loss(features, *arguments, convention=convention)
    expected = torch.from_numpy(ORACLE[f"{case}/{convention}/gradient"])
    found = gradient_of(features, *arguments, convention=convention)
    assert loss.item() == pytest.approx(float(ORACLE[f"{case}/{convention}/loss"]), rel=1e-4)
    assert (found - expected).norm() <= 1e-4 * expected.norm()
    assert (found - expected).abs().max() <= 1e-4 * expected.abs().max()


@pytest.mark.parametrize("self_neighbor", [False, True])
@pytest.mark.parametrize("metric", ["squared", "plain"])
@pytest.mark.parametrize("gap_offset", [0, 1])
@pytest.mark.parametrize("num_neighbors", [3, 6])
def test_every_choice_agrees_with_autograd(num_neighbors, gap_offset, metric, self_neighbor):
    generator = torch.Generator().manual_seed(3)
    centres = torch.randn(4, 6, generator=generator, dtype=torch.float64)
    features = centres.repeat(5, 1) + 0.7 * torch.randn(20, 6, generator=generator, dtype=torch.float64)
    leaf = features.clone().requires_grad_()
    expected = reference_loss(leaf, 4, num_neighbors, gap_offset, metric, self_neighbor)
    expected.backward()
    choices = {"gap_offset": gap_offset, "surrogate_metric": metric, "self_neighbor": self_neighbor}
    assert spectral_gap_loss(features, 4, num_neighbors, **choices).item() == pytest.approx(expected.item(), abs=1e-9)
    found = gradient_of(features, 4, num_neighbors, **choices)
    torch.testing.assert_close(found, leaf.grad, rtol=1e-5, atol=1e-8)


def test_saturated_soft_choice_differs_by_type_and_float32_is_the_reference():
    features = 15 * torch.randn(12, 4, generator=torch.Generator().manual_seed(1))
    gradients = []
    for dtype in (torch.float32, torch.float64):
        leaf = features.clone().to(dtype).requires_grad_()
        reference_loss(leaf, 3, 4).backward()
        gradients.append(gradient_of(leaf.detach(), 3, 4))
        assert (gradients[-1] - leaf.grad).norm() <= 0.01 * leaf.grad.norm()
    values = [spectral_gap_loss(features.to(dtype), 3, 4).item() for dtype in (torch.float32, torch.float64)]
    assert values[0] == pytest.approx(values[1], abs=1e-5)
    assert torch.cosine_similarity(gradients[0].double().flatten(), gradients[1].flatten(), dim=0) < 0.9


@pytest.mark.parametrize("distance", [1e-5, 1e-4, 3e-4, 1e-3])
def test_gradient_of_plain_distances_is_right_for_points_that_nearly_coincide(distance):
    generator = torch.Generator().manual_seed(0)
    base = torch.randn(20, 16, generator=generator)
    features = torch.cat([base, base[:10] + distance * torch.randn(10, 16, generator=generator) / 4])
    exact = gradient_of(features.double(), 3, 3, surrogate_metric="plain")
    found = gradient_of(features, 3, 3, surrogate_metric="plain")
    assert (found - exact).norm() <= 0.03 * exact.norm()  # from Gram distances: up to 190 times the gradient
    loss = spectral_gap_loss(features.requires_grad_(), 3, 3, surrogate_metric="plain")
    assert loss.item() == spectral_gap_loss(features, 3, 3).item()


def test_points_that_coincide_do_not_move_each_other():
    places = 10 * torch.randn(3, 8, generator=torch.Generator().manual_seed(0))
    gradient = gradient_of(places.repeat_interleave(4, 0), 2, 5, surrogate_metric="plain")
    assert gradient.norm() < 1e-9  # the soft choice is saturated; rounding, times the steepest slope, was 0.15


def test_one_neighbor_gives_the_gradient_of_its_one_round():
    features = torch.tensor([[0.0], [1.0], [2.5]], dtype=torch.float64)  # a path: eigenvalues 0, 1, 2
    leaf = features.clone().requires_grad_()
    reference_loss(leaf, 1, 1).backward()
    assert leaf.grad.abs().max() > 1e-3
    torch.testing.assert_close(gradient_of(features, 1, 1), leaf.grad, rtol=1e-5, atol=1e-9)


def test_a_point_with_no_neighbor_but_itself_has_no_gradient():
    features = torch.randn(5, 2, generator=torch.Generator().manual_seed(0))
    assert spectral_gap_loss(features, 2, 1, self_neighbor=True).item() == 0
    assert (gradient_of(features, 2, 1, self_neighbor=True) == 0).all()


@pytest.mark.parametrize(
    ("points", "num_communities", "num_neighbors", "paper", "released"),
    [
        pytest.param([[0.0], [1], [10], [11]], 2, 1, -2, 0, id="two pairs: 0 0 2 2"),
        pytest.param([[0.0], [1], [2], [100], [101], [102]], 2, 2, -1.5, 0, id="two triples: 0 0 1.5 x 4"),
        pytest.param(
            [[math.cos(2 * math.pi * j / 6), math.sin(2 * math.pi * j / 6)] for j in range(6)],
            2,
            2,
            0 + 0.5 - 0.5,
            0 + 0.5 + 0.5 - 1.5,
            id="hexagon: 0 .5 .5 1.5 1.5 2",
        ),
        pytest.param(torch.eye(6).tolist(), 1, 5, -1.2, 0, id="complete graph: 0, 1.2 x 5"),
    ],
)
def test_closed_forms(points, num_communities, num_neighbors, paper, released):
    features = torch.tensor(points)
    assert spectral_gap_loss(features, num_communities, num_neighbors).item() == pytest.approx(paper, abs=1e-5)
    found = spectral_gap_loss(features, num_communities, num_neighbors, convention="released")
    assert found.item() == pytest.approx(released, abs=1e-5)


@pytest.mark.parametrize(("p", "s"), [(16, 4), (8, 8), (3, 20)])
def test_separate_cliques_reach_the_minimum(p, s):
    generator = torch.Generator().manual_seed(0)
    features = 100 * torch.eye(p).repeat_interleave(s, 0) + 0.1 * torch.randn(p * s, p, generator=generator)
    assert spectral_gap_loss(features, p, s - 1).item() == pytest.approx(-s / (s - 1), abs=1e-4)


def test_k_equal_to_the_class_size_prevents_the_minimum_without_self_neighbor():
    generator = torch.Generator().manual_seed(0)
    features = 100 * torch.eye(8).repeat_interleave(8, 0) + 0.1 * torch.randn(64, 8, generator=generator)
    assert spectral_gap_loss(features, 8, 8).item() > 0
    # Cliques of 8 with loops: A = 11ᵀ in each block, so the spectrum is 0 x 8, then 1.
    assert spectral_gap_loss(features, 8, 8, self_neighbor=True).item() == pytest.approx(-1, abs=1e-5)


@pytest.mark.parametrize("metric", ["squared", "plain"])
def test_rigid_motions_change_nothing(metric):
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(30, 8, generator=generator, dtype=torch.float64)
    rotation, _ = torch.linalg.qr(torch.randn(8, 8, generator=generator, dtype=torch.float64))
    moved = features @ rotation + torch.randn(8, generator=generator, dtype=torch.float64)
    loss = spectral_gap_loss(features, 4, 3, surrogate_metric=metric)
    assert spectral_gap_loss(moved, 4, 3, surrogate_metric=metric).item() == pytest.approx(loss.item(), abs=1e-9)
    expected = gradient_of(features, 4, 3, surrogate_metric=metric) @ rotation
    torch.testing.assert_close(gradient_of(moved, 4, 3, surrogate_metric=metric), expected, rtol=1e-5, atol=1e-9)


def test_the_order_of_the_points_does_not_matter():
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(30, 8, generator=generator, dtype=torch.float64)
    order = torch.randperm(30, generator=generator)
    loss, shuffled = spectral_gap_loss(features, 4, 3), spectral_gap_loss(features[order], 4, 3)
    assert shuffled.item() == pytest.approx(loss.item(), abs=1e-9)
    torch.testing.assert_close(gradient_of(features[order], 4, 3), gradient_of(features, 4, 3)[order])


def test_descending_the_loss_opens_the_gap():
    generator = torch.Generator().manual_seed(0)
    features = (0.3 * torch.randn(32, 8, generator=generator)).requires_grad_()
    optimizer = torch.optim.SGD([features], lr=0.02)
    losses = []
    for _ in range(200):
        loss = spectral_gap_loss(features, 4, 7)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 0.5


def test_a_far_away_origin_does_not_blur_the_graph():
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(40, 8, generator=generator)
    near, far = spectral_gap_loss(features, 4, 5), spectral_gap_loss(features + 1000, 4, 5)
    assert far.item() == pytest.approx(near.item(), abs=1e-4)


def test_gradient_scales_with_the_incoming_one():
    features = torch.randn(12, 4, generator=torch.Generator().manual_seed(0))
    leaf = features.clone().requires_grad_()
    (3 * spectral_gap_loss(leaf, 2, 3)).backward()
    torch.testing.assert_close(leaf.grad, 3 * gradient_of(features, 2, 3))


KINDS = ("random", "identical", "duplicated", "clusters", "line", "equidistant", "zero")


def features_of(kind, n, d, seed):
    generator = torch.Generator().manual_seed(seed)
    points = torch.randn(n, d, generator=generator, dtype=torch.float64)
    if kind == "identical":
        return points[:1].repeat(n, 1)
    if kind == "duplicated":
        return points[torch.randint(0, max(1, n // 3), (n,), generator=generator)]
    if kind == "clusters":
        return 1e3 * points[torch.arange(n) % 3 % n] + 1e-3 * points
    if kind == "line":
        return torch.arange(n, dtype=torch.float64)[:, None].repeat(1, d)
    if kind == "equidistant":
        return torch.eye(n, dtype=torch.float64)
    return torch.zeros(n, d, dtype=torch.float64) if kind == "zero" else points


@settings(max_examples=1000, deadline=None, derandomize=True)
@given(
    kind=st.sampled_from(KINDS),
    n=st.integers(2, 20),
    d=st.integers(1, 6),
    data=st.data(),
    exponent=st.integers(-44, 38),
    dtype=st.sampled_from([torch.float32, torch.float64, torch.bfloat16, torch.float16]),
    convention=st.sampled_from(["paper", "released"]),
    metric=st.sampled_from(["squared", "plain"]),
    self_neighbor=st.booleans(),
    seed=st.integers(0, 2**31),
)
def test_gradient_is_finite_whatever_the_features(
    kind, n, d, data, exponent, dtype, convention, metric, self_neighbor, seed
):
    offset = 1 if convention == "released" else 0
    n = max(n, 2 + offset)
    num_communities = data.draw(st.sampled_from([1, n - 1 - offset]) | st.integers(1, n - 1 - offset))
    num_neighbors = data.draw(st.sampled_from([1, n - 1, n, 5 * n]) | st.integers(1, n))
    scale = 10.0 ** (exponent if dtype != torch.float64 else 4 * exponent)
    limit = torch.finfo(dtype).max / 2
    features = (features_of(kind, n, d, seed) * scale).clamp(-limit, limit).to(dtype).requires_grad_()
    with torch.autocast("cpu", torch.bfloat16, enabled=dtype == torch.bfloat16):
        loss = spectral_gap_loss(
            features,
            num_communities,
            num_neighbors,
            convention=convention,
            surrogate_metric=metric,
            self_neighbor=self_neighbor,
        )
    loss.backward()
    assert loss.isfinite()
    assert loss.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert features.grad.isfinite().all()


def test_three_components_and_a_gap_at_two_give_a_finite_gradient():
    points = torch.tensor([[0.0], [1], [100], [101], [200], [201]])
    assert gradient_of(points, 2, 1).isfinite().all()


def test_more_neighbors_than_points_are_reduced_silently():
    features = torch.randn(6, 3, generator=torch.Generator().manual_seed(0))
    assert spectral_gap_loss(features, 2, 100).item() == spectral_gap_loss(features, 2, 5).item()


def test_half_precision_features_under_autocast_are_computed_in_float32():
    features = torch.randn(16, 8, generator=torch.Generator().manual_seed(0)).bfloat16()
    with torch.autocast("cpu", torch.bfloat16):
        loss = spectral_gap_loss(features, 3, 4)
    assert loss.dtype == torch.float32
    assert loss.item() == spectral_gap_loss(features.float(), 3, 4).item()


@pytest.mark.parametrize(
    ("features", "num_communities", "num_neighbors", "choices", "named"),
    [
        (torch.zeros(5), 2, 2, {}, ("features", "(n, d)", "(5,)")),
        (torch.zeros(5, 2, 1), 2, 2, {}, ("features", "(n, d)", "(5, 2, 1)")),
        (torch.zeros(5, 2, dtype=torch.int64), 2, 2, {}, ("features", "floating", "int64")),
        (torch.zeros(5, 0), 2, 2, {}, ("features", "column", "(5, 0)")),
        (torch.full((5, 2), torch.nan), 2, 2, {}, ("features", "finite", "(10 of 10)")),
        (torch.tensor([[0.0], [1.0], [torch.inf]]), 1, 1, {}, ("features", "finite", "(1 of 3)")),
        (torch.tensor([[0.0], [1.0], [-torch.inf]]), 1, 1, {}, ("features", "finite", "(1 of 3)")),
        (torch.zeros(3, 2), 3, 2, {}, ("features", "rows", "3 rows")),
        (torch.zeros(3, 2), 2, 2, {"convention": "released"}, ("features", "2 + 1", "3 rows")),
        (torch.zeros(5, 2), 0, 2, {}, ("num_communities", "at least 1", "0")),
        (torch.zeros(5, 2), 2, 0, {}, ("num_neighbors", "at least 1", "0")),
        (torch.zeros(5, 2), 2.0, 2, {}, ("num_communities", "an integer", "2.0")),
        (torch.zeros(5, 2), torch.zeros(5).long(), 2, {}, ("num_communities", "takes no labels", "shape (5,)")),
        (torch.zeros(5, 2), 2, None, {}, ("num_neighbors", "an integer", "None")),
        (torch.zeros(5, 2), 2, 2, {"convention": []}, ("convention", "'paper', 'released'", "[]")),
        (torch.zeros(5, 2), 2, 2, {"gap_offset": 1.0}, ("gap_offset", "0 or 1", "1.0")),
        (torch.zeros(5, 2), 2, 2, {"gap_offset": torch.zeros(2)}, ("gap_offset", "0 or 1", "shape (2,)")),
        (torch.zeros(5, 2), 2, 2, {"self_neighbor": "no"}, ("self_neighbor", "True or False", "'no'")),
        (torch.zeros(5, 2), 2, 2, {"convention": "mine"}, ("convention", "'paper', 'released'", "mine")),
        (torch.zeros(5, 2), 2, 2, {"gap_offset": 2}, ("gap_offset", "0 or 1", "2")),
        (torch.zeros(5, 2), 2, 2, {"surrogate_metric": "l1"}, ("surrogate_metric", "'squared' or 'plain'", "l1")),
    ],
)
def test_what_is_undefined_is_named(features, num_communities, num_neighbors, choices, named):
    with pytest.raises(ParameterError) as caught:
        spectral_gap_loss(features, num_communities, num_neighbors, **choices)
    for part in named:
        assert part in str(caught.value)
    assert caught.value.parameter == named[0]


@pytest.mark.parametrize("choices", [(2,), (0, "l1"), (0, "plain", "no")])
def test_a_convention_cannot_be_made_of_unknown_choices(choices):
    with pytest.raises(ParameterError):
        GapConvention(*choices)


def test_gradient_beyond_the_range_of_float16_is_its_largest_value():
    features = torch.randn(12, 4, generator=torch.Generator().manual_seed(0)).half().requires_grad_()
    (1e6 * spectral_gap_loss(features, 3, 3)).backward()
    assert features.grad.dtype == torch.float16
    assert features.grad.abs().max() == torch.finfo(torch.float16).max


def test_a_second_derivative_is_refused_in_the_first_backward():
    features = torch.randn(12, 4, generator=torch.Generator().manual_seed(0)).requires_grad_()
    with pytest.raises(RuntimeError, match="no second derivative: call backward without create_graph=True"):
        torch.autograd.grad(spectral_gap_loss(features, 3, 3), features, create_graph=True)
    with torch.enable_grad():  # in the caller only: autograd turns it off for the backward pass
        (gradient,) = torch.autograd.grad(spectral_gap_loss(features, 3, 3), features)
    assert torch.equal(gradient, gradient_of(features.detach(), 3, 3))


def test_compiled_training_code_gives_the_same_gradient():
    torch.manual_seed(0)
    layer, inputs = torch.nn.Linear(6, 4), torch.randn(20, 6)
    compiled = torch.compile(lambda p, k: spectral_gap_loss(layer(inputs).relu(), p, k), backend="aot_eager")
    for p, k in ((3, 3), (4, 5), (5, 6)):  # from the second on, the counts are symbols in the compiled code
        expected = spectral_gap_loss(layer(inputs).relu(), p, k)
        (gradient,) = torch.autograd.grad(expected, layer.weight)
        found = compiled(p, k)
        assert found.item() == expected.item()
        torch.testing.assert_close(torch.autograd.grad(found, layer.weight)[0], gradient)


def test_compiled_code_differs_from_eager_code_by_rounding_only():
    features = torch.randn(64, 32, generator=torch.Generator().manual_seed(0), dtype=torch.float64).requires_grad_()
    compiled = torch.compile(lambda batch: spectral_gap_loss(batch, 8, 5), backend="aot_eager")(features)
    (found,) = torch.autograd.grad(compiled, features)
    torch.testing.assert_close(found, gradient_of(features.detach(), 8, 5), rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("metric", ["squared", "plain"])
def test_backward_within_autocast_is_computed_in_float32(metric):
    features = torch.randn(24, 8, generator=torch.Generator().manual_seed(0))
    expected = gradient_of(features, 3, 4, surrogate_metric=metric)
    with torch.autocast("cpu", torch.bfloat16):
        found = gradient_of(features, 3, 4, surrogate_metric=metric)
    assert torch.equal(found, expected)


@pytest.mark.parametrize(("kind", "classes"), [(np.uint8, 255), (np.int8, 127)])
def test_small_integers_of_numpy_do_not_overflow(kind, classes):
    features = torch.randn(300, 4, generator=torch.Generator().manual_seed(0))
    expected = spectral_gap_loss(features, classes, 4, convention="released")
    assert torch.equal(spectral_gap_loss(features, kind(classes), kind(4), convention="released"), expected)
