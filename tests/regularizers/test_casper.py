from dataclasses import replace

import pytest
import torch

from casper import CaSpeR, ForwardOnly, spectral_gap_loss, split_digits
from casper.memory import reservoir
from casper.regularizers.passes import ReplayPass
from casper.step import Progress
from casper.streams import hide_labels
from casper.types import Batch
from support import small_trainer


def step_with(labels, *, features=None, task=1, batch_size=16):
    """A step whose memory holds items with these labels, and whose network gives them these features."""
    trainer = small_trainer("er", batch_size=batch_size, buffer_size=max(len(labels), 1))
    images = torch.arange(len(labels), dtype=torch.uint8)[:, None, None, None].expand(-1, 1, 8, 8)
    trainer.memory.insert(images, torch.tensor(labels), policy=reservoir, generator=torch.Generator())
    if features is not None:
        trainer.net.backbone.forward = lambda inputs: (features[: len(inputs)], ())
        trainer.net.head = torch.nn.Identity()
    return trainer.method.make_step(None, trainer.stream[task], Progress(0, 1, 0))


def loss(part, step):
    part.seed(0)
    passes = {"stream": None}  # the method learns in this step
    return part.loss(step, passes, torch.Generator().manual_seed(0))


FEATURES = torch.randn(64, 6, generator=torch.Generator().manual_seed(1))


def test_there_is_no_term_in_the_first_task():
    assert loss(CaSpeR(1.0, 2, 3), step_with([0, 1] * 10, task=0)) is None


def test_gap_lies_at_the_classes_drawn():
    step = step_with([0, 1, 2] * 10, features=FEATURES)
    found = loss(CaSpeR(1.0, 8, 3), step)  # eight requested, three available
    assert found.item() == spectral_gap_loss(FEATURES[:16], 3, 3).item()


def test_gap_can_lie_at_the_requested_classes():
    step = step_with([0, 1, 2] * 10, features=FEATURES)
    found = loss(CaSpeR(1.0, 8, 3, gap_at="asked"), step)
    assert found.item() == spectral_gap_loss(FEATURES[:16], 8, 3).item()


def test_the_released_convention_uses_the_requested_classes_and_offset_one():
    step = step_with([0, 1, 2] * 10, features=FEATURES)
    found = loss(CaSpeR(1.0, 8, 3, convention="released"), step)
    assert found.item() == spectral_gap_loss(FEATURES[:16], 9, 3).item()


@pytest.mark.parametrize(
    "choices", [{"gap_offset": 1}, {"surrogate_metric": "plain"}, {"self_neighbor": True}, {"convention": "released"}]
)
def test_choices_reach_the_loss(choices):
    features = FEATURES.clone().requires_grad_()
    step = step_with([0, 1, 2] * 10, features=features)
    found = loss(CaSpeR(1.0, 3, 4, gap_at="drawn", **choices), step)
    expected = spectral_gap_loss(features[:16], 3, 4, **choices)
    assert found.item() == expected.item()
    gradients = [torch.autograd.grad(value, features)[0] for value in (found, expected)]
    assert torch.equal(*gradients)


def test_all_takes_the_whole_memory_and_the_classes_in_it():
    step = step_with([0, 1, 2, 3] * 10, features=FEATURES)
    found = loss(CaSpeR(1.0, 2, 3, sampling="all", gap_at="asked"), step)
    assert found.item() == spectral_gap_loss(FEATURES[:40], 4, 3).item()


@pytest.mark.parametrize("labels", [[0], [0, 0, 0], [0, 1], [0, 0, 1, 1]])
@pytest.mark.parametrize("sampling", ["balanced", "uniform", "all"])
@pytest.mark.parametrize("convention", ["paper", "released"])
def test_too_few_classes_or_items_never_raise(labels, sampling, convention):
    found = loss(CaSpeR(1.0, 8, 3, sampling=sampling, convention=convention), step_with(labels))
    assert found is None or found.isfinite()


