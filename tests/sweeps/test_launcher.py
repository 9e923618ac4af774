import pickle
from pathlib import Path

import pytest

from casper.config import resolve_config
from casper.runs import USUAL, CheckpointEvery
from casper.sweeps import Job, LaunchedRun, Launcher, Outcome


def test_a_job_is_made_as_usual_unless_it_says_otherwise():
    job = Job(resolve_config({}), Path("run"))
    assert (job.data_dir, job.checkpoint_every) == (None, USUAL)


def test_jobs_and_outcomes_reach_another_process_whole():
    job = Job(resolve_config({"seed": 3}), Path("run"), "data", CheckpointEvery.parse("3steps"))
    assert pickle.loads(pickle.dumps(job)) == job
    assert pickle.loads(pickle.dumps(job)).config.origin == job.config.origin
    assert pickle.loads(pickle.dumps(Outcome("failed", "why"))) == Outcome("failed", "why")


@pytest.mark.parametrize("interface", [Launcher, LaunchedRun])
def test_an_interface_is_not_made_by_itself(interface):
    with pytest.raises(TypeError, match="abstract"):
        interface()
