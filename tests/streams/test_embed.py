import sys
from copy import deepcopy
from functools import partial

import pytest
import torch

from casper import Adapter, CaSpeR, ConvNet, Trunk, embed, hide_labels, hold_out, rotated_digits, split_digits
from casper.config import METHODS
from casper.errors import ParameterError
from casper.streams import VectorTransform
from casper.types import ImageSet
from support import METHOD_ARGUMENTS, Rows, assert_same_state, small_trainer, without_seconds

WORKING = [name for name, method in METHODS.items() if not (method.needs_images or method.needs_maps)]
NEEDING_IMAGES = [name for name in METHODS if name not in WORKING]


class Counting(Rows):
    """Counts the images that it computes features of."""

    seen = 0

    def features(self, images):
        Counting.seen += len(images)
        return super().features(images)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CASPER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(Counting, "seen", 0)
    return tmp_path / "cache"


def embedded(views=1, stream=None):
    return embed(stream or split_digits()[:2], Rows(views=views))


def adapter_trainer(method, regularizers=(), *, views=2, **changes):
    return small_trainer(
        method, regularizers, stream=embedded(views), backbone=partial(Adapter, hidden=[16]), **changes
    )


def test_items_are_vectors_with_the_labels_of_the_images():
    stream, images = embedded(), split_digits()[:2]
    assert (stream.image_shape, stream.item_shape, stream.item_type) == ((24,), (1, 24), torch.float16)
    for task, original in zip(stream, images, strict=True):
        assert torch.equal(task.train.labels, original.train.labels)
        expected = original.test.images.float().mean(dim=3).repeat(1, 3, 1).flatten(1)
        torch.testing.assert_close(task.test.images[:, 0].float(), expected, rtol=1e-3, atol=0)
    assert stream.about == "as 24 features of Rows"


def test_features_are_computed_once_for_any_order_of_classes():
    stream = split_digits()
    embed(stream, Counting())
    assert Counting.seen == 1797 + 4  # and images of noise
    again = embed(split_digits(class_order="shuffled", num_tasks=2, seed=3), Counting())
    assert again[0].train.images.shape[1:] == (1, 24)
    assert Counting.seen == 1797 + 4 + 4


@pytest.mark.parametrize("changes", [{"image_size": 16}, {"weights": "2"}])
def test_other_settings_or_weights_are_computed_anew(changes):
    embed(split_digits()[:1], Counting())
    other = Counting(image_size=changes.get("image_size", 8))
    other.weights = changes.get("weights", "1")
    before = Counting.seen
    embed(split_digits()[:1], other)
    assert Counting.seen == 2 * before


class Scaled(Counting):
    """Has a setting of its own."""

    def __init__(self, scale, *, image_size=8, views=1):
        super().__init__(image_size=image_size, views=views)
        self._scale = scale

    def features(self, images):
        return super().features(images) * torch.as_tensor(self._scale)


@pytest.mark.parametrize("scales", [(1, 2), ([1.0], [2.0]), (torch.ones(24), torch.full((24,), 2.0))], ids=str)
def test_a_setting_of_the_users_class_is_part_of_what_is_stored(scales):
    one, two = (embed(split_digits()[:1], Scaled(scale))[0].train.images for scale in scales)
    torch.testing.assert_close(two, 2 * one, rtol=1e-2, atol=0)
    before = Counting.seen
    embed(split_digits()[:1], Scaled(scales[1]))
    assert Counting.seen == before + 4  # images of noise


def test_changed_code_behind_the_users_class_is_computed_anew(monkeypatch):
    found = []
    for added in (0, 1):
        monkeypatch.setattr(sys.modules[__name__], "ADDED", added)
        found.append(embed(split_digits()[:1], Adding())[0].train.images)
    torch.testing.assert_close(found[1], found[0] + 1, rtol=1e-2, atol=0)


ADDED = 0


class Adding(Rows):
    """Depends on a value elsewhere in its code."""

    def features(self, images):
        return super().features(images) + ADDED


def test_vectors_of_another_width_are_refused():
    embed(split_digits()[:1], Rows())
    other = Rows()
    other.dim = 25
    with pytest.raises(ParameterError, match=r"`trunk` must be a network with outputs of shape \(n, 25\)"):
        embed(split_digits()[:1], other)


def test_features_of_test_images_can_wait():
    stream = embed(split_digits(), Counting(), tests=False)
    assert Counting.seen == 1201 + 4
    assert len(stream[0].test) == 119
    assert Counting.seen == 1201 + 4 + 119


def test_a_second_view_is_added_to_the_first():
    one, two = embedded(views=1)[0].train.images, embedded(views=2)[0].train.images
    assert two.shape[1:] == (2, 24)
    assert torch.equal(two[:, :1], one)
    embed(split_digits()[:1], Counting())
    before = Counting.seen
    embed(split_digits()[:1], Counting(views=2))
    assert Counting.seen == 2 * before


class Columns(Rows):
    """The mean of every column of pixels."""

    def features(self, images):
        return images.mean(dim=2).flatten(1)


def test_the_second_view_is_that_of_the_mirror_image():
    items = embed(split_digits()[:1], Columns(views=2))[0].train.images
    mirrored = items[:, 0].view(-1, 3, 8).flip(2).flatten(1)
    torch.testing.assert_close(items[:, 1], mirrored, rtol=1e-3, atol=0)
    assert not torch.equal(items[:, 1], items[:, 0])


