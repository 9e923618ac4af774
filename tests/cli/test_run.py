import json
from pathlib import Path

import pytest
import yaml

from casper.cli.app import main

QUICK = ["--epochs", "1", "--set", "backbone.width=4", "--set", "split-digits.num_tasks=2"]


@pytest.fixture(autouse=True)
def in_a_directory_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def metrics(path):
    return json.loads((Path(path) / "metrics.json").read_text())


def test_a_run_prints_progress_matrix_and_summaries(capsys):
    assert main(["run", *QUICK]) == 0
    output = capsys.readouterr().out
    (directory,) = Path("runs").iterdir()
    assert directory.name.startswith("split-digits-er-ace-casper-0-")
    for part in ("task 2/2", "casper", "after task", "final average accuracy", "Task-IL", directory.name):
        assert part in output.replace("\n", "")


def test_weight_zero_equals_no_regularizer():
    assert main(["run", *QUICK, "--regularizer", "none", "--out", "A"]) == 0
    assert main(["run", *QUICK, "--regularizer", "casper", "--set", "casper.weight=0", "--out", "B"]) == 0
    assert metrics("A")["class_il"] == metrics("B")["class_il"]
    assert metrics("A")["task_il"] == metrics("B")["task_il"]


def test_a_runs_configuration_repeats_it():
    assert main(["run", *QUICK, "--seed", "3", "--recalibrate", "--out", "A"]) == 0
    assert main(["run", "--config", "A/config.yaml", "--out", "B"]) == 0
    assert {**metrics("A"), "seconds": 0} == {**metrics("B"), "seconds": 0}
    first, second = (yaml.safe_load(Path(name, "config.yaml").read_text()) for name in "AB")
    assert first.pop("origin")["seed"] == "user"
    assert second.pop("origin")["seed"] == "file"
    assert first == second


def test_a_directory_with_a_run_is_refused_until_overwritten(capsys):
    assert main(["run", *QUICK, "--out", "A"]) == 0
    assert main(["run", *QUICK, "--out", "A"]) == 2
    assert "holds a finished run" in capsys.readouterr().err
    Path("A/metrics.json").unlink()
    assert main(["run", *QUICK, "--out", "A"]) == 2
    assert "holds an unfinished run" in capsys.readouterr().err
    assert main(["run", *QUICK, "--out", "A", "--overwrite"]) == 0
    assert Path("A/metrics.json").exists()


def test_several_regularizers():
    assert main(["run", *QUICK, "--regularizer", "forward-only", "--regularizer", "casper", "--out", "A"]) == 0
    assert yaml.safe_load(Path("A/config.yaml").read_text())["regularizer"] == ["forward-only", "casper"]


def test_without_memory_the_default_regularizer_is_left_out_aloud(capsys):
    assert main(["run", *QUICK, "--method", "finetune"]) == 0
    assert "without casper" in capsys.readouterr().out


