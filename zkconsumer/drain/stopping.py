"""Somebody asks a drain to end."""

from zkconsumer.scope import Mailbox, naps


class StopFlag:
    """See ``Stop``. Thread: any; a signal handler, too, whatever it interrupts."""

    def __init__(self) -> None:
        self._is_asked = False
        self._bell = Mailbox[None]()

    def ask(self) -> None:
        """End before the next batch."""
        self._is_asked = True
        self._bell.put(None)

    def asked(self) -> bool:
        """See ``Stop``."""
        return self._is_asked

    def wait(self, timeout_ms: int) -> None:
        """See ``Stop``."""
        for nap_ms in naps(timeout_ms):
            if self._is_asked:
                return
            self._bell.get(nap_ms)
