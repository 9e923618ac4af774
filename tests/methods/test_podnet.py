import math

import pytest
import torch
import torch.nn.functional as F

from casper import MLP, split_digits
from casper.losses import proxy_hinge
from casper.methods import PODNet, kmeans_centres, podnet
from casper.nets import ProxyHead
from support import one_step, small_trainer, without_augmentation


def blobs():
    """Twenty points around each of three directions."""
    generator = torch.Generator().manual_seed(0)
    directions = torch.eye(5)[:3].repeat_interleave(20, dim=0)
    return directions + 0.01 * torch.randn(60, 5, generator=generator), directions


def test_separate_blobs_are_found():
    points, _ = blobs()
    lengths = torch.linspace(1, 9, 60)[:, None]  # only directions count
    centres = kmeans_centres(points * lengths, 3, seed=0)
    expected = torch.stack([F.normalize(points[start : start + 20]).mean(dim=0) for start in (0, 20, 40)])
    order = centres.argmax(dim=1).argsort()
    torch.testing.assert_close(centres[order], expected)


def test_centres_are_not_normalised_again():
    points = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    torch.testing.assert_close(kmeans_centres(points, 1, seed=0), torch.tensor([[0.5, 0.5]]))


def test_equal_points_share_a_centre_without_a_warning(recwarn):
    assert torch.equal(kmeans_centres(torch.ones(5, 1), 3, seed=0), torch.ones(3, 1))
    assert len(recwarn) == 0


def test_the_seed_determines_them_and_fewer_points_give_fewer_centres():
    points = torch.rand(40, 4, generator=torch.Generator().manual_seed(0))
    assert torch.equal(kmeans_centres(points, 10, seed=3), kmeans_centres(points, 10, seed=3))
    assert kmeans_centres(points[:4], 10, seed=0).shape == (4, 4)
    assert kmeans_centres(points.double(), 2, seed=0).dtype == torch.float64


def literal_scores(features, proxies, scale):
    """The definition of the head, class by class and proxy by proxy."""
    rows = []
    for feature in features:
        point = scale * feature / feature.norm()
        row = []
        for of_class in proxies:
            nearness = [-((point - scale * proxy / proxy.norm()) ** 2).sum() for proxy in of_class]
            total = sum(torch.exp(value) for value in nearness)
            row.append(sum(torch.exp(value) / total * value for value in nearness))
        rows.append(torch.stack(row))
    return torch.stack(rows)


def literal_spatial(new, old):
    """One map: profiles over width and height, image by image."""
    distances = []
    for one, other in zip(new, old, strict=True):
        profiles = []
        for image in (one, other):
            channels, height, width = image.shape
            values = [sum(image[c, h, w] ** 2 for h in range(height)) for c in range(channels) for w in range(width)]
            values += [sum(image[c, h, w] ** 2 for w in range(width)) for c in range(channels) for h in range(height)]
            profile = torch.stack(values)
            profiles.append(profile / profile.norm())
        distances.append((profiles[0] - profiles[1]).norm())
    return sum(distances) / len(distances)


def literal_losses(step, *, margin=0.0):
    net, teacher = step.literal_net(), step.method.teacher.double().eval()
    inputs = step.inputs(step.images)
    outputs, old = net(inputs), teacher(inputs)
    scores = literal_scores(outputs.features, net.head.proxies, 3.0)[:, :6]
    hinges = []
    for row, label in zip(scores, step.labels, strict=True):
        others = sum(torch.exp(row[column]) for column in range(6) if column != label)
        hinges.append(torch.relu(torch.log(others) - row[label] + margin))
    stream = sum(hinges) / len(hinges)
    spatial = sum(literal_spatial(outputs.maps[stage], old.maps[stage]) for stage in range(3)) / 3
    pooled, old_pooled = (maps[3].mean(dim=(2, 3)) for maps in (outputs.maps, old.maps))
    cosines = [one @ other / (one.norm() * other.norm()) for one, other in zip(pooled, old_pooled, strict=True)]
    flat = sum(1 - cosine for cosine in cosines) / len(cosines)
    return net, stream, spatial, flat


