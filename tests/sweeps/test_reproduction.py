import pytest

from casper.experiments import ConfigError
from casper.experiments.paper_tables import paper_table
from casper.sweeps import plan


def names(runs):
    return [str(run) for run in runs]


def test_every_cell_and_seed():
    runs = plan(paper_table("domain"), "paper", 2)
    assert len(runs) == 20
    assert names(runs)[:4] == [
        "joint on rotated-mnist, seed 0",
        "joint on rotated-mnist, seed 1",
        "finetune on rotated-mnist, seed 0",
        "finetune on rotated-mnist, seed 1",
    ]
    assert names(runs)[-1] == "der++ + casper on rotated-mnist, buffer 500, seed 1"
    options = runs[-1].config.options
    assert (options.method, options.regularizer, options.buffer_size, options.seed) == ("der++", ["casper"], 500, 1)
    assert options.recalibrate


@pytest.mark.parametrize("protocol", ["paper", "desk"])
def test_the_papers_hyper_parameters_under_both_protocols(protocol):
    (run,) = plan(paper_table("cil"), protocol, 1, only=["er-ace,split-cifar100,500,casper"])
    assert run.config.hyper["casper"]["weight"] == 0.001
    assert run.config.options.lr == 0.1
    assert run.config.options.epochs == {"paper": 20, "desk": 4}[protocol]
    assert run.config.options.backbone == {"paper": "resnet18", "desk": "convnet"}[protocol]


def test_settings_of_a_table():
    (run,) = plan(paper_table("derset"), "paper", 1, only=["er-ace,500,casper"])
    options = run.config.options
    assert (options.epochs, options.batch_size, options.milestones) == (50, 32, [35, 45])
    assert run.config.hyper["casper"]["num_classes"] == 8  # fitted to the batch


def test_tables_share_runs():
    cil, til = ({run.config.hash for run in plan(paper_table(name), "desk", 1)} for name in ("cil", "til"))
    assert til < cil


def test_only_some_cells():
    table = paper_table("cil")
    assert len(plan(table, "desk", 1, only=["er-ace"])) == 12
    assert len(plan(table, "desk", 1, only=["er-ace, split-cifar100"])) == 4
    assert len(plan(table, "desk", 1, only=["er-ace,der++,split-cifar100,500"])) == 4
    assert names(plan(table, "desk", 1, only=["er-ace,split-cifar10,500,none", "icarl,split-cifar10,1000,casper"])) == [
        "er-ace on split-cifar10, buffer 500, seed 0",
        "icarl + casper on split-cifar10, buffer 1000, seed 0",
    ]
    # What keeps no memory belongs to every buffer size.
    found = names(plan(table, "desk", 1, only=["split-cifar10,500,none"]))
    assert found[:2] == ["joint on split-cifar10, seed 0", "finetune on split-cifar10, seed 0"]


@pytest.mark.parametrize("words", ["er-aces", "500,resnet18", "123"])
def test_a_word_that_no_cell_has(words):
    with pytest.raises(ConfigError, match=r"unknown word in --only for the table cil: .*valid: "):
        plan(paper_table("cil"), "desk", 1, only=[words])


def test_words_that_leave_nothing():
    with pytest.raises(ConfigError, match="--only joint,casper should leave a cell of the table cil; it leaves none"):
        plan(paper_table("cil"), "desk", 1, only=["joint,casper"])


def test_a_control_beside_every_cell_of_casper():
    runs = plan(paper_table("cil"), "desk", 1, only=["er-ace,split-cifar100,500"], also=["forward-only"])
    assert [run.config.options.regularizer for run in runs] == [[], ["casper"], ["forward-only"]]


def test_what_is_not_there_yet_is_named():
    runs = plan(paper_table("scr"), "paper", 1, only=["500"])
    lacking = {str(run): run.reason for run in runs if run.config is None}
    assert lacking["er-ace + cscct on split-cifar100, buffer 500, seed 0"] == "there is no regularizer cscct yet"
    assert len(lacking) == 5
    assert sum(run.config is not None for run in runs) == 11
    reasons = {run.reason for run in plan(paper_table("cssl"), "desk", 1)}
    assert "there is no method pser-ace and no option labels yet" in reasons
    assert "there is no option labels yet" in reasons
