import torch
import torch.nn.functional as F

from casper import rotated_digits, split_digits
from casper.methods.bounds import union
from support import small_trainer


def test_old_tasks_are_forgotten_completely():
    metrics = small_trainer("finetune", epochs=5).run()
    assert metrics["class_il"]["accuracy_matrix"][1][0] == 0
    assert metrics["class_il"]["accuracy_matrix"][1][1] > 70  # chance: 10
    assert metrics["class_il"]["adjusted_forgetting"] == 100


def test_the_loss_is_cross_entropy_over_all_classes():
    trainer = small_trainer("finetune")
    batch = split_digits()[1].train[torch.arange(16)]
    inputs = trainer.method.transform.test(batch.images)
    trainer.net.eval()

    class Stream:
        labels = batch.labels

    class Step:
        stream = Stream

    passes = {"stream": trainer.net(inputs)}
    expected = F.cross_entropy(passes["stream"].logits, batch.labels)
    assert trainer.method.losses(Step, passes)["stream"].item() == expected.item()


def test_there_is_no_memory():
    trainer = small_trainer("finetune", buffer_size=50)
    trainer.run()
    assert trainer.memory.capacity == 0
    assert trainer.memory.seen == 0


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