def test_features_that_are_not_finite_never_raise():
    step = step_with([0, 1] * 10, features=torch.full((64, 6), torch.nan))
    assert loss(CaSpeR(1.0, 2, 3), step) is None


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"weight": -1.0}, "weight"),
        ({"weight": float("nan")}, "weight"),
        ({"num_classes": 0}, "num_classes"),
        ({"num_neighbors": 0}, "num_neighbors"),
        ({"sampling": "random"}, "sampling"),
        ({"gap_at": "p"}, "gap_at"),
        ({"convention": "mine"}, "convention"),
        ({"gap_offset": 2}, "gap_offset"),
    ],
)
def test_bad_parameters_are_named(arguments, named):
    with pytest.raises(ValueError, match=f"`{named}`"):
        CaSpeR(**{"weight": 1.0, "num_classes": 4, "num_neighbors": 3, **arguments})


def test_minimising_it_in_training_opens_the_gap_of_replayed_features():
    def mean_loss_at_the_end(weight):
        part = CaSpeR(weight, 6, 3)
        settings = {"epochs": 2, "buffer_size": 30, "batch_size": 24, "lr": 0.03}
        trainer = small_trainer("er-ace", [part], stream=split_digits()[:3], **settings)
        terms = []
        trainer.listeners = (lambda event: terms.append(getattr(event, "terms", {}).get("casper")),)
        trainer.run()
        return torch.stack([term for term in terms if term is not None][-30:]).mean().item() / weight

    assert mean_loss_at_the_end(1.0) < mean_loss_at_the_end(1e-9) - 0.2


def test_gap_lies_at_the_classes_drawn_and_not_at_those_in_the_memory():
    step = step_with([0, 1, 2, 3] * 10, features=FEATURES)
    assert loss(CaSpeR(1.0, 2, 3), step).item() == spectral_gap_loss(FEATURES[:16], 2, 3).item()


def test_the_draw_and_the_pass_are_as_requested():
    part = CaSpeR(1.0, 5, 3, num_samples=9, sampling="uniform", update_statistics=False)
    assert part.replay == ReplayPass(5, 9, "uniform", update_statistics=False, shrink=False)
    assert CaSpeR(1.0, 5, 3, convention="released").replay == ReplayPass(5, None, "balanced", True, shrink=True)


def stream_step(*, features, hides_labels=True, task=0, trusts_labels=True, memory=(0,)):
    """A step whose stream batch has 16 items, with these features."""
    step = step_with(list(memory), features=features, task=task)
    images = torch.zeros(16, 1, 8, 8)
    stream = Batch(images.byte(), torch.full((16,), -1), images)
    return replace(step, stream=stream, hides_labels=hides_labels, trusts_labels=trusts_labels)


def test_hidden_labels_bring_a_term_of_the_stream_from_the_first_task_on():
    step = stream_step(features=FEATURES)
    assert loss(CaSpeR(1.0, 8, 3), step).item() == spectral_gap_loss(FEATURES[:16], 2, 6).item()
    assert loss(CaSpeR(1.0, 8, 3), stream_step(features=FEATURES, hides_labels=False)) is None
    assert loss(CaSpeR(1.0, 8, 3, stream_term=False), step) is None


def test_both_terms_have_their_weights():
    step = stream_step(features=FEATURES, task=1, memory=[0, 1, 2] * 10)
    of_memory = spectral_gap_loss(FEATURES[:16], 3, 3)
    of_stream = spectral_gap_loss(FEATURES[:16], 2, 6)
    part = CaSpeR(0.1, 8, 3)
    part.seed(0)
    torch.testing.assert_close(part.term(step, {"stream": None}), 0.1 * of_memory + 0.1 * of_stream)
    part = CaSpeR(0.1, 8, 3, stream_weight=0.4)
    part.seed(0)
    torch.testing.assert_close(part.term(step, {"stream": None}), 0.1 * of_memory + 0.4 * of_stream)
    torch.testing.assert_close(loss(CaSpeR(0.1, 8, 3, stream_weight=0.0), step), of_memory)


def test_gap_and_neighbours_of_the_stream_can_be_set():
    step = stream_step(features=FEATURES, hides_labels=False)
    part = CaSpeR(1.0, 8, 3, stream_term=True, stream_classes=5, stream_neighbors=4, gap_offset=1)
    assert loss(part, step).item() == spectral_gap_loss(FEATURES[:16], 5, 4, gap_offset=1).item()
    assert loss(CaSpeR(1.0, 8, 3, stream_term=True, stream_classes=16), step) is None  # too few items


