from casper.reporting import make_report
from finished import finished_run


def test_every_measure_that_the_runs_have():
    class_il = finished_run({}, 60.0, recalibrated=61.0)
    domain = finished_run({"stream": "rotated-digits"}, 70.0, scenario="domain_il")
    titles = [table.title for table in make_report([class_il, domain]).tables]
    assert titles == [
        "Class-IL: final average accuracy (%) on split-digits",
        "Domain-IL: final average accuracy (%) on rotated-digits",
        "Class-IL, recalibrated: final average accuracy (%) on split-digits",
        "k-NN probe, 5 neighbours: accuracy (%) on rotated-digits",
        "k-NN probe, 5 neighbours: accuracy (%) on split-digits",
        "k-NN probe, 11 neighbours: accuracy (%) on rotated-digits",
        "k-NN probe, 11 neighbours: accuracy (%) on split-digits",
        "Variance of features within a class on rotated-digits",
        "Variance of features within a class on split-digits",
        "Wall-clock time of training (s) on rotated-digits",
        "Wall-clock time of training (s) on split-digits",
    ]
