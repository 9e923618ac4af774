from casper import rotated_digits, split_digits
from casper.methods.joint import union
from support import small_trainer


def test_learns_all_tasks_at_once_and_is_tested_once():
    trainer = small_trainer("joint", stream=split_digits(), epochs=10, milestones=[8])
    metrics = trainer.run()
    matrix = metrics["class_il"]["accuracy_matrix"]
    assert all(value is None for row in matrix[:-1] for value in row)
    assert all(value is not None for value in matrix[-1])
    assert metrics["class_il"]["final_average_accuracy"] > 85
    assert metrics["class_il"]["forgetting"] is None
    assert metrics["class_il"]["backward_transfer"] is None


def test_the_network_that_is_tested_is_the_one_that_was_trained():
    trainer = small_trainer("joint")
    before = [parameter.clone() for parameter in trainer.net.parameters()]
    trainer.run()
    assert all((old != new).any() for old, new in zip(before, trainer.method.net.parameters(), strict=True))


def test_union_of_a_class_stream_holds_everything_once():
    stream = split_digits()
    whole = union(stream)
    assert len(whole.train) == sum(len(task.train) for task in stream) == 1201
    assert len(whole.test) == 596
    assert whole.classes == tuple(range(10))
    assert (whole.index, whole.num_tasks) == (4, 5)


def test_union_of_a_domain_stream_holds_every_rotation():
    whole = union(rotated_digits(num_tasks=3))
    assert len(whole.train) == 3 * 1201
    assert whole.classes == tuple(range(10))
