import torch
import torch.nn.functional as F

from casper import split_digits
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


def test_no_memory_is_kept():
    trainer = small_trainer("finetune", buffer_size=50)
    trainer.run()
    assert trainer.memory.capacity == 0
    assert trainer.memory.seen == 0
