"""Backbones from the timm library."""

from typing import Any

import torch
from torch import Tensor

from casper.errors import ParameterError
from casper.nets.backbone import Backbone


class TimmBackbone(Backbone):
    """A timm model, by its name and without its head; requires `pip install timm`.

    It has no maps: where a stage ends, and whether an activation follows, differs between models.

    Example:
        >>> from casper import TimmBackbone
        >>> backbone = TimmBackbone("resnet10t", (3, 32, 32))  # doctest: +SKIP
        >>> backbone.dim  # doctest: +SKIP
        512
    """

    num_maps = 0

    def __init__(self, name: str, image_shape: tuple[int, int, int], *, pretrained: bool = False) -> None:
        """Build the model; a forward pass of zeros determines the number of features.

        Args:
            name: The name of the model in timm.
            image_shape: The shape (c, h, w) of an input.
            pretrained: Whether to download pretrained weights. Default False: training starts from scratch.
        """
        super().__init__()
        timm = import_timm("backbone", name)
        try:
            self.body = timm.create_model(name, pretrained=pretrained, num_classes=0, in_chans=image_shape[0])
            with torch.no_grad():
                features = self.body.eval()(torch.zeros(1, *image_shape))
        except Exception as error:  # an unknown name or an unsupported size; the message of timm states which
            reason = " ".join(str(error).split()) or type(error).__name__
            raise ParameterError(
                "backbone", f"a timm model for images of shape {image_shape}", f"{name!r}: {reason}"
            ) from error
        if features.ndim != 2:
            raise ParameterError("backbone", "a timm model with pooled features", f"shape {tuple(features.shape)}")
        self.body.train()
        self.dim = features.shape[1]

    def forward(self, inputs: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Compute the pooled features; there are no maps."""
        return self.body(inputs), ()


def import_timm(parameter: str, name: str) -> Any:
    """Import timm; raises `ParameterError` for the given parameter, a model by its name, if this fails."""
    try:
        import timm
    except (ImportError, RuntimeError) as error:  # RuntimeError: torchvision and PyTorch are incompatible
        wanted = "a model of an installed package (timm: `pip install timm`)"
        raise ParameterError(parameter, wanted, f"timm:{name}, and timm cannot be imported: {error}") from error
    return timm
