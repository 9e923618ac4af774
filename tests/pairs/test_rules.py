"""The rules that keep comparisons honest, over the product of all methods and regularizers."""

from itertools import product

import pytest
import torch

from casper.config import METHODS, REGULARIZERS
from support import (
    HERDING,
    IGNORING_RUNNING_STATISTICS,
    MEMORYLESS,
    METHOD_ARGUMENTS,
    REGULARIZER_ARGUMENTS,
    REHEARSING,
    WITHOUT_EFFECT,
    DropoutConvNet,
    assert_same_state,
    regularizer,
    small_trainer,
    without_seconds,
)

PAIRS = list(product(REHEARSING, REGULARIZERS))
NEEDING_MEMORY = [name for name, kind in REGULARIZERS.items() if kind.needs_memory]


def test_listed():
    assert METHOD_ARGUMENTS.keys() == METHODS.keys()
    assert REGULARIZER_ARGUMENTS.keys() == REGULARIZERS.keys()


def run_to_the_end(method, regularizers=(), **changes):
    trainer = small_trainer(method, regularizers, **changes)
    trainer.run()
    return trainer


@pytest.mark.parametrize(("method", "name"), PAIRS)
def test_weight_zero_is_the_same_as_absent(method, name):
    plain = run_to_the_end(method)
    zero = run_to_the_end(method, [regularizer(name, **WITHOUT_EFFECT[name])])
    assert_same_state(without_seconds(plain.state_dict()), without_seconds(zero.state_dict()))


@pytest.mark.parametrize(("method", "name"), PAIRS)
def test_a_regularizer_leaves_the_methods_randomness_alone(method, name):
    plain = run_to_the_end(method, backbone=DropoutConvNet).state_dict()
    regularized = run_to_the_end(method, [regularizer(name)], backbone=DropoutConvNet).state_dict()
    assert_same_state(plain["generators"], regularized["generators"])
    assert_same_state(plain["global_generators"], regularized["global_generators"])


@pytest.mark.parametrize(("method", "name"), PAIRS)
def test_with_and_without_see_the_same_items_in_the_same_views(method, name):
    def seen(regularizers):
        trainer = small_trainer(method, regularizers)
        steps = []
        forward = trainer.method.forward

        def recording(step):
            batches = (step.stream, *step.replays)
            steps.append([batch.labels if method in HERDING else (batch.labels, batch.inputs) for batch in batches])
            return forward(step)

        trainer.method.forward = recording
        trainer.run()
        memory = trainer.memory.state_dict()
        # Stored logits, and what herding keeps of a class, follow the network; which rows are replaced does not.
        return steps, memory["seen"], memory["labels"], None if method in HERDING else memory["images"]

    assert_same_state(seen([]), seen([regularizer(name)]))


@pytest.mark.parametrize(("method", "name"), PAIRS)
def test_every_term_has_a_gradient_and_forward_only_has_no_term(method, name):
    part = regularizer(name)
    trainer = small_trainer(method, [part])
    terms, reached = [], []
    compute = part.loss

    def recording(step, passes, generator):
        features = []
        hook = step.net.backbone.register_forward_hook(lambda *call: features.append(call[-1][0]))
        loss = compute(step, passes, generator)
        hook.remove()
        if loss is not None:
            inputs = [*step.net.parameters(), *features]
            gradients = torch.autograd.grad(loss, inputs, retain_graph=True, allow_unused=True)
            own = [output.features for output in passes.values() if output.features.requires_grad]
            own_gradients = torch.autograd.grad(loss, own, retain_graph=True, allow_unused=True)
            moved = [gradient is not None and bool(gradient.abs().max() > 0) for gradient in gradients]
            on_features = [*gradients[len(gradients) - len(features) :], *own_gradients]
            terms.append(any(moved))
            reached.append(any(gradient is not None and gradient.abs().max() > 0 for gradient in on_features))
        return loss

    part.loss = recording
    trainer.run()
    if name == "forward-only":
        assert terms == []
    else:
        assert len(terms) > 10
        assert all(terms)
        assert all(reached)


