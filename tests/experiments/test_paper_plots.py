from casper.experiments.paper_plots import PAPER_PLOTS, PUBLISHED_RATIOS


def cells(name):
    return [(cell.method, cell.regularizer, cell.buffer_size) for cell in PAPER_PLOTS[name].table.cells]


def test_every_method_stands_beside_itself_with_casper():
    for plot in PAPER_PLOTS.values():
        found = [(cell.method, cell.regularizer) for cell in plot.table.cells]
        assert found[::2] == [(method, "none") for method, _ in found[::2]]
        assert found[1::2] == [(method, "casper") for method, _ in found[::2]]
        assert {cell.stream for cell in plot.table.cells} == {"split-cifar100"}


def test_methods_and_memories_as_in_the_captions():
    assert cells("tsne") == [("x-der", "none", 2000), ("x-der", "casper", 2000)]
    assert [method for method, _, _ in cells("fmaps")[::2]] == ["er-ace", "icarl", "x-der"]
    assert {size for _, _, size in cells("fmaps")} == {2000}
    assert {size for _, _, size in cells("sigma")} == {500}
    assert len(cells("sigma")) == len(cells("times")) == 10


def test_the_ratios_of_the_supplement():
    assert PUBLISHED_RATIOS == {"er-ace": 1.43, "x-der": 1.33}
