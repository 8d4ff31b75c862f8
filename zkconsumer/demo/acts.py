"""Waits for the conditions that end the acts (scripted steps) of a demo."""

import threading
from collections.abc import Callable

from zkconsumer.clock import SystemClock
from zkconsumer.errors import SandboxError, ZkConsumerError


class Acts:
    """The base class of demos, which play one act after the other. Thread: one."""

    def __init__(self, timeout_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._clock = SystemClock()
        self._pause = threading.Event()

    def _meanwhile(self, what: str) -> None:
        """Check processes, and show progress, while ``what`` is awaited.

        Raises:
            SandboxError: a process has ended unexpectedly.
        """
        raise NotImplementedError

    def _await(self, what: str, condition: Callable[[], bool]) -> None:
        """Wait until the condition holds.

        Raises:
            SandboxError: the condition did not hold in time, or a process has ended unexpectedly.
        """
        deadline_ms = self._clock.now_ms() + self._timeout_ms
        while not _holds(condition):
            self._meanwhile(what)
            if self._clock.now_ms() > deadline_ms:
                raise SandboxError(f"waited {self._timeout_ms // 1000} s in vain until {what}")
            self._pause.wait(0.1)


def _holds(condition: Callable[[], bool]) -> bool:
    try:
        return condition()
    except SandboxError:
        raise  # a command or a process has failed
    except ZkConsumerError:
        return False  # a server is busy: try again
