"""What a run measures: the untrained network, every task's test set after every phase, the latent space at the end."""

from typing import TYPE_CHECKING

from casper.analysis import latent_summary
from casper.methods import Method
from casper.metrics import Accuracies
from casper.nets import features_of
from casper.training.evaluation import evaluate, recalibrated_statistics, with_statistics
from casper.training.events import SetTested
from casper.training.position import Position

if TYPE_CHECKING:
    from casper.training.trainer import Trainer


def measure_untrained(trainer: "Trainer") -> None:
    """Test the network before the first task on the sets that are left, and stand before the first phase."""
    stream = trainer.stream
    for index in range(trainer.position.tested, len(stream)):
        trainer.record.put_untrained(index, _tested(trainer, trainer.method, index))
        _tell(trainer, len(stream))
    trainer.move(Position.before(0))


def measure_after_phase(trainer: "Trainer", row: int) -> None:
    """Fill what is left of a row: the tasks met so far and the next one (forward transfer), then the recalibrated."""
    stream, second = trainer.stream, trainer.recalibrated_record
    tests = [(trainer.record, index) for index in range(min(row + 2, len(stream)))]
    if second is not None and len(trainer.memory):
        tests += [(second, index) for index in range(row + 1)]
    twin: Method | None = None
    for record, index in tests[trainer.position.tested :]:
        method = trainer.method
        if record is second:
            method = twin = twin or _recalibrated(trainer)
        record.put(row, index, _tested(trainer, method, index))
        _tell(trainer, len(tests))
    trainer.statistics = None


def measure_latent_space(trainer: "Trainer") -> None:
    """Compute what is left of the test sets' features, then those of the memory, and keep their summary alone.

    The features are those of evaluation mode, without augmentation; until all are there they are part of the state.
    """
    stream, memory, view = trainer.stream, trainer.memory, trainer.method.transform.test
    for index in range(trainer.position.tested, len(stream)):
        data = stream[index].to(trainer.device).test
        with trainer.pieces.unit("evaluate", changes=False):
            features = features_of(trainer.net, data.images, view, trainer.pieces.compute)
        trainer.features.append((features, data.labels))
        _tell(trainer, len(stream))
    with trainer.pieces.unit("evaluate", changes=False):
        support = features_of(trainer.net, memory.images, view, trainer.pieces.compute)
    trainer.latent = latent_summary(trainer.features, support, memory.labels)
    trainer.features.clear()
    trainer.book("evaluate")


def _tested(trainer: "Trainer", method: Method, index: int) -> Accuracies:
    """Measure the accuracy on a task's test set."""
    with trainer.pieces.unit("evaluate", changes=False):
        return evaluate(method, trainer.stream[index].to(trainer.device), trainer.stream.scenario)


def _recalibrated(trainer: "Trainer") -> Method:
    """Copy the method with other BatchNorm statistics, which are part of the state until the phase is over."""
    if trainer.statistics is None:
        with trainer.pieces.unit("evaluate", changes=False):
            statistics = recalibrated_statistics(trainer.method, trainer.seed, trainer.batch_size)
        trainer.statistics = statistics
    return with_statistics(trainer.method, trainer.statistics)


def _tell(trainer: "Trainer", total: int) -> None:
    trainer.position.tested += 1
    trainer.book("evaluate")
    trainer.tell(SetTested(trainer.position.tested, total))
