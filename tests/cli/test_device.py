import pytest
import torch

from casper.cli.device import choose_device, precision_notes, use_threads
from casper.config import ConfigError


def test_auto_takes_a_gpu_where_there_is_one(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert choose_device("auto") == "cuda"
    assert choose_device("cuda:1") == "cuda:1"
    with pytest.raises(ConfigError, match=r"--device cuda:2 .* found 2 GPUs"):
        choose_device("cuda:2")


@pytest.mark.parametrize("name", ["gpu", "", "cuda:", "cuda:x", "CPU", "cuda;rm"])
def test_other_names_are_refused(name):
    with pytest.raises(ConfigError, match="--device should be auto, cpu, cuda or cuda:N"):
        choose_device(name)


def test_threads():
    before = torch.get_num_threads()
    use_threads(None)
    assert torch.get_num_threads() == before
    for threads in (0, -1, 10**12):
        with pytest.raises(ConfigError, match=rf"--threads should be in 1\.\.1024; found {threads}"):
            use_threads(threads)
    use_threads(2)
    assert torch.get_num_threads() == 2
    use_threads(before)


@pytest.mark.parametrize(
    ("precision", "device", "capability", "notes"),
    [("bf16", "cpu", "AVX2", 1), ("bf16", "cpu", "AVX512", 0), ("fp32", "cpu", "AVX2", 0), ("bf16", "cuda", "AVX2", 0)],
)
def test_bf16_on_a_cpu_without_it_is_noted(precision, device, capability, notes, monkeypatch):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    assert len(precision_notes(precision, device)) == notes
