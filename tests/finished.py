"""Finished runs for tests of reports: their two files, with figures that the test chooses."""

import json

from casper.config import resolve_config, to_yaml
from casper.reports import FinishedRun
from casper.runs import RunDirectory
from casper.runs.results import write_analysis
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
        "latent": {
            "same_class_variance": 0.5,
            "same_class_variance_ratio": 0.4,
            "coordinate_variance": 0.3,
            "knn_5": 30.0,
            "knn_11": 31.0,
            "knn_5_majority": 29.0,
            "knn_11_majority": 28.0,
            "nearest_mean": 27.0,
        },
        "seconds": {"train": seconds, "evaluate": 1.0, "total": seconds + 1.0},
        "steps": 8,
        "tasks": [[f"class {2 * task}", f"class {2 * task + 1}"] for task in range(tasks)],
        "code": code,
        **changes,
    }


def analysis_of(ends=(1, 2), *, sigma=10.0, embed=(), maps=((1, 2),), energy=9.0, memory=True):
    """The content of analysis.json: sigma grows by itself at each task end, two classes per task."""
    return {
        "num_neighbors": 10,
        "code": "1.0 abc",
        "task_ends": [
            {
                "tasks_learnt": end,
                "memory": 20 if memory else 0,
                "label_signal_variation": sigma * end if memory else None,
                "label_signal_variation_share": sigma * end / 100 if memory else None,
                "label_signal_variation_least": 2.0 * end if memory else None,
                "spectrum": {
                    "eigenvalues": [0.0, *(0.1 * place for place in range(1, 2 * end)), 0.8, 0.9],
                    "num_classes": 2 * end,
                    "eigengap": 0.9 - 0.2 * end,
                    "widest_gap": 0.3,
                    "widest_gap_at": 2,
                    "num_components": end,
                }
                if memory
                else None,
                **({"embedding": _embedding(2 * end), "replay_batch": _replay_batch(end)} if end in embed else {}),
            }
            for end in ends
        ],
        "functional_maps": [
            {
                "from": start,
                "to": end,
                "rank": 2,
                "points": 20,
                "num_components": [1, end],
                "off_diagonal_energy": energy,
                "off_diagonal_share": 0.4,
                "matrix": [[-0.9, 0.15], [-0.2, 0.8]],
            }
            for start, end in maps
        ],
    }


def _replay_batch(end):
    """Two classes of two points: all edges but one are between classes, as many as task ends."""
    between = [[0, 2], [1, 3], [0, 3]][:end]
    return {
        "points": [[0.0, 0.0], [1.0, 0.0], [5.0, 5.0], [6.0, 5.0]],
        "labels": [3, 3, 7, 7],
        "edges": [[0, 1], *between],
        "eigenvalues": [0.0, 0.1 * end, 1.2, 1.4],
        "num_classes": 2,
        "eigengap": 1.2 - 0.1 * end,
        "num_components": 1,
    }


def _embedding(classes):
    labels = [place % classes for place in range(3 * classes)]
    points = [[float(place), float(label)] for place, label in enumerate(labels)]
    return {"points": points, "labels": labels, "purity": 80.0 + classes, "num_neighbors": 10}


def finished_run(values, final, analysis=None, **changes):
    """A finished run of a configuration."""
    config = resolve_config(values)
    layout = {**config.as_dict(), "origin": dict(config.origin)}
    return FinishedRun(config.name, layout, metrics_of(final, **changes), analysis)


def write_run(folder, values, final, analysis=None, **changes):
    """A finished run on disk: its two files, and its analysis if there is one; returns its directory."""
    run = finished_run(values, final, analysis, **changes)
    place = folder / run.name
    place.mkdir(parents=True)
    (place / "config.yaml").write_text(to_yaml(run.layout), "utf-8")
    (place / "metrics.json").write_text(json.dumps(run.metrics), "utf-8")
    if run.analysis is not None:
        (place / "analysis.json").write_text(json.dumps(run.analysis), "utf-8")
    return place


class InstantLauncher(Launcher):
    """Makes a run in no time: writes its two files, with the accuracy that a function chooses; None: it fails."""

    slots = 2
    threads = 1

    def __init__(self, accuracy):
        self.accuracy = accuracy
        self.launched, self.jobs = [], []

    def launch(self, job, slot):
        self.launched.append(job.config)
        self.jobs.append(job)
        final = self.accuracy(job.config)
        if final is None:
            return InstantRun(Outcome("failed", "it was meant to"))
        directory = RunDirectory(job.directory)
        directory.path.mkdir(parents=True, exist_ok=True)
        directory.create(job.config, {})
        scenario = "domain_il" if "rotated" in job.config.options.stream else "class_il"
        directory.finish(metrics_of(final, scenario=scenario, recalibrated=final + 1))
        if job.analyse:
            write_analysis(directory, analysis_of(embed=(1, 2)))
        return InstantRun(Outcome("done"))


class InstantRun(LaunchedRun):
    def __init__(self, ended):
        self.ended = ended

    def outcome(self):
        return self.ended

    def stop(self):
        pass


def rising(name, final, seed):
    """A result that rises with the seed, by a trifle more with CaSpeR: differences need a spread to have a sign."""
    return final + seed * (1 + 1e-7 * (name == "casper"))