def test_the_authors_reading_of_the_streams_term_is_k_at_the_classes_and_the_gap_at_p():
    step = stream_step(features=FEATURES)
    part = CaSpeR(1.0, 8, 3, stream_gap="asked", stream_neighbors="classes")
    assert loss(part, step).item() == spectral_gap_loss(FEATURES[:16], 8, 2).item()
    part = CaSpeR(1.0, 8, 3, stream_gap="classes", stream_neighbors="classes")
    assert loss(part, step).item() == spectral_gap_loss(FEATURES[:16], 2, 2).item()
    part = CaSpeR(1.0, 8, 3, stream_gap="asked", stream_neighbors=4, stream_classes=5)
    assert loss(part, step).item() == spectral_gap_loss(FEATURES[:16], 5, 4).item()
    part.check(batch_size=16)


def test_a_step_in_which_the_method_learns_nothing_has_the_streams_term_alone():
    def term(part, step):
        part.seed(0)
        return part.loss(step, {}, torch.Generator().manual_seed(0))

    step = stream_step(features=FEATURES, task=1, memory=[0, 1, 2] * 10)
    assert term(CaSpeR(1.0, 8, 3), step).item() == spectral_gap_loss(FEATURES[:16], 2, 6).item()
    assert term(CaSpeR(1.0, 8, 3, stream_always=False), step) is None


def test_gap_lies_at_the_requested_classes_if_labels_are_not_trusted():
    step = stream_step(features=FEATURES, task=1, memory=[0, 1, 2] * 10, hides_labels=False, trusts_labels=False)
    assert loss(CaSpeR(1.0, 8, 3), step).item() == spectral_gap_loss(FEATURES[:16], 8, 3).item()
    assert loss(CaSpeR(1.0, 8, 3, gap_at="drawn"), step).item() == spectral_gap_loss(FEATURES[:16], 3, 3).item()
    assert loss(CaSpeR(1.0, 8, 3, trust_labels=True), step).item() == spectral_gap_loss(FEATURES[:16], 3, 3).item()


@pytest.mark.parametrize(
    "choice",
    [
        {"stream_weight": -1.0},
        {"stream_classes": 0},
        {"stream_neighbors": 0},
        {"stream_weight": float("nan")},
        {"stream_gap": "drawn"},
    ],
)
def test_bad_choices_for_the_stream_are_named(choice):
    with pytest.raises(ValueError, match=next(iter(choice))):
        CaSpeR(1.0, 8, 3, **choice)


def test_the_methods_pass_is_unchanged():
    """The stream's term passes the batch once more, in steps of the first task too, and the method's pass stays."""

    def passes(regularizers):
        stream = hide_labels(split_digits()[:1], per_class=6)
        trainer = small_trainer("er-ace", regularizers, stream=stream)
        sizes = []
        trainer.net.register_forward_hook(lambda net, given, _: sizes.append(len(given[0])) if net.training else None)
        trainer.run_phase()
        return sizes

    plain, with_term = passes([]), passes([CaSpeR(1e-9, 3, 3, update_statistics=False)])
    control = passes([ForwardOnly(1.0, 3)])
    whole = [16] * 15 + [1]
    assert sum(plain) == 12  # the labelled items
    assert sorted(with_term) == sorted([*plain, *whole])
    assert control == with_term


def test_a_stream_term_that_could_never_act_is_refused():
    with pytest.raises(ValueError, match="stream_weight"):
        CaSpeR(0.0, 8, 3, stream_weight=1.0)
    CaSpeR(1.0, 8, 3, stream_classes=15).check(batch_size=16)
    with pytest.raises(ValueError, match="stream_classes"):
        CaSpeR(1.0, 8, 3, stream_classes=16).check(batch_size=16)


def test_requested_neighbours_must_fit_into_the_stream_batch():
    CaSpeR(1.0, 2, 3, stream_neighbors=7).check(batch_size=8)
    CaSpeR(1.0, 2, 3).check(batch_size=4)  # the usual six are cut
    with pytest.raises(ValueError, match="stream_neighbors"):
        CaSpeR(1.0, 2, 3, stream_neighbors=8).check(batch_size=8)


def test_the_whole_memory_has_the_requested_communities_if_labels_are_not_trusted():
    step = stream_step(features=FEATURES, task=1, memory=[0, 1, 2] * 10, hides_labels=False, trusts_labels=False)
    found = loss(CaSpeR(1.0, 8, 3, sampling="all"), step)
    assert found.item() == spectral_gap_loss(FEATURES[:30], 8, 3).item()
