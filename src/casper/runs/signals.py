"""Ctrl-C, SIGTERM, a terminal that is closed: finish the step, keep what was learnt, stop."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from casper._repr import ShowsSettings

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class RunInterrupted(BaseException):
    """A run that was asked to stop; no handler of errors should take it for one.

    Attributes:
        signal: The number of the signal that asked.
    """

    def __init__(self, signal: int, message: str = "stopped at once") -> None:
        super().__init__(signal, message)
        self.signal, self.message = signal, message

    def __str__(self) -> str:
        return self.message


class RunStoppedError(Exception):
    """A run that could not go on; the message is one line, for the user, and says how to continue."""


class Interruption(ShowsSettings):
    """Remembers that a signal asked to stop; a second one does not wait."""

    def __init__(self, message: str = "finishing the step and writing a checkpoint; once more to stop at once") -> None:
        """Wait for a signal; nothing is heard before `watched`.

        Args:
            message: What is said on standard error at the first one; empty: nothing.
        """
        self.signal: int | None = None
        self._message = message
        self._before: dict[signal.Signals, Any] = {}

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Take the signals in place of whoever takes them now.

        Those that are ignored stay so (`nohup`); outside the main thread nothing changes.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        heeded = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        self._before = {number: signal.signal(number, self._take) for number in heeded}
        try:
            yield
        finally:
            for number, handler in self._before.items():
                signal.signal(number, handler)

    def _take(self, number: int, _: FrameType | None) -> None:
        if self.signal is not None:
            for each in self._before:
                signal.signal(each, signal.SIG_DFL)  # a third one is not ours, and need not be told why
            self._before = {}
            raise RunInterrupted(number)
        self.signal = number
        if self._message:
            # Past Python's own buffers: one of them may be in the middle of a write.
            with suppress(OSError):  # the terminal may be gone
                os.write(2, f"\ncasper: {self._message}\n".encode())
