"""Examples of the API reference: streams. Each begins with `# %% NAME` and runs by itself."""

# %% TaskStream
from casper import TaskStream, split_digits

stream: TaskStream = split_digits()
print(len(stream), stream.scenario, stream.num_classes, stream.image_shape)
print([task.classes for task in stream[:2]])

# %% Transform
import torch
from casper import Transform

transform = Transform(mean=(0.5,), std=(0.25,), padding=2, flip=True)
images = torch.zeros(4, 1, 8, 8, dtype=torch.uint8)
view = transform.train(images, torch.Generator().manual_seed(0))  # crop, flip, normalize
print(view.shape, transform.test(images).mean())

# %% class_split
import torch
from casper import ImageSet, Transform, class_split

labels = torch.arange(60) % 6
data = ImageSet(torch.zeros(60, 1, 8, 8, dtype=torch.uint8), labels)
stream = class_split(data, data, num_tasks=3, transform=Transform((0.5,), (0.5,)), class_order="shuffled")
print(stream.class_names)

# %% split_images
from pathlib import Path
from casper import Transform, split_images
from casper.data import NpzFile, load

data = load(NpzFile(Path("own.npz")))  # arrays x_train y_train x_test y_test
stream = split_images(data, Transform((0.5,), (0.5,)), num_tasks=2)
print(stream.class_names)

# %% split_digits
from casper import split_digits

stream = split_digits(num_tasks=5)
print(stream.scenario, [task.classes for task in stream])

# %% rotated_digits
from casper import rotated_digits

stream = rotated_digits(num_tasks=5)
print(stream.scenario, [task.classes for task in stream])

# %% split_cifar10
from casper import split_cifar10

stream = split_cifar10(num_tasks=5, class_order="shuffled", data_dir="DATA", seed=0)
print(len(stream), stream.image_shape, stream.class_names[:2])

# %% split_cifar100
from casper import split_cifar100

stream = split_cifar100(num_tasks=10, class_order="shuffled", data_dir="DATA", seed=0)
print(len(stream), stream.image_shape, stream.class_names[:2])

# %% split_mini_imagenet
from casper import split_mini_imagenet

stream = split_mini_imagenet(num_tasks=20, class_order="shuffled", data_dir="DATA", seed=0)
print(len(stream), stream.image_shape, stream.class_names[:2])

# %% split_mnist
from casper import split_mnist

stream = split_mnist(num_tasks=5, class_order="shuffled", data_dir="DATA", seed=0)
print(len(stream), stream.image_shape, stream.class_names[:2])

# %% split_fashion_mnist
from casper import split_fashion_mnist

stream = split_fashion_mnist(num_tasks=5, class_order="shuffled", data_dir="DATA", seed=0)
print(len(stream), stream.image_shape, stream.class_names[:2])

# %% rotated_mnist
from casper import rotated_mnist

stream = rotated_mnist(num_tasks=3, data_dir="DATA", seed=0)
print(len(stream), stream.scenario, stream.num_classes)

# %% rotated_stream
from casper import rotated_stream, split_digits

digits = split_digits(num_tasks=1)
task = digits[0]
stream = rotated_stream(task.train, task.test, angles=[0.0, 45.0, 90.0], transform=digits.transform)
print(len(stream), stream.scenario)

# %% split_folder
from casper import split_folder

stream = split_folder("pets", num_tasks=2, image_size=32)  # pets/CLASS/*.jpg
print(stream.class_names, stream.image_shape)

# %% split_npz
from casper import split_npz

stream = split_npz("own.npz", num_tasks=2)  # arrays x_train y_train x_test y_test
print(stream.class_names, stream.image_shape)

# %% split_hub
from casper import split_hub

stream = split_hub("uoft-cs/cifar10", num_tasks=2, data_dir="DATA")  # or from the hub
print(len(stream), stream.image_shape)

# %% hide_labels
from casper import hide_labels, split_digits

stream = hide_labels(split_digits(), per_class=4, seed=0)
print((stream[0].train.labels >= 0).sum())  # of two classes

# %% hold_out
from casper import hold_out, split_digits

stream = hold_out(split_digits(), validation=0.1)  # tests are a tenth of the training images
print(len(stream[0].train), len(stream[0].test))

# %% shortened
from casper import shortened, split_digits

stream = shortened(split_digits(), train=50, test=20)  # to try something out
print(len(stream[0].train), len(stream[0].test))
