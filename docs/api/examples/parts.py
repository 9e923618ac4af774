"""Examples of the API reference: types, memory, networks. Each begins with `# %% NAME` and runs by itself."""

# %% ImageSet
import torch
from casper import ImageSet

images = torch.zeros(10, 3, 32, 32, dtype=torch.uint8)
data = ImageSet(images, torch.arange(10) % 2)
print(len(data), len(data[data.labels == 0]))

# %% Task
from casper import Task, split_digits

task: Task = split_digits()[1]
print(task.classes, task.past, len(task.train), len(task.test))

# %% Batch
import torch
from casper import Batch

images = torch.zeros(4, 1, 8, 8, dtype=torch.uint8)
batch = Batch(images, labels=torch.tensor([0, 1, -1, 1]), inputs=images.float() / 255)
print(len(batch), len(batch[batch.labels >= 0]))  # -1: hidden

# %% Outputs
import torch
from casper import ConvNet, FeatureClassifier, Outputs

backbone = ConvNet((1, 8, 8))
net = FeatureClassifier(backbone, torch.nn.Linear(backbone.dim, 10))
found: Outputs = net(torch.randn(4, 1, 8, 8))
print(found.features.shape, found.logits.shape, len(found.maps))

# %% Buffer
import torch
from casper import Buffer
from casper.memory import balanced_reservoir

generator = torch.Generator().manual_seed(0)
memory = Buffer(20, (1, 8, 8))
images = torch.zeros(100, 1, 8, 8, dtype=torch.uint8)
memory.insert(images, torch.arange(100) % 4, policy=balanced_reservoir, generator=generator)
rows = memory.draw_balanced(8, 4, generator)  # two images of each of four classes
print(len(memory), memory.labels[rows].unique())

# %% Column
import torch
from casper import Buffer, Column

memory = Buffer(4, (1, 8, 8), columns={"logits": Column(torch.float32, per_class=True)}, num_classes=10)
images, labels = torch.zeros(2, 1, 8, 8, dtype=torch.uint8), torch.tensor([0, 1])
memory.append(images, labels, {"logits": torch.randn(2, 10)})
print(memory.columns["logits"].shape)

# %% Backbone
import torch
from casper import ERACE, Backbone, Trainer, split_digits


class Linear(Backbone):
    def __init__(self, image_shape):
        super().__init__()
        channels, height, width = image_shape
        self.dim = 32
        self.layer = torch.nn.Linear(channels * height * width, self.dim)

    def forward(self, inputs):
        return self.layer(inputs.flatten(1)).relu(), ()


Trainer(split_digits()[:2], ERACE(), backbone=Linear, buffer_size=50).run()

# %% ConvNet
import torch
from casper import ConvNet

backbone = ConvNet((3, 32, 32), width=16)
features, maps = backbone(torch.randn(2, 3, 32, 32))
print(features.shape, len(maps))

# %% MLP
import torch
from casper import MLP

backbone = MLP((1, 28, 28), hidden=100)
features, maps = backbone(torch.randn(2, 1, 28, 28))
print(features.shape, len(maps))

# %% ResNet18
import torch
from casper import ResNet18

backbone = ResNet18((3, 32, 32))
features, maps = backbone(torch.randn(2, 3, 32, 32))
print(features.shape, len(maps))

# %% EfficientNetB2
import torch
from casper import EfficientNetB2

backbone = EfficientNetB2((3, 84, 84))
features, maps = backbone(torch.randn(2, 3, 84, 84))
print(features.shape, len(maps))

# %% TimmBackbone
from casper import ParameterError, TimmBackbone

try:
    print(TimmBackbone("resnet10t", (3, 32, 32)).dim)
except ParameterError as error:  # timm is not installed
    print(error)

# %% FeatureClassifier
import torch
from casper import MLP, FeatureClassifier

backbone = MLP((1, 8, 8))
net = FeatureClassifier(backbone, torch.nn.Linear(backbone.dim, 10), precision="bf16")
found = net(torch.randn(4, 1, 8, 8))
print(found.features.dtype, found.logits.shape)
