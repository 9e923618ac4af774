import os

# Before torch is imported anywhere, and for the processes that tests start: two workers on two cores, one thread each.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

import torch

torch.set_num_threads(1)