def test_one_step_literally():
    step = one_step(PODNet(num_proxies=3, spatial_weight=0.7, flat_weight=0.4), extra_old=2)
    net, stream, spatial, flat = literal_losses(step)
    growth = math.sqrt(3)  # the third task
    assert stream > 0.1
    assert spatial > 0.01
    torch.testing.assert_close(step.terms["stream"].double(), stream, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(step.terms["spatial"].double(), 0.7 * growth * spatial, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(step.terms["flat"].double(), 0.4 * growth * flat, rtol=1e-4, atol=1e-6)
    step.assert_gradients(net, stream + growth * (0.7 * spatial + 0.4 * flat))


@pytest.mark.parametrize(("on_target_only", "margin"), [(False, 0.0), (True, 0.6)])
def test_the_margin_acts_on_the_target_or_cancels(on_target_only, margin):
    step = one_step(PODNet(num_proxies=3, margin=0.6, margin_on_target_only=on_target_only))
    _, stream, _, _ = literal_losses(step, margin=margin)
    torch.testing.assert_close(step.terms["stream"].double(), stream, rtol=1e-4, atol=1e-6)


def test_the_first_task_has_no_teacher_and_competes_among_its_own_classes():
    step = one_step(PODNet(num_proxies=3), task=0)
    assert set(step.terms) == {"stream"}
    assert (step.gradients["head.proxies"][2:] == 0).all()
    assert (step.gradients["head.proxies"][:2] != 0).any()


def test_new_classes_start_as_the_centres_of_their_features_under_the_old_network(monkeypatch):
    trainer = small_trainer(PODNet(num_proxies=3), stream=without_augmentation(split_digits()))
    trainer.run_phase()
    before = trainer.net.head.proxies.detach().clone()
    task, transform = trainer.stream[1], trainer.stream.transform
    with torch.no_grad():
        for parameter in trainer.net.backbone.parameters():  # the teacher counts, not the network
            parameter += 1
    trainer.method.start_task(task)
    proxies = trainer.net.head.proxies.detach()
    for label in task.classes:
        images = task.train.images[task.train.labels == label]
        inputs = (images.float() / 255 - transform.mean[0]) / transform.std[0]
        points = F.normalize(trainer.method.teacher(inputs).features)
        # Every centre is the mean of the points that are nearest to it: that is what k-means ends with.
        nearest = torch.cdist(points, proxies[label]).argmin(dim=1)
        assert nearest.unique().numel() == 3
        for centre in range(3):
            torch.testing.assert_close(
                proxies[label, centre], points[nearest == centre].mean(dim=0), rtol=1e-3, atol=1e-4
            )
    others = [label for label in range(10) if label not in task.classes]
    assert torch.equal(proxies[others], before[others])


def test_imprinting_uses_augmented_images_once():
    trainer = small_trainer(PODNet(num_proxies=3))
    trainer.run_phase()
    shown = []
    view = trainer.method.view
    trainer.method.view = lambda images, generator: shown.append(images) or view(images, generator)
    trainer.method.start_task(trainer.stream[1])
    images = torch.cat(shown).flatten(1).tolist()
    assert sorted(images) == sorted(trainer.stream[1].train.images.flatten(1).tolist())
    assert images != trainer.stream[1].train.images.flatten(1).tolist()


def test_every_element_of_the_gradient_is_clamped():
    trainer = small_trainer(PODNet())
    parameters = [torch.nn.Parameter(torch.zeros(3))]
    parameters[0].grad = torch.tensor([-7.0, 4.0, 5.5])
    trainer.method.clip(parameters)
    assert parameters[0].grad.tolist() == [-5.0, 4.0, 5.0]


def test_every_task_has_a_new_optimizer_with_decay():
    trainer = small_trainer(PODNet(weight_decay=0.125))
    trainer.run_phase()
    first = trainer.optimizer
    trainer.run_phase()
    assert trainer.optimizer is not first
    assert trainer.optimizer.param_groups[0]["weight_decay"] == 0.125


@pytest.mark.parametrize(("released", "rates"), [(False, [0.1, 0.01, 0.1, 0.01]), (True, [0.1] * 4)])
def test_the_schedule_reaches_every_task_unless_released(released, rates):
    trainer = small_trainer(PODNet(released=released), epochs=2, milestones=[1])
    found = []
    observe = trainer.method.observe

    def recording(batch, task, progress, optimizer, *rest):
        found.append((task.index, progress.epoch, optimizer.param_groups[0]["lr"]))
        return observe(batch, task, progress, optimizer, *rest)

    trainer.method.observe = recording
    trainer.run()
    assert [rate for _, _, rate in sorted(set(found))] == pytest.approx(rates)


def test_the_head_sees_features_without_dropout():
    class Dropping(small_trainer("podnet").net.backbone.__class__):
        dropout = 0.5

    trainer = small_trainer(PODNet(), backbone=Dropping)
    inputs = torch.randn(4, 1, 8, 8)
    trainer.net.train()
    outputs = trainer.net(inputs)
    assert isinstance(trainer.net.head, ProxyHead)
    torch.testing.assert_close(outputs.logits, trainer.net.head(outputs.features))
    linear = small_trainer("icarl", backbone=Dropping)
    linear.net.train()
    outputs = linear.net(inputs)
    assert not torch.allclose(outputs.logits, linear.net.head(outputs.features))


def test_a_backbone_without_maps_is_refused():
    with pytest.raises(ValueError, match="one with stage maps, such as convnet or resnet18, for PODNet"):
        small_trainer(PODNet(), backbone=MLP)


@pytest.mark.parametrize(
    "change",
    [
        {"weight_decay": -1.0},
        {"spatial_weight": -1.0},
        {"flat_weight": -1.0},
        {"num_proxies": 0},
        {"scale": 0.0},
        {"eta": 0.0},
        {"margin": math.nan},
        {"flat_weight": math.inf},
    ],
)
def test_bad_values_are_refused(change):
    with pytest.raises(ValueError, match=f"`{next(iter(change))}` must be"):
        PODNet(**change)


def test_sharpness_and_scale_reach_loss_and_head(monkeypatch):
    seen = {}
    monkeypatch.setattr(podnet, "proxy_hinge", lambda *rest, **named: seen.update(named) or proxy_hinge(*rest, **named))
    trainer = small_trainer(PODNet(num_proxies=3, eta=2.5, scale=4.0), stream=split_digits()[:1])
    trainer.run_phase()
    assert seen == {"eta": 2.5, "margin": 0.0}
    assert trainer.net.head.scale == 4.0


def test_imprinting_leaves_the_order_of_images_alone_and_has_a_seed_per_class(monkeypatch):
    trainer = small_trainer(PODNet(num_proxies=3))
    trainer.run_phase()
    seeds = []
    monkeypatch.setattr(podnet, "kmeans_centres", lambda features, k, seed: seeds.append(seed) or features[:k])
    before = {name: generator.get_state() for name, generator in trainer.generators.items()}
    trainer.method.start_task(trainer.stream[1])
    moved = {name for name, one in trainer.generators.items() if not torch.equal(one.get_state(), before[name])}
    assert moved == {"memory", "augment"}
    assert len(set(seeds)) == 2
