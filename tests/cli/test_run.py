import json
import os
import sys
from pathlib import Path

import numpy
import pytest
import yaml

from casper.cli.app import main
from image_files import picture

QUICK = ["--epochs", "1", "--set", "backbone.width=4", "--tasks", "2"]


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


def test_the_same_command_goes_on_with_what_is_unfinished_and_leaves_alone_what_is_finished(capsys):
    assert main(["run", *QUICK, "--out", "A"]) == 0
    first = metrics("A")
    capsys.readouterr()
    assert main(["run", *QUICK, "--out", "A"]) == 2
    assert capsys.readouterr().err == (
        "casper: run directory A contains this run, finished; --resume prints its result, --overwrite repeats it\n"
    )
    assert main(["run", *QUICK, "--seed", "4", "--out", "A"]) == 2
    assert "A contains another run (finished), which differs in seed (0 there, 4 here)" in capsys.readouterr().err
    assert metrics("A") == first
    Path("A/metrics.json").unlink()
    assert main(["run", *QUICK, "--seed", "4", "--out", "A"]) == 2
    assert "A contains another run (unfinished), which differs in seed" in capsys.readouterr().err
    # What cannot change a result may differ.
    assert main(["run", *QUICK, "--out", "A", "--checkpoint-every", "task", "--device", "cpu", "--data-dir", "x"]) == 0
    assert metrics("A") == first  # from the last state: even the times are those of the first run
    assert main(["run", *QUICK, "--seed", "4", "--out", "A", "--overwrite"]) == 0
    assert metrics("A")["class_il"] != first["class_il"]


def test_several_regularizers():
    assert main(["run", *QUICK, "--regularizer", "forward-only", "--regularizer", "casper", "--out", "A"]) == 0
    assert yaml.safe_load(Path("A/config.yaml").read_text())["regularizer"] == ["forward-only", "casper"]


def test_without_memory_the_default_regularizer_is_left_out_aloud(capsys):
    assert main(["run", *QUICK, "--method", "finetune"]) == 0
    assert "without casper" in capsys.readouterr().out


def test_domain_stream(capsys):
    arguments = ["--stream", "rotated-digits", "--tasks", "2", "--epochs", "1"]
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
        (["--stream", "nothing"], "valid: folder:PATH, hub:OWNER/NAME, npz:FILE, rotated-digits"),
        (["--regularizer", "caspr"], "did you mean 'casper'?"),
        (["--method", "joint", "--regularizer", "casper"], "needs a memory"),
        (["--backbone", "resnet1000"], "unknown backbone"),
        (["--precision", "fp8"], "--precision"),
        (["--device", "gpu"], "--device"),
        (["--device", "cuda:99"], "--device cuda:99"),
        (["--device", "cuda:" + 5000 * "9"], "--device must be auto, cpu, cuda or cuda:N"),
        (["--threads", "0"], "--threads"),
        (["--threads", "99999999999"], "--threads"),
        (["--buffer-size", "1" + 30 * "0"], "--buffer-size"),
        (["--set", "backbone.width=1" + 30 * "0"], "cannot be allocated"),
        (["--stream", "builtins:dict"], "annotated to return a TaskStream, but got the class dict"),
        (["--stream", "os:getcwd", "--regularizer", "none"], "annotated to return a TaskStream, but got builtin"),
        (
            ["--checkpoint-every", "soon"],
            "--checkpoint-every must be auto, task, never, or such as 30s or 200steps, but got 'soon'",
        ),
        (["--resume", "nowhere"], "--resume nowhere is not the directory of a run"),
        (["--resume", "others"], "--resume others is not the directory of a run: it has no config.yaml"),
        (["--resume", "file"], "must be a directory, but is a file"),
        (
            ["--resume", "nowhere", "--epochs", "3"],
            "--resume uses the options of the stopped run, so --epochs must not be given",
        ),
        (["--resume", "nowhere", "--set", "lr=1"], "so --set must not be given"),
        (["--resume", "nowhere", "--out", "x"], "so --out must not be given"),
        (["--resume", "nowhere", "--overwrite"], "so --overwrite must not be given"),
        (["--resume", "nowhere", "--config", "c"], "so --config must not be given"),
        (["--method", "os:"], "module 'os' has no method; --method must be given as package.module:Class"),
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
        (["--out", "file/below"], "run directory file/below must be in a directory, but file is a file"),
        (["--out", "file"], "run directory file must be a directory, but is a file"),
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
    Path("others").mkdir()
    Path("others/letter.txt").write_text("")
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


