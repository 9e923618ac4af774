import pytest

from casper.reports import grid_of, make_report
from casper.reports.grid import gain_text, spread_text
from casper.reports.statistics import Gain, Spread
from finished import finished_run, rising

ACCURACY = "class_il.final_average_accuracy"
CIFAR = {"stream": "split-cifar100", "protocol": "desk", "method": "er-ace"}


def grid(path=ACCURACY, **options):
    runs = [
        finished_run({**CIFAR, "regularizer": [name], "buffer_size": size, "seed": seed}, rising(name, final, seed))
        for name, size, final in [("none", 500, 10.0), ("casper", 500, 12.0), ("none", 2000, 20.0)]
        for seed in (0, 1)
    ]
    (table,) = make_report(runs, paths=[path]).tables
    return grid_of(table, **options)


def texts(grid):
    return [[cell.text for cell in row] for row in grid.rows]


def test_for_each_buffer_size_four_columns():
    found = grid()
    block = ("F*", "gain", "paper", "paper F*")
    assert found.headers == ("method", "buffer 500", *block, "buffer 2000", *block)
    assert texts(found) == [
        ["er-ace", "10.50 ± 0.71 (2)", "5.00", "", "34.99", "51.41", "20.50 ± 0.71 (2)", "5.00", "", "46.52", "34.60"],
        [
            "\u2003+ casper",
            "12.50 ± 0.71 (2)",
            "5.00",
            "+2.00 [+2.00, +2.00] ▲",
            "36.70 (+1.71)",
            "46.61",
            "",
            "",
            "",
            "",
            "",
        ],
    ]
    assert [cell.key and round(cell.key, 5) for cell in found.rows[1]] == [
        None,
        12.5,
        5.0,
        2.0,
        36.7,
        46.61,
        None,
        None,
        None,
        None,
        None,
    ]


def test_fewer_columns():
    assert grid(sizes=[2000], beside=False).headers == ("method", "buffer 2000", "gain", "paper")
    # The paper prints variances, of these methods, but of times no figure; a time's difference is no gain.
    assert grid("seconds.train").headers == ("method", "buffer 500", "difference", "buffer 2000", "difference")
    assert texts(grid("latent.same_class_variance"))[0][1:3] == ["0.5000 ± 0.0000 (2)", ""]


def test_runs_without_a_memory_have_one_column():
    (table,) = make_report([finished_run({"method": "finetune"}, 40.0)], paths=[ACCURACY]).tables
    assert grid_of(table).headers == ("method", "mean", "F*")
    assert texts(grid_of(table)) == [["finetune", "40.00 (1)", "5.00"]]


@pytest.mark.parametrize(
    ("gain", "text"),
    [
        (Gain(0.5, 0.1, 0.9, 3), "+0.50 [+0.10, +0.90] ▲"),
        (Gain(-0.5, -0.9, -0.1, 3), "-0.50 [-0.90, -0.10] ▼"),
        (Gain(-0.001, -0.9, 0.9, 3), "+0.00 [-0.90, +0.90] ○"),
        (Gain(0.5, None, None, 1), "+0.50 ?"),
    ],
)
def test_gains_in_words(gain, text):
    assert gain_text(gain, 2) == text


def test_a_difference_of_times_has_an_interval_and_no_sign():
    row = grid("seconds.train").rows[1]
    assert (row[2].text, row[2].verdict) == ("+0.0 [+0.0, +0.0]", None)
    assert grid().rows[1][3].verdict == "higher"


def test_spreads_in_words():
    assert spread_text(Spread(16.486, 0.53, 3), 2) == "16.49 ± 0.53 (3)"
    assert spread_text(Spread(16.486, None, 1), 1) == "16.5 (1)"


def test_a_gain_over_fewer_seeds_says_so():
    runs = [
        finished_run({**CIFAR, "regularizer": [name], "seed": seed}, rising(name, final, seed))
        for name, final, seeds in [("none", 10.0, 2), ("casper", 12.0, 3)]
        for seed in range(seeds)
    ]
    (table,) = make_report(runs, paths=[ACCURACY]).tables
    assert texts(grid_of(table, beside=False))[1][1:3] == ["13.00 ± 1.00 (3)", "+2.00 [+2.00, +2.00] ▲ (2)"]


def test_the_papers_deviation_where_it_prints_one():
    run = finished_run({**CIFAR, "regularizer": ["none"]}, 70.0, scenario="task_il")
    (table,) = make_report([run], paths=["task_il.final_average_accuracy"]).tables
    assert texts(grid_of(table))[0][-2:] == ["73.86 ± 0.93", "10.73"]


def test_without_its_plain_method_a_row_carries_its_whole_name():
    runs = [
        finished_run({**CIFAR, "method": method, "regularizer": ["casper"]}, 10.0) for method in ("er-ace", "der++")
    ]
    (table,) = make_report(
        [*runs, finished_run({**CIFAR, "method": "der++", "regularizer": ["none"]}, 9.0)], paths=[ACCURACY]
    ).tables
    assert [row[0] for row in texts(grid_of(table))] == ["er-ace + casper", "der++", "\u2003+ casper"]
