"""Many runs: from one file, one table of the paper, or one search."""

from casper.sweeps.estimate import Estimate, estimate, trial_seconds
from casper.sweeps.launcher import Job, LaunchedRun, Launcher, LocalLauncher, Outcome, cores
from casper.sweeps.search import USUAL_SPACE, Candidate, Ranked, candidates, preset_layout, ranked, usual_space
from casper.sweeps.sweep import State, Sweep, SweepRun
from casper.sweeps.sweep_file import expand, read_sweep, sweep_title

__all__ = [
    "USUAL_SPACE",
    "Candidate",
    "Estimate",
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
    "trial_seconds",
    "usual_space",
]
