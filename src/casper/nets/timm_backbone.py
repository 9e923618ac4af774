"""Any backbone of the library timm."""

import torch
from torch import Tensor

from casper.errors import ParameterError
from casper.nets.backbone import Backbone


class TimmBackbone(Backbone):
    """A network of timm by its name there, without its head; needs `pip install 'casper-il[timm]'`.

    It has no maps: where a stage ends, and whether an activation follows, differs from network to network.
    """

    num_maps = 0

    def __init__(self, name: str, image_shape: tuple[int, int, int], *, pretrained: bool = False) -> None:
        """Build the network; the number of features is found by a pass of zeros.

        Args:
            name: The network's name in timm.
            image_shape: The shape (c, h, w) of an input.
            pretrained: Whether to download trained weights. Default not: continual learning from scratch.
        """
        super().__init__()
        try:
            import timm
        except (ImportError, RuntimeError) as error:  # RuntimeError: a torchvision that does not fit this PyTorch
            wanted = "used where timm can be imported (pip install 'casper-il[timm]')"
            raise ParameterError("backbone", wanted, f"{type(error).__name__}: {error}") from error
        try:
            self.body = timm.create_model(name, pretrained=pretrained, num_classes=0, in_chans=image_shape[0])
            with torch.no_grad():
                features = self.body.eval()(torch.zeros(1, *image_shape))
        except Exception as error:  # an unknown name, a size it cannot take: timm says which
            reason = " ".join(str(error).split()) or type(error).__name__
            raise ParameterError(
                "backbone", f"a network of timm for images of {image_shape}", f"{name!r}: {reason}"
            ) from error
        if features.ndim != 2:
            raise ParameterError("backbone", "a network of timm with pooled features", f"{tuple(features.shape)}")
        self.body.train()
        self.dim = features.shape[1]

    def forward(self, inputs: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Compute the pooled features; there are no maps."""
        return self.body(inputs), ()
