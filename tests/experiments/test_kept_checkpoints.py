from casper.experiments.kept_checkpoints import kept_checkpoints, kept_path


def test_in_the_order_of_tasks_and_nothing_else(tmp_path):
    for number in (10, 2, 100):
        kept_path(tmp_path, number).touch()
    for other in ("checkpoint.pt", "checkpoint.task-03.pt.tmp", "checkpoint.task-x.pt", "checkpoint.task-3.pt"):
        (tmp_path / other).touch()
    found = kept_checkpoints(tmp_path)
    assert list(found) == [2, 10, 100]
    assert found[2].name == "checkpoint.task-02.pt"
    assert kept_checkpoints(tmp_path / "missing") == {}
