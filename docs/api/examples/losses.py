"""Examples of the API reference: losses. Each begins with `# %% NAME` and runs by itself."""

# %% asymmetric_cross_entropy
import torch
from casper import asymmetric_cross_entropy

logits = torch.randn(8, 10, requires_grad=True)
labels = torch.tensor([4, 5] * 4)  # the present task; classes 0 to 3 are old
asymmetric_cross_entropy(logits, labels, highest_seen=torch.tensor(5)).backward()
print(logits.grad.abs().sum(dim=0))  # zero for old classes

# %% kept_columns
import torch
from casper import kept_columns

print(kept_columns(torch.tensor([4, 5]), highest_seen=torch.tensor(5), num_classes=8))

# %% restricted
import torch
from casper import restricted

logits = torch.randn(2, 4)
print(restricted(logits, torch.tensor([True, True, False, False])).softmax(dim=1))

# %% distillation_targets
import torch
from casper import distillation_targets

past = torch.tensor([True, True, False, False])
print(distillation_targets(torch.tensor([2, 3]), torch.randn(2, 4), past, num_classes=4))

# %% distillation_loss
import torch
from casper import distillation_loss, distillation_targets

labels, seen = torch.tensor([0, 1]), torch.tensor([True, True, False, False])
targets = distillation_targets(labels, None, torch.zeros(4, dtype=torch.bool), num_classes=4)
print(distillation_loss(torch.zeros(2, 4), targets, seen))  # ln 2

# %% past_violation
import torch
from casper import past_violation

past, present = torch.tensor([True, True, False]), torch.tensor([False, False, True])
print(past_violation(torch.tensor([[2.0, 0.0, 1.0]]), past, present, margin=0.3))

# %% future_violation
import torch
from casper import future_violation

own, future = torch.tensor([True, True, False]), torch.tensor([False, False, True])
print(future_violation(torch.tensor([[2.0, 0.0, 1.0]]), future, own, margin=0.3))  # negative: not violated

# %% mean_violation
import torch
from casper import mean_violation

print(mean_violation(torch.tensor([0.4, -1.0, 0.2])))  # 0.3

# %% transplant
import torch
from casper import transplant

stored, current = torch.tensor([[3.0, 1.0, 0.0]]), torch.tensor([[2.0, 1.0, 6.0]])
future = torch.tensor([False, False, True])
print(transplant(stored, current, torch.tensor([0]), future, gamma=0.85))  # 0.85 * 3 at the end

# %% outgrown
import torch
from casper import outgrown

stored, current = torch.tensor([[-1.0, 1.0, 0.0]]), torch.tensor([[2.0, 1.0, 6.0]])
print(outgrown(stored, current, torch.tensor([0]), torch.tensor([False, False, True])))

# %% pod_spatial
import torch
from casper import pod_spatial

maps = [torch.randn(4, 8, 6, 6)]
print(pod_spatial(maps, maps), pod_spatial(maps, [torch.randn(4, 8, 6, 6)]))

# %% pod_flat
import torch
from casper import pod_flat

last = torch.randn(4, 8, 6, 6)
print(pod_flat(last, last), pod_flat(last, -last))  # 0 and 2

# %% proxy_hinge
import torch
from casper import proxy_hinge

scores = torch.tensor([[5.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
print(proxy_hinge(scores, torch.tensor([0, 0]), torch.tensor([True, True, True])))

# %% supervised_contrastive
import torch
from casper import supervised_contrastive

views = torch.nn.functional.normalize(torch.randn(8, 2, 16), dim=2)  # two views of eight images
print(supervised_contrastive(views, torch.arange(8) % 4, temperature=0.07))

# %% hard_triplet_loss
import torch
from casper import hard_triplet_loss

print(hard_triplet_loss(torch.randn(8, 16), torch.arange(8) % 2, num_hardest=2))

# %% negatives_loss
import torch
from casper import negatives_loss

print(negatives_loss(torch.randn(8, 4) / 4, torch.arange(8) % 2, num_nearest=2))

# %% cross_space_clustering
import torch
from casper import cross_space_clustering

features, old = torch.randn(8, 16, requires_grad=True), torch.randn(8, 16)
print(cross_space_clustering(features, old, torch.arange(8) % 4))

# %% controlled_transfer
import torch
from casper import controlled_transfer

features, old, new = torch.randn(8, 16), torch.randn(8, 16), torch.arange(8) < 4
print(controlled_transfer(features, old, current=new, previous=~new, temperature=2.0))

# %% draw_mixing
import torch
from casper import draw_mixing

mixing = draw_mixing(4, 0.75, torch.Generator().manual_seed(0), torch.device("cpu"))
print(mixing.weights, mixing.partners)

# %% Mixing
import torch
from casper import Mixing

mixing = Mixing(weights=torch.tensor([0.9, 0.5]), partners=torch.tensor([1, 0]))
print(mixing(torch.tensor([[0.0], [1.0]])))  # 0.1 and 0.5

# %% pseudo_labels
import torch
from casper import pseudo_labels

logits = torch.tensor([[9.0, 1.0], [1.1, 1.0], [0.0, 9.0]])
print(pseudo_labels(torch.tensor([-1, -1, 0]), logits, torch.tensor([0, 1]), threshold=5.5))  # 0, -1, 0

# %% sharpened_mean
import torch
from casper import sharpened_mean

print(sharpened_mean(torch.tensor([[0.6, 0.4], [0.8, 0.2]]), num_views=2))  # of one item in two views
