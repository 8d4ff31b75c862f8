"""A flag that ends waits: pauses between tries that another thread can cut short."""

from zkconsumer.scope import Mailbox, naps


class StopFlag:
    """Set once. Thread: any; a signal handler may set it, whatever it interrupted."""

    def __init__(self) -> None:
        self._set = False
        # Every step on it is one call, so that there is no lock that a handler could meet.
        self._waiting: set[Mailbox[None]] = set()

    @property
    def is_set(self) -> bool:
        """Whether waits are over."""
        return self._set

    def set(self) -> None:
        """End every wait, now and later. Idempotent."""
        self._set = True
        for mailbox in self._waiting.copy():
            mailbox.put(None)

    def wait(self, duration_ms: int) -> bool:
        """Wait so long, or until the flag is set; whether it is."""
        mailbox: Mailbox[None] = Mailbox()
        self._waiting.add(mailbox)
        try:
            for nap_ms in naps(duration_ms):
                if self._set:
                    return True
                mailbox.get(nap_ms)
            return self._set
        finally:
            self._waiting.discard(mailbox)
