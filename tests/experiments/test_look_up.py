from casper.experiments.look_up import final_accuracy, look_up

METRICS = {
    "nan": float("nan"),
    "class_il": {"final_average_accuracy": 61.5},
    "domain_il": None,
    "steps": 8,
    "odd": True,
    "list": [1],
}


def test_a_figure_by_its_path():
    assert look_up(METRICS, "class_il.final_average_accuracy") == 61.5
    assert look_up(METRICS, "steps") == 8


def test_what_is_no_figure():
    for path in (
        "class_il",
        "class_il.nothing",
        "domain_il.final_average_accuracy",
        "steps.more",
        "odd",
        "list",
        "x.y",
        "nan",
    ):
        assert look_up(METRICS, path) is None


def test_the_accuracy_of_the_streams_own_scenario():
    assert final_accuracy(METRICS) == 61.5
    assert final_accuracy({"class_il": None, "domain_il": {"final_average_accuracy": 0.0}}) == 0.0
    assert (
        final_accuracy({"class_il": {"final_average_accuracy": 0.0}, "domain_il": {"final_average_accuracy": 1}}) == 0.0
    )
    assert final_accuracy({}) is None
