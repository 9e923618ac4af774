"""Signals that request a stop (Ctrl-C, SIGTERM, a closed terminal): finish the step, write a checkpoint, stop."""

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
    """A run was stopped by a signal. It is not an `Exception`, so that error handlers do not catch it.

    Attributes:
        signal: The number of the signal.
        message: The message for the user.

    Example:
        >>> import signal
        >>> from casper.runs import RunInterrupted
        >>> try:
        ...     raise RunInterrupted(signal.SIGINT)
        ... except RunInterrupted as stopped:
        ...     print(stopped, stopped.signal == signal.SIGINT)
        stopped at once True
    """

    def __init__(self, signal: int, message: str = "stopped at once") -> None:
        super().__init__(signal, message)
        self.signal, self.message = signal, message

    def __str__(self) -> str:
        return self.message


class RunStoppedError(Exception):
    """A run could not continue; the message is one line, for the user, with the command that resumes the run.

    Example:
        >>> from casper.runs import RunStoppedError
        >>> try:
        ...     raise RunStoppedError("the disk is full; resume with: casper run --resume runs/er")
        ... except RunStoppedError as error:
        ...     print(error)
        the disk is full; resume with: casper run --resume runs/er
    """


class Interruption(ShowsSettings):
    """Records the first signal that requests a stop; a second one stops at once.

    Example:
        >>> import signal
        >>> from casper.runs import Interruption
        >>> interruption = Interruption(message="")
        >>> with interruption.watched():
        ...     signal.raise_signal(signal.SIGINT)  # Ctrl-C
        >>> interruption.signal == signal.SIGINT
        True
    """

    def __init__(
        self, message: str = "finishing the step and writing a checkpoint; press Ctrl-C again to stop at once"
    ) -> None:
        """Prepare for signals; they are handled only in `watched`.

        Args:
            message: The message on standard error at the first signal; empty for none.
        """
        self.signal: int | None = None
        self._message = message
        self._before: dict[signal.Signals, Any] = {}

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Handle the signals in this block instead of their present handlers.

        Signals that are ignored stay ignored (`nohup`). Outside the main thread nothing changes.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        handled = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        self._before = {number: signal.signal(number, self._handle) for number in handled}
        try:
            yield
        finally:
            for number, handler in self._before.items():
                signal.signal(number, handler)

    def _handle(self, number: int, _: FrameType | None) -> None:
        if self.signal is not None:
            for each in self._before:
                signal.signal(each, signal.SIG_DFL)  # a third signal kills the process
            self._before = {}
            raise RunInterrupted(number)
        self.signal = number
        if self._message:
            # Bypass Python's buffers, which may be in the middle of a write.
            with suppress(OSError):  # the terminal may be gone
                os.write(2, f"\ncasper: {self._message}\n".encode())
