import pytest
import torch

from casper.randomness import (
    METHOD_GENERATORS,
    OwnRandomness,
    generator_states,
    global_state,
    method_generators,
    named_generator,
    named_seed,
    seed_everything,
    set_generator_states,
    set_global_state,
)


def draws(generator, number=5):
    return torch.rand(number, generator=generator).tolist()


def own_draws(own, number=3):
    with own.acting() as generator:
        return draws(generator, number), torch.rand(number).tolist()


def test_named_seeds_never_change():
    assert named_seed(0, "order") == 3278857439845718984
    assert named_seed(7, "casper") == 372185549657100041


def test_named_seeds_are_distinct_and_of_63_bits():
    seeds = {named_seed(seed, name) for seed in range(50) for name in (*METHOD_GENERATORS, "1", "11", "")}
    assert len(seeds) == 50 * 7
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert max(seeds) > 2**62


def test_named_generator_follows_seed_and_name():
    assert draws(named_generator(3, "order")) == draws(named_generator(3, "order"))
    assert draws(named_generator(3, "order")) != draws(named_generator(4, "order"))
    assert draws(named_generator(3, "order")) != draws(named_generator(3, "memory"))


def test_named_generators_leave_the_global_one_alone():
    before = torch.get_rng_state()
    draws(named_generator(3, "order"))
    assert torch.equal(torch.get_rng_state(), before)


def test_method_generators_are_independent():
    generators = method_generators(5)
    assert set(generators) == {"order", "augment", "memory", "replay"}
    draws(generators["order"], 100)
    for name in ("augment", "memory", "replay"):
        assert draws(generators[name]) == draws(named_generator(5, name))


def test_generator_states_continue_where_they_were():
    generators = method_generators(1)
    for number, generator in enumerate(generators.values()):
        draws(generator, number + 1)
    states = generator_states(generators)
    expected = {name: draws(generator) for name, generator in generators.items()}
    others = method_generators(2)
    set_generator_states(others, states)
    assert {name: draws(generator) for name, generator in others.items()} == expected


def test_global_state_continues_where_it_was():
    state = global_state()
    expected = draws(None)
    set_global_state(state)
    assert draws(None) == expected


def test_seed_everything_seeds_the_global_generator():
    results = []
    for seed in (1, 1, 2):
        seed_everything(seed, "cpu")
        results.append(draws(None))
    assert results[0] == results[1] != results[2]


def test_own_randomness_leaves_the_global_generator_untouched():
    before = torch.get_rng_state()
    own_draws(OwnRandomness(0, "casper"))
    assert torch.equal(torch.get_rng_state(), before)


def test_own_randomness_leaves_the_global_generator_untouched_after_an_exception():
    before = torch.get_rng_state()
    with pytest.raises(ValueError), OwnRandomness(0, "casper").acting():
        raise ValueError(torch.rand(3))
    assert torch.equal(torch.get_rng_state(), before)


def test_own_randomness_does_not_depend_on_others():
    own, other = OwnRandomness(0, "casper"), OwnRandomness(0, "casper")
    torch.manual_seed(1)
    first = [own_draws(own) for _ in range(3)]
    torch.manual_seed(2)
    second = []
    for _ in range(3):
        torch.rand(7)
        own_draws(OwnRandomness(0, "forward-only"))
        second.append(own_draws(other))
    assert first == second


def test_own_randomness_runs_on_from_one_use_to_the_next():
    own, whole = OwnRandomness(0, "casper"), OwnRandomness(0, "casper")
    (first, first_global), (second, second_global) = own_draws(own, 3), own_draws(own, 3)
    assert (first + second, first_global + second_global) == own_draws(whole, 6)


def test_own_randomness_follows_seed_and_name():
    results = [own_draws(OwnRandomness(seed, name)) for seed, name in ((0, "a"), (1, "a"), (0, "b"))]
    for part in range(2):
        assert len({tuple(result[part]) for result in results}) == 3


def test_own_generator_is_the_named_one():
    assert own_draws(OwnRandomness(4, "casper"), 5)[0] == draws(named_generator(4, "casper"))


@pytest.mark.parametrize("uses", [0, 2])
def test_loaded_own_randomness_continues_identically(uses):
    original, copy = OwnRandomness(0, "casper"), OwnRandomness(0, "casper")
    own_draws(copy)
    for _ in range(uses):
        own_draws(original)
    copy.load_state_dict(original.state_dict())
    assert [own_draws(copy) for _ in range(2)] == [own_draws(original) for _ in range(2)]


def test_state_does_not_change_with_its_owner():
    own = OwnRandomness(0, "casper")
    own_draws(own)
    state = own.state_dict()
    expected = own_draws(own)
    own_draws(own)
    own.load_state_dict(state)
    assert own_draws(own) == expected
