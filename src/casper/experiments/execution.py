"""Make one run, from configuration to files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from casper.experiments.build import build_trainer
from casper.experiments.config import RunConfig
from casper.experiments.run_directory import RunDirectory, describe_environment
from casper.training import Event, Listener, TaskDone


def execute(
    config: RunConfig,
    out: Path,
    *,
    device: str = "cpu",
    data_dir: str | None = None,
    overwrite: bool = False,
    listeners: Sequence[Listener] = (),
) -> dict[str, Any]:
    """Run a configuration and write its directory; nothing is written if it cannot start.

    Args:
        config: What to run.
        out: The run's directory.
        device: Where to train.
        data_dir: Where data sets are looked for first.
        overwrite: Whether a run that is there already may be replaced.
        listeners: Who else is told of events.

    Returns:
        The content of `metrics.json`.

    Raises:
        ConfigError: If the run cannot be made as asked.
        DataError: If the stream's images cannot be had or used.
    """
    directory = RunDirectory(out)
    directory.check(overwrite=overwrite)  # before the images are decoded

    def checkpoint(event: Event) -> None:
        if isinstance(event, TaskDone):
            directory.checkpoint(trainer.state_dict())

    trainer = build_trainer(
        config, device=device, data_dir=data_dir, listeners=[directory.listen, checkpoint, *listeners]
    )
    directory.create(config, describe_environment(device), overwrite=overwrite)
    metrics = trainer.run()
    directory.finish(metrics)
    return metrics