DESK = ["--protocol", "desk", "--epochs", "1", "--set", "backbone.width=4", "--buffer-size", "20"]


@pytest.mark.parametrize("stream", ["split-cifar10", "split-cifar100", "split-mini-imagenet"])
def test_a_desk_run_on_a_real_layout(stream, data_dir, capsys):
    image_size = ["--image-size", "16"] if stream == "split-mini-imagenet" else []
    command = ["run", "--stream", stream, "--data-dir", str(data_dir), "--tasks", "2", *DESK, *image_size]
    assert main([*command, "--out", "A"]) == 0
    output = capsys.readouterr().out
    assert str(data_dir) in output
    assert "training and" in output
    text = Path("A/config.yaml").read_text()
    assert str(data_dir) not in text  # no path in the configuration
    config = yaml.safe_load(text)
    assert (config["tasks"], config["image_size"], config["backbone"]) == (2, 16, {"name": "convnet", "width": 4})
    assert config["origin"]["buffer_size"] == "user"
    assert config["origin"]["batch_size"] == "protocol desk"
    first = json.loads(Path("A/log.jsonl").read_text().splitlines()[0])
    assert first["event"] == "run started"
    assert first["classes"][0] == "class 0"
    assert main(["run", "--config", "A/config.yaml", "--data-dir", str(data_dir), "--out", "B"]) == 0
    assert {**metrics("A"), "seconds": 0} == {**metrics("B"), "seconds": 0}