def test_domain_stream(capsys):
    arguments = ["--stream", "rotated-digits", "--set", "rotated-digits.num_tasks=2", "--epochs", "1"]
    assert main(["run", *arguments, "--backbone", "mlp", "--out", "A"]) == 0
    assert "Domain-IL" in capsys.readouterr().out
    assert metrics("A")["domain_il"]["final_average_accuracy"] > 20


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--epochs", "0"], "--epochs"),
        (["--epochs", "many"], "--epochs"),
        (["--batch-size", "0"], "--batch-size"),
        (["--buffer-size", "-5"], "--buffer-size"),
        (["--buffer-size", "0"], "--buffer-size"),
        (["--lr", "nan"], "--lr"),
        (["--lr", "inf"], "--lr"),
        (["--lr", "-1"], "--lr"),
        (["--seed", "-1"], "--seed"),
        (["--method", "er_ace"], "did you mean 'er-ace'?"),
        (["--stream", "nothing"], "valid: rotated-digits, split-digits"),
        (["--regularizer", "caspr"], "did you mean 'casper'?"),
        (["--method", "joint", "--regularizer", "casper"], "needs a memory"),
        (["--backbone", "resnet1000"], "unknown backbone"),
        (["--precision", "fp8"], "--precision"),
        (["--device", "gpu"], "--device"),
        (["--device", "cuda:99"], "--device cuda:99"),
        (["--threads", "0"], "--threads"),
        (["--threads", "99999999999"], "--threads"),
        (["--buffer-size", "1" + 30 * "0"], "--buffer-size"),
        (["--set", "backbone.width=1" + 30 * "0"], "this large"),
        (["--stream", "builtins:dict"], "signature"),
        (["--stream", "os:getcwd", "--regularizer", "none"], "should return a TaskStream; found str"),
        (["--method", "os:"], "unknown method in module 'os'"),
        (["--config", "empty_mapping.yaml"], "--lr"),
        (["--set", "casper.weight"], "--set"),
        (["--set", "casper.weight=heavy"], "casper.weight"),
        (["--set", "casper.num_classes=0"], "casper.num_classes"),
        (["--set", "casper.num_neighbors=0"], "casper.num_neighbors"),
        (["--set", "casper.num_neighbors=32"], "casper.num_neighbors"),
        (["--set", "casper.nothing=1"], "unknown key"),
        (["--set", "epochs=2", "--epochs", "3"], "given once"),
        (["--config", "missing.yaml"], "missing.yaml"),
        (["--config", "broken.yaml"], "plain YAML"),
        (["--config", "tagged.yaml"], "plain YAML"),
        (["--config", "listed.yaml"], "mapping"),
        (["--out", "file/below"], "--out"),
        (["--out", "file"], "--out"),
        (["--no-such-option"], "--no-such-option"),
        (["surplus"], "surplus"),
    ],
)
def test_bad_values_are_one_line_and_status_two(arguments, complaint, capsys):
    Path("broken.yaml").write_text("a: [1,\n")
    Path("tagged.yaml").write_text("seed: !!python/object/apply:os.getcwd []\n")
    Path("empty_mapping.yaml").write_text("lr: {}\n")
    Path("listed.yaml").write_text("- 1\n")
    Path("file").write_text("")
    before = sorted(Path().rglob("*"))
    assert main(["run", *arguments]) == 2
    captured = capsys.readouterr()
    assert complaint in captured.err
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "Traceback" not in captured.err
    assert sorted(Path().rglob("*")) == before


OWN_CODE = '''
import torch.nn.functional as F
from casper import Method, Regularizer
from casper.memory import reservoir

class Replay(Method):
    """Replay with a weight of its own."""

    def __init__(self, *, replay_weight: float = 0.5) -> None:
        self.replay_weight = replay_weight

    def draw(self, batch, task, progress):
        return self.make_step(batch, task, progress, (self.replay_batch(),) if len(self.memory) else ())

    def losses(self, step, passes):
        terms = {"stream": F.cross_entropy(passes["stream"].logits, step.stream.labels)}
        for replay in step.replays:
            terms["replay"] = self.replay_weight * F.cross_entropy(passes["replay"].logits, replay.labels)
        return terms

    def remember(self, step, passes):
        images, labels = step.stream.images, step.stream.labels
        self.memory.insert(images, labels, policy=reservoir, generator=self.generators["memory"])

class SmallFeatures(Regularizer):
    """Keep the stream's features small."""

    name = generator_name = "small-features"
    needs_memory = False

    def __init__(self, weight: float = 0.01) -> None:
        self.weight = weight

    def loss(self, step, passes, generator):
        return passes["stream"].features.square().mean()
'''


def test_a_users_own_method_and_regularizer_run(capsys):
    assert all(len(part.splitlines()) < 30 for part in OWN_CODE.split("class "))
    Path("own_code.py").write_text(OWN_CODE)
    names = ["--method", "own_code:Replay", "--regularizer", "own_code:SmallFeatures", "--regularizer", "casper"]
    settings = ["--set", "own_code:Replay.replay_weight=0.7", "--set", "own_code:SmallFeatures.weight=0.1"]
    assert main(["run", *QUICK, *names, *settings, "--out", "A"]) == 0
    assert "small-features" in capsys.readouterr().out
    config = yaml.safe_load(Path("A/config.yaml").read_text())
    assert config["own_code:Replay"] == {"replay_weight": 0.7}
    assert config["own_code:SmallFeatures"] == {"weight": 0.1}
    assert main(["run", "--config", "A/config.yaml", "--out", "B"]) == 0
    assert {**metrics("A"), "seconds": 0} == {**metrics("B"), "seconds": 0}


def test_a_loss_that_explodes_is_one_line_and_keeps_the_directory(capsys):
    assert main(["run", *QUICK, "--lr", "1e30", "--out", "A"]) == 1
    error = capsys.readouterr().err
    assert "the loss is not finite in task 1" in error
    assert error.count("\n") == 1
    assert not Path("A/metrics.json").exists()
