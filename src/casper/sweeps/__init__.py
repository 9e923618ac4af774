"""Many runs: the runs of a sweep file, of a table of the paper, or of a hyper-parameter search."""

from typing import TYPE_CHECKING

from casper._lazy import has_source, lazy_exports

if TYPE_CHECKING or not has_source(__name__):
    from casper.sweeps.launcher import Job, LaunchedRun, Launcher, LocalLauncher, Outcome, cores
    from casper.sweeps.search import USUAL_SPACE, Candidate, Ranked, candidates, preset_layout, ranked, usual_space
    from casper.sweeps.sweep import State, Sweep, SweepRun, estimate
    from casper.sweeps.sweep_file import expand, read_sweep, sweep_title
else:
    __getattr__, __dir__ = lazy_exports(__name__)

__all__ = [
    "USUAL_SPACE",
    "Candidate",
    "Job",
    "LaunchedRun",
    "Launcher",
    "LocalLauncher",
    "Outcome",
    "Ranked",
    "State",
    "Sweep",
    "SweepRun",
    "candidates",
    "cores",
    "estimate",
    "expand",
    "preset_layout",
    "ranked",
    "read_sweep",
    "sweep_title",
    "usual_space",
]
