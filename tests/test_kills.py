"""What a user would see: a process killed with SIGKILL, again and again, and the bits it ends with."""

import pytest

from killing import assert_same_end, kill_again_and_again, run_whole, starts_from_a_state

RUN = ["run", "--method", "x-der", "--recalibrate", "--threads", "1", "--checkpoint-every", "0.2s"]


def test_two_kills_at_random_moments_cost_no_bit(tmp_path):
    whole, run = tmp_path / "whole", tmp_path / "run"
    settings = [*RUN, "--epochs", "8", "--tasks", "2", "--out"]
    startup, seconds = run_whole([*settings, str(whole)])
    begin = [*settings, str(run)]
    # Every process gets further than the one before, on average; two of them do not reach the end.
    kill_again_and_again(run, begin, begin, kills=2, lifetimes=(startup / 2, startup + seconds / 8), seed=1)
    assert_same_end(whole, run)
    assert starts_from_a_state(run) >= 1


@pytest.mark.soak
@pytest.mark.parametrize("seed", [0, 1])
def test_forty_kills_of_one_run_half_of_them_during_a_write_cost_no_bit(tmp_path, seed):
    whole, run = tmp_path / "whole", tmp_path / "run"
    settings = [*RUN, "--epochs", "30", "--seed", str(seed), "--out"]
    startup, seconds = run_whole([*settings, str(whole)])
    caught = kill_again_and_again(
        run,
        [*settings, str(run)],
        ["run", "--resume", str(run), "--checkpoint-every", "0.2s"],
        kills=40,
        lifetimes=(startup / 2, startup + seconds / 20),
        seed=seed,
        slow=0.05,
    )
    assert_same_end(whole, run)
    starts = starts_from_a_state(run)
    print(f"seed {seed}: 40 kills, {caught} left half a checkpoint; {starts} starts from a state; no bit lost")
    assert caught >= 10
    assert starts >= 10
