import json

import pytest

from casper.metrics import Record


def filled():
    record = Record(("class_il", "task_il"), 2)
    for task in range(2):
        record.put_untrained(task, {"class_il": 10.0 + task, "task_il": 50.0})
    record.put(0, 0, {"class_il": 90.0, "task_il": 95.0})
    record.put(0, 1, {"class_il": 0.0, "task_il": 55.0})
    record.put(1, 0, {"class_il": 30.0, "task_il": 80.0})
    record.put(1, 1, {"class_il": 70.0, "task_il": 90.0})
    return record


def test_new_record_is_empty():
    record = Record(("domain_il",), 3)
    assert record.matrices == {"domain_il": [[None] * 3] * 3}
    assert record.untrained == {"domain_il": [None] * 3}


def test_row_is_after_which_task_and_column_is_on_which():
    record = filled()
    assert record.matrices["class_il"] == [[90.0, 0.0], [30.0, 70.0]]
    assert record.matrices["task_il"] == [[95.0, 55.0], [80.0, 90.0]]
    assert record.untrained == {"class_il": [10.0, 11.0], "task_il": [50.0, 50.0]}


def test_average_is_over_the_tasks_seen_so_far():
    assert filled().average(0) == {"class_il": 90.0, "task_il": 95.0}
    assert filled().average(1) == {"class_il": 50.0, "task_il": 85.0}


def test_average_leaves_out_what_was_not_measured():
    record = filled()
    record.put(1, 0, {"class_il": None})
    assert record.average(1) == {"class_il": 70.0, "task_il": 85.0}


def test_summaries_of_both_scenarios_and_none_for_the_other():
    summaries = filled().summaries()
    assert list(summaries) == ["class_il", "task_il", "domain_il"]
    assert summaries["domain_il"] is None
    assert summaries["class_il"]["accuracy_matrix"] == [[90.0, 0.0], [30.0, 70.0]]
    assert summaries["class_il"]["final_average_accuracy"] == 50
    assert summaries["class_il"]["forward_transfer"] == -11
    assert summaries["task_il"]["forgetting"] == 15
    assert summaries["task_il"]["forward_transfer"] == 5


def test_domain_stream_has_one_scenario():
    record = Record(("domain_il",), 1)
    record.put(0, 0, {"domain_il": 40.0})
    summaries = record.summaries()
    assert summaries["class_il"] is None
    assert summaries["task_il"] is None
    assert summaries["domain_il"]["final_average_accuracy"] == 40


def test_unknown_scenario_is_refused():
    with pytest.raises(KeyError):
        filled().put(0, 0, {"domain_il": 1.0})


def test_loaded_record_is_equal_and_independent():
    record, copy = filled(), Record(("class_il", "task_il"), 2)
    state = record.state_dict()
    copy.load_state_dict(state)
    assert copy.summaries() == record.summaries()
    copy.put(1, 1, {"class_il": 1.0})
    copy.put_untrained(0, {"class_il": 2.0})
    assert record.state_dict() == state == filled().state_dict()


def test_state_does_not_change_with_the_record():
    record = filled()
    state = record.state_dict()
    record.put(0, 1, {"task_il": 3.0})
    record.put_untrained(1, {"task_il": 3.0})
    assert state == filled().state_dict()


def test_state_and_summaries_are_plain_values():
    record = filled()
    assert json.loads(json.dumps(record.state_dict())) == record.state_dict()
    assert json.loads(json.dumps(record.summaries())) == record.summaries()
