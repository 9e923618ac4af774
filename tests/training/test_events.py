from dataclasses import FrozenInstanceError

import pytest

from casper.training import StepDone


def test_events_cannot_be_changed_by_a_listener():
    event = StepDone(phase=0, task=0, epoch=0, step=0, terms={})
    with pytest.raises(FrozenInstanceError):
        event.step = 1