def test_inputs_are_standardised_with_the_first_tasks_training_images():
    stream = embedded()
    inputs = stream.transform.test(stream[0].train.images)
    assert (inputs.shape, inputs.dtype) == ((241, 24), torch.float32)
    torch.testing.assert_close(inputs.mean(), torch.tensor(0.0), rtol=0, atol=1e-3)
    torch.testing.assert_close(inputs.std(), torch.tensor(1.0), rtol=0, atol=1e-3)


def test_training_draws_a_view_of_each_item_and_testing_takes_the_first():
    vectors = torch.arange(4.0).view(1, 2, 2).repeat(1000, 1, 1).half()
    transform = VectorTransform((0.0,), (1.0,))
    drawn = transform.train(vectors, torch.Generator().manual_seed(0))
    assert {tuple(row) for row in drawn.tolist()} == {(0.0, 1.0), (2.0, 3.0)}
    assert 400 < int((drawn[:, 0] == 0).sum()) < 600
    assert torch.equal(transform.test(vectors), vectors[:, 0].float())
    generator = torch.Generator().manual_seed(0)
    before = generator.get_state()
    transform.train(vectors[:, :1], generator)
    assert torch.equal(generator.get_state(), before)  # nothing to draw


def test_parts_of_an_embedded_stream():
    stream = embedded()
    held = hold_out(stream, 0.1)[0]
    assert len(held.train) + len(held.test) == len(stream[0].train)
    hidden = hide_labels(stream, per_class=5)
    assert int((hidden[0].train.labels >= 0).sum()) == 10
    assert stream[1:][0].classes == (2, 3)


def test_a_domain_stream():
    stream = embedded(stream=rotated_digits(num_tasks=2))
    first, second = (task.train.images for task in stream)
    assert first.shape == second.shape
    assert not torch.equal(first, second)


@pytest.mark.parametrize("method", WORKING)
def test_every_method_that_can_learns_from_vectors_and_resumes_to_the_same_bits(method):
    regularizers = [CaSpeR(0.1, 3, 3)] if METHODS[method].keeps_memory else []
    states = []
    trainer = adapter_trainer(method, regularizers, epochs=2)
    trainer.listeners = (lambda event: states.append(deepcopy(trainer.state_dict())) if trainer.steps == 20 else None,)
    whole = trainer.run()
    measured = [value for row in whole["class_il"]["accuracy_matrix"] for value in row if value is not None]
    assert max(measured) > 60
    if METHODS[method].keeps_memory:
        assert (trainer.memory.images.dtype, trainer.memory.images.shape[1:]) == (torch.float16, (2, 24))
    resumed = adapter_trainer(method, [type(each)(0.1, 3, 3) for each in regularizers], epochs=2)
    resumed.load_state_dict(states[0])
    resumed.run()
    assert_same_state(without_seconds(resumed.state_dict()), without_seconds(trainer.state_dict()))


@pytest.mark.parametrize("method", NEEDING_IMAGES)
def test_a_method_that_needs_images_or_maps_is_refused(method):
    assert method in ("scr", "ccic", "podnet")
    wanted = "`method` must be one that works on feature vectors, as this stream has"
    with pytest.raises(ParameterError, match=wanted):
        small_trainer(METHODS[method](**METHOD_ARGUMENTS[method]), stream=embedded(), backbone=Adapter)


@pytest.mark.parametrize("backbone", [ConvNet, partial(ConvNet, width=4)])
def test_a_backbone_that_needs_images_is_refused(backbone):
    with pytest.raises(ParameterError, match="`backbone` must be one for feature vectors, such as adapter or mlp"):
        small_trainer("er", stream=embedded(), backbone=backbone)


def test_icarl_without_its_errors_of_images():
    with pytest.raises(ParameterError, match="`released` must be false for a stream of feature vectors"):
        small_trainer(METHODS["icarl"](released=True), stream=embedded(), backbone=Adapter)


def test_what_cannot_be_embedded():
    with pytest.raises(ParameterError, match="`stream` must be a stream of images"):
        embed(embedded(), Rows())

    class Nameless(Trunk):
        dim = 3

        def features(self, images):
            return images.mean(dim=(2, 3))

    with pytest.raises(ParameterError, match=r"a trunk that sets `weights` \(str\), but got Nameless"):
        embed(split_digits(), Nameless())
    Nameless.weights = 1
    with pytest.raises(ParameterError, match=r"a trunk that sets `weights` \(str\), but got Nameless"):
        embed(split_digits(), Nameless())

    class Unfinished(Trunk):
        dim, weights = 3, "1"

        def __init__(self):
            pass

        features = Nameless.features

    with pytest.raises(ParameterError, match=r"whose constructor calls super\(\).__init__, but got Unfinished"):
        embed(split_digits(), Unfinished())


def test_images_of_another_size_or_type_do_not_fit_the_memory():
    trainer = adapter_trainer("er")
    images = ImageSet(torch.zeros(2, 1, 8, 8, dtype=torch.uint8), torch.tensor([0, 1]))
    with pytest.raises(ParameterError, match=r"`images` must be float16 of shape \(2, 2, 24\)"):
        trainer.memory.append(images.images, images.labels)
