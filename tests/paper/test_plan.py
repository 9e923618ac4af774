import pytest

from casper.config import ConfigError
from casper.paper.plan import plan_runs, refusing_methods
from casper.paper.tables import paper_table


def names(configs):
    """What is told apart in a table: method, regularizers, stream, buffer and seed."""
    return [
        " ".join([*map(str, [each.method, *each.regularizer, each.stream, each.buffer_size, each.seed])])
        for each in (config.options for config in configs)
    ]


def test_every_cell_and_seed():
    runs = plan_runs(paper_table("domain"), "paper", 2)
    assert len(runs) == 20
    assert names(runs)[:4] == [
        "joint rotated-mnist 0 0",
        "joint rotated-mnist 0 1",
        "finetune rotated-mnist 0 0",
        "finetune rotated-mnist 0 1",
    ]
    assert names(runs)[-1] == "der++ casper rotated-mnist 500 1"
    options = runs[-1].options
    assert (options.method, options.regularizer, options.buffer_size, options.seed) == ("der++", ["casper"], 500, 1)
    assert options.recalibrate


@pytest.mark.parametrize("protocol", ["paper", "desk"])
def test_the_papers_hyper_parameters_under_both_protocols(protocol):
    (run,) = plan_runs(paper_table("cil"), protocol, 1, only=["er-ace,split-cifar100,500,casper"])
    assert run.hyper["casper"]["weight"] == 0.001
    assert run.options.lr == 0.1
    assert run.options.epochs == {"paper": 20, "desk": 4}[protocol]
    assert run.options.backbone == {"paper": "resnet18", "desk": "convnet"}[protocol]


def test_settings_of_a_table():
    (run,) = plan_runs(paper_table("derset"), "paper", 1, only=["er-ace,500,casper"])
    options = run.options
    assert (options.epochs, options.batch_size, options.milestones) == (50, 32, [35, 45])
    assert run.hyper["casper"]["num_classes"] == 8  # fitted to the batch


def test_tables_share_runs():
    cil, til = ({run.hash for run in plan_runs(paper_table(name), "desk", 1)} for name in ("cil", "til"))
    assert til < cil


def test_only_a_part_of_the_labels():
    runs = plan_runs(paper_table("cssl"), "desk", 1, only=["ccic,0.05"])
    assert [(run.options.method, run.options.labels) for run in runs] == [("ccic", 0.05)] * 2


def test_only_some_cells():
    table = paper_table("cil")
    assert len(plan_runs(table, "desk", 1, only=["er-ace"])) == 12
    assert len(plan_runs(table, "desk", 1, only=["er-ace, split-cifar100"])) == 4
    assert len(plan_runs(table, "desk", 1, only=["er-ace,der++,split-cifar100,500"])) == 4
    assert names(
        plan_runs(table, "desk", 1, only=["er-ace,split-cifar10,500,none", "icarl,split-cifar10,1000,casper"])
    ) == [
        "er-ace split-cifar10 500 0",
        "icarl casper split-cifar10 1000 0",
    ]
    # What keeps no memory belongs to every buffer size.
    found = names(plan_runs(table, "desk", 1, only=["split-cifar10,500,none"]))
    assert found[:2] == ["joint split-cifar10 0 0", "finetune split-cifar10 0 0"]


@pytest.mark.parametrize("words", ["er-aces", "500,resnet18", "123"])
def test_a_word_that_no_cell_has(words):
    with pytest.raises(ConfigError, match=r"unknown word in --only for the table cil: .*valid: "):
        plan_runs(paper_table("cil"), "desk", 1, only=[words])


def test_words_that_leave_nothing():
    with pytest.raises(ConfigError, match="no cell of the table cil matches --only joint,casper"):
        plan_runs(paper_table("cil"), "desk", 1, only=["joint,casper"])


def test_a_control_beside_every_cell_of_casper():
    runs = plan_runs(paper_table("cil"), "desk", 1, only=["er-ace,split-cifar100,500"], also=["forward-only"])
    assert [run.options.regularizer for run in runs] == [[], ["casper"], ["forward-only"]]


def test_the_comparisons_with_few_labels():
    configs = plan_runs(paper_table("cssl"), "desk", 2)
    assert len(configs) == 24
    assert {config.options.labels for config in configs} == {0.008, 0.05}
    assert {config.options.method for config in configs} == {"er-ace", "pser-ace", "ccic"}
    assert {config.options.buffer_size for config in configs} == {2000}


def test_methods_that_refuse_a_trunk_are_left_out():
    table = paper_table("scr")
    assert refusing_methods(table, "pretrained") == ["scr", "podnet"]
    assert refusing_methods(paper_table("cssl"), "pretrained") == ["ccic"]
    for protocol in ("paper", "desk"):
        assert refusing_methods(table, protocol) == []
    runs = plan_runs(table, "pretrained", 1)
    assert {run.options.method for run in runs} == {"er-ace", "icarl", "der++", "x-der"}
    assert {run.options.trunk for run in runs} == {"efficientnet-lite0"}
    with pytest.raises(ConfigError, match="matches --only podnet: scr, podnet cannot be used with its trunk"):
        plan_runs(table, "pretrained", 1, only=["podnet"])
    with pytest.raises(ConfigError, match="the table domain cannot be reproduced with --protocol pretrained"):
        plan_runs(paper_table("domain"), "pretrained", 1)