def without_means(state):
    """A method's state without class means: features in evaluation mode, which do follow the running statistics."""
    return {key: value for key, value in state.items() if key != "means"}


@pytest.mark.parametrize("method", IGNORING_RUNNING_STATISTICS)
def test_forward_only_changes_batch_norms_statistics_and_nothing_else(method):
    plain = run_to_the_end(method)
    control = run_to_the_end(method, [regularizer("forward-only")])
    assert_same_state(dict(plain.net.named_parameters()), dict(control.net.named_parameters()))
    assert_same_state(plain.memory.state_dict(), control.memory.state_dict())
    assert_same_state(*(without_means(trainer.method.state_dict()) for trainer in (plain, control)))
    plain_buffers, control_buffers = dict(plain.net.named_buffers()), dict(control.net.named_buffers())
    running = [name for name in plain_buffers if name.rpartition(".")[2] in ("running_mean", "running_var")]
    assert running
    assert all(not torch.equal(plain_buffers[name], control_buffers[name]) for name in running)


@pytest.mark.parametrize("method", IGNORING_RUNNING_STATISTICS)
def test_recalibration_undoes_what_forward_only_does(method):
    plain = run_to_the_end(method, recalibrate=True)
    control = run_to_the_end(method, [regularizer("forward-only")], recalibrate=True)
    assert plain.evaluator.recalibrated_record.matrices == control.evaluator.recalibrated_record.matrices


@pytest.mark.parametrize("method", REHEARSING)
def test_forward_only_and_casper_draw_the_same_items(method):
    def drawn(name):
        part = regularizer(name)
        draw = part.replay.rows
        rows = []

        def recording(step, generator):
            rows.append(draw(step, generator))
            return rows[-1]

        object.__setattr__(part.replay, "rows", recording)
        run_to_the_end(method, [part])
        return rows

    assert_same_state(drawn("forward-only"), drawn("casper"))


@pytest.mark.parametrize("method", REHEARSING)  # of every pair, test_resume shows it beside more
def test_the_same_seed_gives_the_same_bits(method):
    first, second = (run_to_the_end(method, [regularizer("casper"), regularizer("cscct")]) for _ in range(2))
    assert_same_state(
        {**first.state_dict(), "seconds": None, "metrics": {**first.metrics(), "seconds": None}},
        {**second.state_dict(), "seconds": None, "metrics": {**second.metrics(), "seconds": None}},
    )


@pytest.mark.parametrize("method", METHODS)
def test_a_method_used_before_starts_anew(method):
    fresh = run_to_the_end(method)
    used = fresh.method
    again = small_trainer(used)
    again.run()
    twin = run_to_the_end(method)
    assert_same_state(
        {**again.state_dict(), "seconds": None, "metrics": {**again.metrics(), "seconds": None}},
        {**twin.state_dict(), "seconds": None, "metrics": {**twin.metrics(), "seconds": None}},
    )


@pytest.mark.parametrize(("method", "name"), list(product(MEMORYLESS, NEEDING_MEMORY)))
def test_a_regularizer_that_needs_a_memory_is_refused_where_there_is_none(method, name):
    with pytest.raises(ValueError, match=f"'{name}', which needs a memory"):
        small_trainer(method, [regularizer(name)])


@pytest.mark.parametrize("names", [["forward-only", "casper"], ["casper", "forward-only"], ["casper", "cscct"]])
def test_regularizers_act_together_in_the_given_order(names):
    parts, called = [regularizer(name) for name in names], []
    for part in parts:
        part.loss = lambda *arguments, name=part.name, loss=part.loss: called.append(name) or loss(*arguments)
    run_to_the_end("er-ace", parts)
    assert called == names * (len(called) // 2)
    assert called
