"""Numbers that go wrong: said at once, with what is needed to do better."""

from collections.abc import Mapping

from torch import Tensor, nn
from torch.optim import Optimizer

from casper.spectral import all_finite
from casper.step import Progress
from casper.types import Task


class NonFiniteLossError(ArithmeticError):
    """A loss, a weight or a feature became infinite or NaN; the message is one line, for the user."""


def bad_loss(terms: Mapping[str, Tensor], task: Task, progress: Progress, optimizer: Optimizer) -> NonFiniteLossError:
    """Say which loss terms are not finite, and where."""
    bad = ", ".join(f"{name} = {term.item()}" for name, term in terms.items() if not term.isfinite()) or "their sum"
    where = f"task {task.index + 1}, epoch {progress.epoch + 1}, step {progress.step + 1}"
    return NonFiniteLossError(f"the loss is not finite in {where}: {bad}; {_advice(optimizer)}")


def check_weights(net: nn.Module, where: str, optimizer: Optimizer) -> None:
    """Raise `NonFiniteLossError` if training has left weights or running statistics that are no numbers."""
    values = {name: value for name, value in net.state_dict().items() if value.is_floating_point()}
    bad = [name for name, value in values.items() if not all_finite(value)]
    if bad:
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        raise NonFiniteLossError(f"{bad[0]}{more} of the network is not finite {where}; {_advice(optimizer)}")


def _advice(optimizer: Optimizer) -> str:
    return f"the learning rate is {optimizer.param_groups[0]['lr']:g}, try a smaller one"