def test_images_beyond_the_limit_are_one_line_that_names_the_option(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CASPER_MAX_DECODED_SIZE", "4GB")
    images, labels = numpy.zeros((20, 64, 64), numpy.uint8), numpy.arange(20) % 4
    numpy.savez_compressed(tmp_path / "set.npz", x_train=images, y_train=labels, x_test=images, y_test=labels)
    command = ["run", "--stream", f"npz:{tmp_path}/set.npz", "--tasks", "2", "--epochs", "1", "--buffer-size", "8"]
    assert main([*command, "--out", "A", "--max-decoded-size", "50KB"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "86.08 KB when decoded, more than 50KB; if this is intended, give a larger --max-decoded-size" in error
    assert main([*command, "--out", "A", "--max-decoded-size", "100KB", "--regularizer", "none"]) == 0
    assert "decoded" not in Path("A/config.yaml").read_text()


def test_the_variable_names_a_data_directory(data_dir, monkeypatch):
    monkeypatch.setenv("CASPER_DATA", str(data_dir))
    assert main(["run", "--stream", "rotated-mnist", "--tasks", "2", "--batch-size", "16", "--out", "A"]) == 0
    assert metrics("A")["domain_il"]["accuracy_matrix"][1][0] is not None


def test_a_shuffled_order_follows_the_seed(data_dir):
    orders = []
    for seed in ("1", "1", "2"):
        command = ["run", "--stream", "split-fashion-mnist", "--data-dir", str(data_dir), "--class-order", "shuffled"]
        assert main([*command, "--seed", seed, "--out", "A", "--overwrite"]) == 0
        orders.append(json.loads(Path("A/log.jsonl").read_text().splitlines()[0])["classes"])
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2])


def test_a_data_set_that_is_not_found_is_one_line(tmp_path, monkeypatch, capsys):
    def no_network(self, name, **options):
        raise ConnectionError("down")

    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", no_network)
    assert main(["run", "--stream", "split-cifar10", "--data-dir", str(tmp_path), "--out", "A"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("casper: uoft-cs/cifar10 not found: --data-dir")
    assert "hf download uoft-cs/cifar10" in captured.err
    assert captured.err.count("\n") == 1
    assert not Path("A").exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--stream", "split-cifar100", "--tasks", "7"], "--tasks must be a divisor of the number of classes, 100"),
        (["--stream", "rotated-mnist", "--class-order", "label"], "--class-order does not apply"),
        (["--stream", "split-cifar100", "--image-size", "99999"], "--image-size must be in [1, 4096]"),
        (["--stream", "folder:nowhere", "--tasks", "2"], "folder:nowhere: no such directory"),
        (["--stream", "npz:nowhere.npz", "--tasks", "2"], "npz:nowhere.npz: no such file"),
        (["--stream", "hub:nowhere", "--tasks", "2"], "must be OWNER/NAME"),
        (["--stream", "folder:"], "must be given as folder:PATH"),
        (["--stream", "split-cifar100", "--protocol", "home"], "unknown protocol 'home'"),
        (["--stream", "split-cifar10", "--backbone", "efficientnet-b2"], "at least 33 x 33 pixels"),
        (["--backbone", "timm:resnet10t"], "timm"),
        (["--trunk", "timm:resnet10t"], "timm"),
        (["--trunk", "file:none.pt2"], "--trunk must be a file written by torch.export.save, but got none.pt2"),
        (["--trunk", "support:Rows", "--method", "scr"], "--method scr needs images, which it augments, but --trunk"),
        (["--trunk", "support:Rows", "--method", "podnet"], "--method podnet needs maps of a network's stages"),
        (["--trunk", "support:Rows", "--backbone", "convnet"], "--backbone convnet needs images, but --trunk support"),
        (["--trunk", "support:Rows", "--set", "trunk.views=3"], "trunk.views must be 1 or 2, but got 3"),
        (["--trunk", "support:METHODS"], "must be a subclass of casper.Trunk"),
        (["--set", "trunk.views=2"], "trunk.views needs --trunk NAME"),
        (
            ["--protocol", "pretrained", "--set", "trunk=null"],
            "--protocol pretrained needs a trunk, but got",
        ),
        (["--trunk", "efficientnet-lite0", "--set", "trunk.image_size=32"], "trunk.image_size must be at least 33"),
        (["--buffer-size", "64M"], "--buffer-size must be a number of items or a size such as 500MB or 4GB"),
    ],
)
def test_bad_streams_and_backbones_are_one_line(arguments, complaint, data_dir, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "timm", None)
    assert main(["run", *arguments, "--data-dir", str(data_dir), "--out", "A"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert complaint in captured.err
    assert not Path("A").exists()


def test_a_folder_of_ones_own(capsys):
    for name in "abcd":
        for place in range(6):
            Path("pets", name).mkdir(parents=True, exist_ok=True)
            picture(place + ord(name), (9 + place, 9)).save(f"pets/{name}/{place}.png")
    command = ["run", "--stream", "folder:pets", "--tasks", "2", "--epochs", "1", "--out", "A"]
    assert main(command) == 2
    assert "pixels, others have" in capsys.readouterr().err
    assert main([*command, "--image-size", "12", "--set", "folder:pets.flip=true"]) == 0
    assert "4 classes with 5 training and 1 test images each, 12x12, colour" in capsys.readouterr().out
    assert yaml.safe_load(Path("A/config.yaml").read_text())["folder:pets"]["flip"] is True


def test_a_run_is_analysed_at_once_and_changes_by_nothing(capsys):
    assert main(["run", *QUICK, "--out", "A", "--analyse"]) == 0
    assert "functional map from 1 to 2 tasks" in capsys.readouterr().out
    answers = json.loads(Path("A/analysis.json").read_text())
    assert [end["tasks_learnt"] for end in answers["task_ends"]] == [1, 2]
    assert not list(Path("A").glob("checkpoint.task*"))
    assert main(["run", *QUICK, "--out", "B"]) == 0
    assert {**metrics("A"), "seconds": None} == {**metrics("B"), "seconds": None}
    assert answers["task_ends"][-1]["knn_5"] == metrics("B")["latent"]["knn_5"]


def test_states_after_tasks_stay_if_asked_for():
    assert main(["run", *QUICK, "--out", "A", "--keep-checkpoints", "--analyse"]) == 0
    assert sorted(file.name for file in Path("A").glob("*task*")) == ["checkpoint.task-01.pt", "checkpoint.task-02.pt"]


def test_a_run_behind_a_trunk_resumes_reports_and_is_analysed(capsys):
    quick = ["--trunk", "support:Rows", "--set", "trunk.views=2", "--set", "backbone.hidden=[16]", "--epochs", "1"]
    assert main(["run", *quick, "--method", "der++", "--buffer-size", "20KB", "--analyse", "--out", "A"]) == 0
    config = yaml.safe_load(Path("A/config.yaml").read_text())
    assert config["trunk"] == {"name": "support:Rows", "views": 2, "image_size": 8}
    assert config["backbone"] == {"name": "adapter", "hidden": [16], "norm": None, "residual": False}
    assert config["buffer_size"] == 20_000 // (2 * 2 * 24 + 8 + 4 * 10)
    assert config["origin"]["backbone"] == "the backbone for a trunk"
    assert config["origin"]["epochs"] == "user"
    assert config["origin"]["buffer_size"] == "user, 20KB"
    assert metrics("A")["user_code"].keys() == {"support:Rows"}
    assert len(json.loads(Path("A/analysis.json").read_text())["task_ends"]) == 5
    capsys.readouterr()
    assert main(["run", "--resume", "A"]) == 0
    assert "finished earlier" in capsys.readouterr().out
    assert main(["report", "A"]) == 0


def test_a_run_records_the_weights_of_its_trunk(capsys):
    small = ["--trunk", "efficientnet-lite0", "--set", "trunk.image_size=33", "--set", "backbone.hidden=[8]"]
    assert main(["run", *small, "--tasks", "2", "--epochs", "1", "--regularizer", "none", "--out", "A"]) == 0
    (entry,) = metrics("A")["user_code"].values()
    recorded = json.loads(Path("A/environment.json").read_text())["user_code"]
    assert entry == recorded["efficientnet-lite0"]
    assert entry["name"] == "efficientnet-lite0"
    assert len(entry["digest"]) == 10
    capsys.readouterr()
    assert main(["report", "A"]) == 0
    assert f"efficientnet-lite0, one version: {entry['digest']} (1 run)." in " ".join(capsys.readouterr().out.split())


def test_without_a_trunk_a_run_has_the_name_that_it_had():
    assert main(["run", *QUICK, "--seed", "5"]) == 0
    (directory,) = Path("runs").iterdir()
    assert directory.name == "split-digits-er-ace-casper-5-d94b0d8e"
    assert yaml.safe_load((directory / "config.yaml").read_text())["trunk"] is None


def test_a_changed_file_of_a_trunk_is_another_version(capsys):
    import torch

    network = torch.nn.Sequential(torch.nn.AvgPool2d(2), torch.nn.Flatten()).eval()
    sizes = ({0: torch.export.Dim("n")},)
    torch.export.save(torch.export.export(network, (torch.zeros(2, 3, 4, 4),), dynamic_shapes=sizes), "net.pt2")
    trunk = {"name": "file:net.pt2", "image_size": 4}
    sweep = {"epochs": 1, "tasks": 2, "method": "er", "regularizer": "none", "buffer_size": 20, "trunk": trunk}
    Path("sweep.yaml").write_text(yaml.safe_dump({**sweep, "backbone": {"name": "adapter", "hidden": [8]}}))
    assert main(["sweep", "sweep.yaml", "--out", "runs", "--no-estimate"]) == 0
    capsys.readouterr()
    assert main(["sweep", "sweep.yaml", "--out", "runs", "--no-estimate"]) == 0
    assert "stale" not in capsys.readouterr().out
    other = torch.nn.Sequential(torch.nn.MaxPool2d(2), torch.nn.Flatten()).eval()
    torch.export.save(torch.export.export(other, (torch.zeros(2, 3, 4, 4),), dynamic_shapes=sizes), "net.pt2")
    assert main(["sweep", "sweep.yaml", "--out", "runs", "--no-estimate"]) == 0
    assert "stale: split-digits-er-none-0-" in capsys.readouterr().out
    Path("net.pt2").unlink()
    os.mkfifo("net.pt2")  # no command waits for it
    assert main(["run", "--trunk", "file:net.pt2", "--out", "pipe"]) == 2
    assert "--trunk must be a file written by torch.export.save, but got net.pt2: " in capsys.readouterr().err
