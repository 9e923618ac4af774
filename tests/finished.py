"""Finished runs for tests of reports: their two files, with figures that the test chooses."""

import json

from casper.experiments import RunDirectory, resolve_config, to_yaml
from casper.reporting import FinishedRun
from casper.sweeps import LaunchedRun, Launcher, Outcome


def metrics_of(final, *, scenario="class_il", recalibrated=None, seconds=10.0, code="1.0 abc", tasks=2, **changes):
    """The content of metrics.json for a run whose final average accuracy is given."""

    def block(accuracy):
        matrix = [
            [accuracy + 10 - place if place <= row + 1 else None for place in range(tasks)] for row in range(tasks)
        ]
        return {
            "accuracy_matrix": matrix,
            "final_average_accuracy": accuracy,
            "forgetting": 4.0,
            "adjusted_forgetting": 5.0,
            "backward_transfer": -4.0,
            "forward_transfer": 1.0,
            "untrained_accuracy": [10.0] * tasks,
        }

    names = ("class_il", "task_il", "domain_il")
    return {
        **{name: block(final) if name == scenario else None for name in names},
        "recalibrated": None
        if recalibrated is None
        else {name: block(recalibrated) if name == scenario else None for name in names},
        "latent": {"same_class_variance": 0.5, "knn_5": 30.0, "knn_11": 31.0},
        "seconds": {"train": seconds, "evaluate": 1.0, "total": seconds + 1.0},
        "steps": 8,
        "tasks": [[f"class {2 * task}", f"class {2 * task + 1}"] for task in range(tasks)],
        "code": code,
        **changes,
    }


def finished_run(values, final, **changes):
    """A finished run of a configuration."""
    config = resolve_config(values)
    return FinishedRun(config.name, {**config.as_dict(), "origin": dict(config.origin)}, metrics_of(final, **changes))


def write_run(folder, values, final, **changes):
    """A finished run on disk: its two files and nothing else; returns its directory."""
    run = finished_run(values, final, **changes)
    place = folder / run.name
    place.mkdir(parents=True)
    (place / "config.yaml").write_text(to_yaml(run.layout), "utf-8")
    (place / "metrics.json").write_text(json.dumps(run.metrics), "utf-8")
    return place


class InstantLauncher(Launcher):
    """Makes a run in no time: writes its two files, with the accuracy that a function chooses; None: it fails."""

    slots = 2
    threads = 1

    def __init__(self, accuracy):
        self.accuracy = accuracy
        self.launched = []

    def launch(self, job, slot):
        self.launched.append(job.config)
        final = self.accuracy(job.config)
        if final is None:
            return InstantRun(Outcome("failed", "it was meant to"))
        directory = RunDirectory(job.directory)
        directory.path.mkdir(parents=True, exist_ok=True)
        directory.create(job.config, {})
        scenario = "domain_il" if "rotated" in job.config.options.stream else "class_il"
        directory.finish(metrics_of(final, scenario=scenario, recalibrated=final + 1))
        return InstantRun(Outcome("done"))


class InstantRun(LaunchedRun):
    def __init__(self, ended):
        self.ended = ended

    def outcome(self):
        return self.ended

    def stop(self):
        pass
