"""The CaSpeR loss in a plain PyTorch loop with a hand-written buffer; nothing else of casper is used."""

import argparse

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import Tensor, nn

from casper import spectral_gap_loss

BATCH, PER_CLASS, NUM_CLASSES, NUM_NEIGHBORS = 32, 10, 4, 4  # the last two are the paper's p and k


class ClassBuffer:
    """Store PER_CLASS images of every class."""

    def __init__(self) -> None:
        self.images: dict[int, Tensor] = {}

    def add(self, images: Tensor, labels: Tensor) -> None:
        for label in labels.unique().tolist():
            self.images[label] = images[labels == label][:PER_CLASS]

    def draw(self) -> tuple[Tensor, Tensor, int]:
        """Draw the same number of images of each of up to NUM_CLASSES classes; the gap is opened at that number."""
        chosen = [sorted(self.images)[place] for place in torch.randperm(len(self.images))[:NUM_CLASSES]]
        drawn = [self.images[label][torch.randperm(PER_CLASS)[: BATCH // NUM_CLASSES]] for label in chosen]
        return torch.cat(drawn), torch.tensor(chosen).repeat_interleave(BATCH // NUM_CLASSES), len(chosen)


parser = argparse.ArgumentParser(description="Replay with the CaSpeR loss in a plain training loop.")
parser.add_argument("--weight", type=float, default=0.01, help="weight of the CaSpeR loss; 0 turns it off")
parser.add_argument("--epochs", type=int, default=10, help="passes over each task")
options = parser.parse_args()

torch.manual_seed(0)
digits = load_digits()
images, labels = torch.from_numpy(digits.data).float() / 16, torch.from_numpy(digits.target)
is_test = torch.arange(len(labels)) % 6 == 0
backbone, head = nn.Sequential(nn.Linear(64, 100), nn.ReLU(), nn.Linear(100, 64), nn.ReLU()), nn.Linear(64, 10)
optimizer = torch.optim.SGD([*backbone.parameters(), *head.parameters()], lr=0.1)
buffer = ClassBuffer()
for task in range(5):  # two new digits in each
    rows = (~is_test & (labels // 2 == task)).nonzero().squeeze(1)
    for _ in range(options.epochs):
        for batch in rows[torch.randperm(len(rows))].split(BATCH):
            loss = F.cross_entropy(head(backbone(images[batch])), labels[batch])
            if task > 0:
                replayed, targets, num_classes = buffer.draw()
                features = backbone(replayed)
                loss = loss + F.cross_entropy(head(features), targets)
                loss = loss + options.weight * spectral_gap_loss(features, num_classes, NUM_NEIGHBORS)  # CaSpeR
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    buffer.add(images[rows], labels[rows])
    tested = is_test & (labels // 2 <= task)
    correct = head(backbone(images[tested])).argmax(1) == labels[tested]
    print(f"task {task + 1}: {100 * correct.float().mean():.2f} % on the {2 * task + 2} digits seen so far")
