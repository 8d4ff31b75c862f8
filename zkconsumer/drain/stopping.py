"""Somebody asks a drain to end."""

import threading

from zkconsumer.scope import naps


class StopFlag:
    """See ``Stop``. Thread: any; a signal handler, too."""

    def __init__(self) -> None:
        self._asked = threading.Event()

    def ask(self) -> None:
        """End before the next batch."""
        self._asked.set()

    def asked(self) -> bool:
        """See ``Stop``."""
        return self._asked.is_set()

    def wait(self, timeout_ms: int) -> None:
        """See ``Stop``."""
        for nap_ms in naps(timeout_ms):
            if self._asked.wait(nap_ms / 1000):
                return
