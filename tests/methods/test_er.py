import torch
import torch.nn.functional as F

from casper import MLP
from casper.memory import reservoir
from casper.step import Progress
from casper.types import Batch
from support import assert_same_state, memory_filled_by, one_step, small_trainer


def filled_trainer(stream_items=16, memory_items=8):
    trainer = small_trainer("er", backbone=MLP, batch_size=16, buffer_size=memory_items)
    old, new = trainer.stream[0].train, trainer.stream[1]
    trainer.memory.insert(
        old.images[:memory_items], old.labels[:memory_items], policy=reservoir, generator=torch.Generator()
    )
    part = new.train[torch.arange(stream_items)]
    batch = Batch(part.images, part.labels, trainer.method.transform.test(part.images))
    return trainer, trainer.method.draw(batch, new, Progress(0, 1, 0))


def test_gradient_weighs_stream_and_replay_by_their_size():
    trainer, step = filled_trainer()
    loss = trainer.method.losses(step, trainer.method.forward(step))["joined"]
    found = torch.autograd.grad(loss, list(trainer.net.parameters()))
    stream = F.cross_entropy(trainer.net(step.stream.inputs).logits, step.stream.labels)
    replay = F.cross_entropy(trainer.net(step.replays[0].inputs).logits, step.replays[0].labels)
    expected = torch.autograd.grad((16 * stream + 8 * replay) / 24, list(trainer.net.parameters()))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_stream_and_replay_share_one_pass():
    trainer, step = filled_trainer()
    assert {name: len(outputs.logits) for name, outputs in trainer.method.forward(step).items()} == {"joined": 24}


def test_replay_starts_as_soon_as_anything_is_stored():
    trainer = small_trainer("er")
    replayed = []
    draw = trainer.method.draw

    def recording(*arguments):
        step = draw(*arguments)
        replayed.append([len(batch) for batch in step.replays])
        return step

    trainer.method.draw = recording
    trainer.run_phase()
    assert replayed[:3] == [[], [16], [16]]


def test_every_stream_item_is_offered_to_the_memory():
    trainer = small_trainer("er", epochs=2)
    trainer.run()
    assert trainer.memory.seen == 2 * sum(len(task.train) for task in trainer.stream)
    assert len(trainer.memory) == 20


def test_the_memory_is_what_its_policy_makes_of_the_stream():
    trainer = small_trainer("er", buffer_size=30)
    expected = memory_filled_by(reservoir, trainer)
    assert_same_state(trainer.memory.state_dict(), expected.state_dict())


def test_one_step_literally():
    step = one_step("er")
    net = step.literal_net()
    images, labels = torch.cat([step.images, step.memory["images"]]), torch.cat([step.labels, step.memory["labels"]])
    logits = net(step.inputs(images)).logits  # one pass, common statistics
    losses = [torch.log(sum(value.exp() for value in row)) - row[y] for row, y in zip(logits, labels, strict=True)]
    torch.testing.assert_close(step.terms["joined"].double(), sum(losses).detach() / 30, rtol=1e-4, atol=1e-6)
    step.assert_gradients(net, sum(losses) / 30)
