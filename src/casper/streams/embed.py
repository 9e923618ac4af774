"""Streams of feature vectors: a frozen, pre-trained network in front of the backbone."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Generator, Tensor

from casper.data import VectorCache, vector_cache_directory
from casper.data.cache import of_values, slug
from casper.errors import ParameterError, require
from casper.nets import Trunk, check_trunk, fingerprint
from casper.streams.stream import TaskStream
from casper.streams.transform import Transform
from casper.types import ImageSet, Task

# Part of the name of every cache: increase it when the scaling of images, a network or the blocks change.
_FORMAT = 1
# Images whose features are computed at once.
_CHUNK = 50
_SMALLEST_DEVIATION = 1e-6
# Items that are converted to float64 at once.
_AT_ONCE = 1000


@dataclass(frozen=True)
class VectorTransform(Transform):
    """Converts the stored feature vectors of images to network inputs.

    Attributes:
        mean: The mean of all features, as the only entry.
        std: Their standard deviation, as the only entry.

    Example:
        >>> import torch
        >>> from casper.streams import VectorTransform
        >>> transform = VectorTransform(mean=(1.0,), std=(0.5,))
        >>> transform.test(torch.full((2, 1, 3), 2, dtype=torch.float16))
        tensor([[2., 2., 2.],
                [2., 2., 2.]])
    """

    def train(self, images: Tensor, generator: Generator) -> Tensor:
        """Draw a view of each image, shape (n, views, d), and standardise its features."""
        number, views = images.shape[:2]
        if views == 1:
            return self.test(images)
        drawn = torch.randint(views, (number,), generator=generator)
        rows = torch.arange(number) * views + drawn
        return self._standardized(images.flatten(0, 1).index_select(0, rows.to(images.device)))

    def test(self, images: Tensor) -> Tensor:
        """Standardise the features of the first view."""
        return self._standardized(images[:, 0])

    def _standardized(self, vectors: Tensor) -> Tensor:
        return vectors.to(torch.float32).sub_(self.mean[0]).mul_(1 / self.std[0])


def embed(stream: TaskStream, trunk: Trunk, *, device: str = "cpu", tests: bool = True) -> TaskStream:
    """Replace the images of a stream by their features in a frozen, pre-trained network.

    The features of every image are computed once, with a progress bar, and stored next to the cache of decoded images
    (`casper.data.cache_directory`); a later call, another process or another seed reads them. The network is never run
    during training, and the memory stores features. Inputs are standardised with one mean and one deviation, those of
    the training images of the first task.

    Crops, and flips other than those of `trunk.views`, are not applied. Validation splits and hidden labels can be
    applied to the result, as to any stream.

    Args:
        stream: A stream of images; it is not modified.
        trunk: The network.
        device: The device that computes the features.
        tests: Whether the features of test images are computed now; otherwise when they are first used.

    Returns:
        A stream whose `ImageSet.images` are features, float16 of shape (n, views, d), and whose inputs have shape
        (n, d).

    Example:
        >>> import os, tempfile
        >>> from casper import Adapter, ER, Trainer, Trunk, embed, split_digits
        >>> class Rows(Trunk):
        ...     dim, weights = 24, "1"
        ...     def features(self, images):
        ...         return images.mean(dim=3).flatten(1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     os.environ["CASPER_CACHE"] = folder  # only here, to leave no files behind
        ...     stream = embed(split_digits()[:2], Rows(image_size=8))
        ...     trainer = Trainer(stream, ER(), backbone=Adapter, buffer_size=100)
        ...     metrics = trainer.run()
        ...     _ = os.environ.pop("CASPER_CACHE")
        >>> trainer.memory.images.shape, trainer.memory.images.dtype
        (torch.Size([100, 1, 24]), torch.float16)
    """
    if stream.views is not None:
        raise ParameterError("stream", "a stream of images", "a stream of feature vectors")
    check_trunk(trunk)
    caches = _caches(trunk, device)
    _fill(caches, stream, trunk.name, tests)

    def vectors(images: ImageSet) -> ImageSet:
        found = torch.stack([cache.vectors(images) for cache in caches], dim=1)
        wanted = f"a network with outputs of shape (n, {trunk.dim})"
        require(found.shape[2] == trunk.dim, "trunk", wanted, tuple(found.shape))
        return ImageSet(found, images.labels)

    def embedded(task: Task) -> Task:
        return replace(task, make_train=lambda: vectors(task.train), make_test=lambda: vectors(task.test))

    about = f"{stream.about}, " if stream.about else ""
    return replace(
        stream,
        make_task=lambda number: embedded(stream.make_task(number)),
        image_shape=(trunk.dim,),
        views=trunk.views,
        transform=_standardizing(vectors(stream[0].train).images),
        about=f"{about}as {trunk.dim} features of {trunk.name}",
        weights=trunk.weights,
    )


def _standardizing(vectors: Tensor) -> VectorTransform:
    """Measure the mean and the deviation of all features, in parts."""
    parts = vectors.split(_AT_ONCE)
    mean = sum(part.double().sum() for part in parts) / vectors.numel()
    variance = sum((part.double() - mean).square().sum() for part in parts) / vectors.numel()
    return VectorTransform((float(mean),), (max(float(variance) ** 0.5, _SMALLEST_DEVIATION),))


def _caches(trunk: Trunk, device: str) -> list[VectorCache]:
    """Open the cache of each view."""
    trunk.to(device)
    identity = _identity(trunk, device)

    def compute(images: Tensor, mirrored: bool) -> Tensor:
        chunks = images.to(device).split(_CHUNK)
        return torch.cat([trunk.vectors(chunk, mirrored=mirrored).cpu() for chunk in chunks])

    def open_cache(view: int) -> VectorCache:
        key = of_values(_FORMAT, *identity, view)[:16]
        directory = vector_cache_directory() / f"{slug(trunk.name)}-{trunk.image_size}-{key}"
        return VectorCache(directory, lambda images: compute(images, mirrored=view == 1))

    return [open_cache(view) for view in range(trunk.views)]


def _identity(trunk: Trunk, device: str) -> list[object]:
    """List what can change the features: class, weights, size; a sample of features if the class is the user's."""
    kind = type(trunk)
    known: list[object] = [kind.__module__, kind.__qualname__, trunk.weights, trunk.image_size, trunk.dim]
    return known if kind.__module__.partition(".")[0] == "casper" else [*known, fingerprint(trunk, device)]


def _fill(caches: list[VectorCache], stream: TaskStream, name: str, tests: bool) -> None:
    """Compute what is missing, with a progress bar over all images and views."""
    from tqdm import tqdm

    total = sum(cache.missing(images) for images in _sets(stream, tests) for cache in caches)
    if not total:
        return
    with tqdm(total=total, desc=f"features of {name}", unit=" images", leave=False, disable=None) as bar:
        for images in _sets(stream, tests):
            for cache in caches:
                cache.fill(images, bar.update)


def _sets(stream: TaskStream, tests: bool) -> Iterator[ImageSet]:
    for task in stream:
        yield task.train
        if tests:
            yield task.test
