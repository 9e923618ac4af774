import os
import pickle
import signal
import threading

import pytest

from casper.runs import Interruption, RunInterrupted


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_is_remembered_and_the_second_does_not_wait(number, capfd):
    interruption = Interruption()
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        with interruption.watched():
            os.kill(os.getpid(), number)
            assert interruption.signal == number
            assert "finishing the step" in capfd.readouterr().err
            with pytest.raises(RunInterrupted) as caught:
                os.kill(os.getpid(), signal.SIGINT)
        assert {signal.getsignal(each) for each in before} == {signal.SIG_DFL}
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    assert caught.value.signal == signal.SIGINT
    assert str(caught.value) == "stopped at once"


def test_the_signals_go_back_to_who_had_them():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with Interruption().watched():
        assert signal.getsignal(signal.SIGINT) is not before[0]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_what_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as `nohup` does
    try:
        interruption = Interruption()
        with interruption.watched():
            os.kill(os.getpid(), signal.SIGHUP)
        assert interruption.signal is None
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_outside_the_main_thread_nothing_changes():
    found = []

    def work():
        with Interruption().watched():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.getsignal(signal.SIGINT)]


def test_it_goes_from_process_to_process():
    again = pickle.loads(pickle.dumps(RunInterrupted(15, "why")))
    assert (again.signal, str(again)) == (15, "why")
