import torch

from casper.methods.ccic_step import joined
from casper.types import Batch


def test_batches_one_after_the_other():
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (5, 1, 2, 2), generator=generator, dtype=torch.uint8)
    labels, inputs = torch.arange(5), torch.rand(5, 1, 2, 2, generator=generator)
    parts = [Batch(images[place], labels[place], inputs[place]) for place in (slice(3), slice(3, 5))]
    whole = joined(*parts)
    assert torch.equal(whole.images, images)
    assert torch.equal(whole.labels, labels)
    assert torch.equal(whole.inputs, inputs)
    assert torch.equal(joined(parts[1]).labels, labels[3:])
