import pytest
import torch

from casper.errors import ParameterError
from casper.memory import Buffer, ClassIndex, Column, balanced_reservoir, reservoir
from support import assert_same_state

COLUMNS = {"logits": Column(torch.float32, per_class=True), "task": Column(torch.int64)}
POLICIES = [reservoir, balanced_reservoir]


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def items(start, number, num_classes=6):
    """Items that know their own number: it is in the image, and label and columns follow from it."""
    numbers = torch.arange(start, start + number)
    images = torch.stack([numbers // 100 + 1, numbers % 100 + 1], dim=1).to(torch.uint8)[:, None, None, :]
    return images, *expected_of(numbers, num_classes)


def expected_of(numbers, num_classes=6):
    logits = numbers[:, None].float() + torch.arange(num_classes) / 8
    return numbers % num_classes, {"logits": logits, "task": 3 * numbers}


def numbers_in(images):
    return (images[:, 0, 0, 0].long() - 1) * 100 + images[:, 0, 0, 1].long() - 1


def filled_buffer(number, policy=balanced_reservoir, capacity=40, batch=32, seed=0):
    memory = Buffer(capacity, (1, 1, 2), columns=COLUMNS, num_classes=6)
    insert_items(memory, 0, number, policy, generator(seed), batch)
    return memory


def insert_items(memory, start, number, policy, source, batch=32):
    for first in range(start, start + number, batch):
        memory.insert(*items(first, min(batch, start + number - first)), policy=policy, generator=source)


def test_new_buffer_is_empty():
    memory = Buffer(5, (3, 4, 4), columns=COLUMNS, num_classes=7)
    assert len(memory) == memory.seen == 0
    assert memory.capacity == 5
    assert memory.images.shape == (0, 3, 4, 4)
    assert memory.labels.shape == (0,)
    assert {name: column.shape for name, column in memory.columns.items()} == {"logits": (0, 7), "task": (0,)}


def test_types_of_the_rows():
    memory = filled_buffer(10)
    assert memory.images.dtype == torch.uint8
    assert memory.labels.dtype == torch.int64
    assert memory.columns["logits"].dtype == torch.float32
    assert memory.columns["task"].dtype == torch.int64


def test_values_are_brought_to_the_type_of_their_column():
    memory = Buffer(4, (1, 1, 2), columns={"logits": Column(torch.float32, per_class=True)}, num_classes=6)
    images, labels, columns = items(0, 4)
    memory.insert(images, labels, {"logits": columns["logits"].double()}, policy=reservoir, generator=generator())
    assert torch.equal(memory.columns["logits"], columns["logits"])


def test_all_256_values_are_stored_exactly():
    images = torch.arange(256, dtype=torch.uint8).reshape(1, 1, 16, 16)
    memory = Buffer(1, (1, 16, 16))
    memory.insert(images, torch.tensor([0]), policy=reservoir, generator=generator())
    assert torch.equal(memory.images, images)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("batch", [1, 32, 100])
def test_label_and_columns_follow_their_image(policy, batch):
    memory = filled_buffer(2000, policy, batch=batch)
    labels, columns = expected_of(numbers_in(memory.images))
    assert torch.equal(memory.labels, labels)
    assert torch.equal(memory.columns["logits"], columns["logits"])
    assert torch.equal(memory.columns["task"], columns["task"])
    assert numbers_in(memory.images).max() >= 1000
    assert len(numbers_in(memory.images).unique()) == 40


@pytest.mark.parametrize("policy", POLICIES)
def test_index_agrees_with_the_stored_labels(policy):
    memory = filled_buffer(2000, policy)
    for label in range(6):
        assert list(memory.index.slots(label)) == (memory.labels == label).nonzero().squeeze(1).tolist()


@pytest.mark.parametrize(("number", "filled"), [(0, 0), (1, 1), (39, 39), (40, 40), (41, 40), (500, 40)])
def test_seen_counts_presentations_and_length_counts_rows(number, filled):
    memory = filled_buffer(number)
    assert memory.seen == number
    assert len(memory) == len(memory.images) == len(memory.labels) == filled
    assert all(len(column) == filled for column in memory.columns.values())


def test_blank_rows_are_never_returned():
    memory = filled_buffer(17)
    assert (memory.images > 0).all()
    for seed in range(20):
        assert memory.draw_uniform(40, generator(seed)).max() < 17
        assert memory.draw_balanced(40, 6, generator(seed)).max() < 17
    assert len(memory.state_dict()["images"]) == 17


def test_uniform_draw_repeats_nothing():
    memory = filled_buffer(500)
    for seed in range(10):
        rows = memory.draw_uniform(30, generator(seed)).tolist()
        assert len(rows) == len(set(rows)) == 30
    assert sorted(memory.draw_uniform(64, generator()).tolist()) == list(range(40))


def test_balanced_draw_is_even_over_classes():
    memory = filled_buffer(500)
    rows = memory.draw_balanced(20, 4, generator())
    assert len(rows.unique()) == 20
    assert sorted(memory.labels[rows].bincount(minlength=6).tolist()) == [0, 0, 5, 5, 5, 5]


def test_balanced_draw_passes_on_shrink():
    memory = Buffer(14, (1, 1, 1))
    labels = torch.tensor([0] * 6 + [1] * 6 + [2] * 2)
    memory.insert(torch.ones(14, 1, 1, 1, dtype=torch.uint8), labels, policy=reservoir, generator=generator())
    drawn = [memory.labels[memory.draw_balanced(12, 3, generator(), shrink=shrink)] for shrink in (False, True)]
    assert [labels.bincount(minlength=3).tolist() for labels in drawn] == [[4, 4, 2], [6, 6, 0]]


def test_inserted_tensors_are_copied():
    memory = Buffer(4, (1, 1, 2))
    images, labels, _ = items(0, 4)
    memory.insert(images, labels, policy=reservoir, generator=generator())
    images.zero_()
    labels.fill_(99)
    assert numbers_in(memory.images).tolist() == [0, 1, 2, 3]
    assert memory.labels.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("given", "found"), [(["logits"], r"\['logits'\]"), (["logits", "task", "extra"], r"\['extra', 'logits', 'task'\]")]
)
def test_wrong_columns_are_named(given, found):
    memory = filled_buffer(5)
    images, labels, _ = items(5, 2)
    columns = {name: torch.zeros(2, 6) for name in given}
    with pytest.raises(ParameterError, match=rf"the declared columns \['logits', 'task'\], but got {found}"):
        memory.insert(images, labels, columns, policy=reservoir, generator=generator())
    assert len(memory) == memory.seen == 5


def test_missing_columns_are_named():
    images, labels, _ = items(0, 2)
    with pytest.raises(
        ParameterError, match=r"`columns` must be the declared columns \['logits', 'task'\], but got \[\]"
    ):
        filled_buffer(0).insert(images, labels, policy=reservoir, generator=generator())


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("number", [0, 25, 300])
def test_loaded_buffer_continues_identically(policy, number):
    original = filled_buffer(number, policy)
    copy = filled_buffer(90, policy, seed=5)
    copy.load_state_dict(original.state_dict())
    for memory in (original, copy):
        insert_items(memory, number, 200, policy, generator(7))
    assert copy.seen == original.seen == number + 200
    assert torch.equal(copy.images, original.images)
    assert torch.equal(copy.labels, original.labels)
    assert all(torch.equal(copy.columns[name], original.columns[name]) for name in COLUMNS)
    for seed in range(3):
        assert torch.equal(copy.draw_balanced(16, 4, generator(seed)), original.draw_balanced(16, 4, generator(seed)))


def test_loading_fewer_rows_forgets_the_others():
    memory = filled_buffer(500)
    memory.load_state_dict(filled_buffer(3).state_dict())
    assert len(memory) == memory.seen == 3
    assert numbers_in(memory.images).tolist() == [0, 1, 2]


def test_state_does_not_change_with_the_buffer():
    memory = filled_buffer(60)
    state = memory.state_dict()
    before = numbers_in(state["images"]).tolist(), state["columns"]["task"].tolist(), state["labels"].tolist()
    insert_items(memory, 60, 300, reservoir, generator(1))
    assert (numbers_in(state["images"]).tolist(), state["columns"]["task"].tolist(), state["labels"].tolist()) == before
    assert state["seen"] == 60


def test_state_of_a_larger_buffer_is_refused():
    with pytest.raises(ParameterError, match="at most 8 rows"):
        filled_buffer(0, capacity=8).load_state_dict(filled_buffer(20).state_dict())


def test_buffer_without_capacity_takes_and_gives_nothing():
    memory = Buffer(0, (1, 1, 2))
    memory.insert(*items(0, 5)[:2], policy=balanced_reservoir, generator=generator())
    assert len(memory) == 0
    assert memory.images.shape == (0, 1, 1, 2)
    assert memory.draw_uniform(4, generator()).shape == (0,)
    assert memory.draw_balanced(4, 2, generator()).shape == (0,)


def test_negative_capacity_is_refused():
    with pytest.raises(ParameterError, match=r"`capacity` must be at least 0, but got -1"):
        Buffer(-1, (1, 1, 2))


def test_insertions_follow_the_generator():
    first, again, other = (numbers_in(filled_buffer(500, seed=seed).images).tolist() for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize(
    "images", [torch.zeros(3, 1, 1, 2), torch.zeros(2, 1, 1, 2).byte(), torch.zeros(3, 1, 1, 1).byte()]
)
def test_images_that_do_not_fit_change_nothing(images):
    memory = Buffer(8, (1, 1, 2))
    with pytest.raises(ParameterError, match=r"uint8 of shape \(3, 1, 1, 2\)"):
        memory.insert(images, torch.arange(3), policy=reservoir, generator=generator())
    assert (len(memory), memory.seen) == (0, 0)


def test_state_with_other_columns_is_refused():
    with pytest.raises(ParameterError, match="`state` must be a state with the columns"):
        Buffer(20, (1, 1, 2)).load_state_dict(filled_buffer(20).state_dict())


def test_appended_items_take_the_free_rows_in_order():
    memory = filled_buffer(3)
    images, labels, columns = items(10, 4)
    memory.append(images, labels, columns)
    assert (len(memory), memory.seen) == (7, 7)
    assert numbers_in(memory.images).tolist() == [0, 1, 2, 10, 11, 12, 13]
    assert torch.equal(memory.labels[3:], labels)
    for name, values in columns.items():
        assert torch.equal(memory.columns[name][3:], values)
    assert memory.index.counts == ClassIndex(memory.labels.tolist()).counts


def test_more_items_than_free_rows_are_refused_and_nothing_changes():
    memory = filled_buffer(6, capacity=8)
    before = memory.state_dict()
    with pytest.raises(ParameterError, match=r"`labels` must be at most 2 items, the number of free rows, but got 3"):
        memory.append(*items(10, 3))
    assert_same_state(before, memory.state_dict())


def test_kept_rows_move_to_the_front_with_all_they_have():
    memory = filled_buffer(8)
    before = {"images": memory.images.clone(), "labels": memory.labels.clone(), **memory.state_dict()["columns"]}
    memory.keep([6, 1, 4])
    assert len(memory) == 3
    after = {"images": memory.images, "labels": memory.labels, **memory.columns}
    assert all(torch.equal(after[name], before[name][[6, 1, 4]]) for name in before)
    assert memory.index.counts == ClassIndex(memory.labels.tolist()).counts
    memory.keep([])
    assert len(memory) == 0


def test_updates_write_through_to_the_rows():
    memory = filled_buffer(5)
    name = next(iter(memory.columns))
    before = memory.columns[name].clone()
    memory.update(name, torch.tensor([3, 1]), torch.zeros_like(before[:2]) + 7)
    assert (memory.columns[name][[1, 3]] == 7).all()
    assert torch.equal(memory.columns[name][[0, 2, 4]], before[[0, 2, 4]])


def test_updates_reach_filled_rows_only_and_take_the_columns_type():
    memory = Buffer(4, (1, 1, 1), columns={"x": Column(torch.float32)})
    memory.append(torch.zeros(2, 1, 1, 1, dtype=torch.uint8), torch.zeros(2, dtype=torch.int64), {"x": torch.zeros(2)})
    memory.update("x", slice(None), torch.tensor([1.0, 2.0], dtype=torch.float64))
    memory.update("x", torch.tensor([0]), torch.tensor([5], dtype=torch.float64))
    assert memory.columns["x"].tolist() == [5.0, 2.0]
    with pytest.raises(IndexError):
        memory.update("x", torch.tensor([2]), torch.tensor([1.0]))


def test_appended_items_may_take_the_last_row():
    memory = filled_buffer(6, capacity=8)
    memory.append(*items(10, 2))
    assert len(memory) == 8
