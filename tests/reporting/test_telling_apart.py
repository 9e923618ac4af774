from casper.config import resolve_config
from casper.reporting import telling_apart


def texts(*given):
    return list(telling_apart([resolve_config({"epochs": 2, **each}) for each in given]).values())


def test_runs_of_nearly_the_same_name_are_told_apart_by_their_options():
    sizes = [{"stream": "split-cifar100", "buffer_size": size} for size in (500, 2000)]
    assert texts(*sizes) == ["buffer_size=500", "buffer_size=2000"]  # and other published settings, which follow


def test_or_by_their_hyper_parameters():
    assert texts({"casper.weight": 0.1}, {"casper.weight": 0.2}) == ["casper.weight=0.1", "casper.weight=0.2"]


def test_what_only_one_run_has():
    assert texts({}, {"casper.self_neighbor": True}) == ["casper.self_neighbor=null", "casper.self_neighbor=true"]


def test_runs_with_names_of_their_own_need_no_words():
    assert texts({"seed": 0}, {"seed": 1}, {"method": "er"}) == ["", "", ""]
