"""Accepts connections on an event loop, even if the system runs out of descriptors."""

import asyncio
import errno
import os
import socket
from collections.abc import Callable
from typing import Final

from zkconsumer.inbound.pacing import PacedLog

_AT_ONCE: Final = 64
"""Maximum number of connections accepted before other events are handled."""
_BACK_OFF_S: Final = 0.2
_AGAIN: Final = (BlockingIOError, InterruptedError, ConnectionError)
_OF_THE_NETWORK: Final = frozenset(
    {
        errno.ENETDOWN,
        errno.EPROTO,
        errno.ENOPROTOOPT,
        errno.EHOSTDOWN,
        errno.ENONET,
        errno.EHOSTUNREACH,
        errno.EOPNOTSUPP,
        errno.ENETUNREACH,
        errno.EPERM,
    }
)
"""Linux's errors of a connection that failed before it was accepted, or is not permitted."""


class Listener:
    """Accepts connections until it is closed. Thread: the event loop's, also for the callbacks.

    It replaces asyncio's own server, which after a failure retries as often as its backlog is long,
    and logs each time.

    Args:
        listening: the socket; its owner closes it.
        take: called with each connection and its client's address.
        relieve: called when a lack of descriptors or memory prevents accepting.
        paced: rate-limits the log lines about that.
    """

    def __init__(
        self,
        listening: socket.socket,
        take: Callable[[socket.socket, str], None],
        *,
        relieve: Callable[[], None],
        paced: PacedLog,
    ) -> None:
        self._listening = listening
        self._take = take
        self._relieve = relieve
        self._paced = paced
        self._loop = asyncio.get_running_loop()
        self._again: asyncio.TimerHandle | None = None
        listening.settimeout(0)
        self._loop.add_reader(listening, self._accept_some)

    def close(self) -> None:
        """Accept no more. Idempotent."""
        if self._again is not None:
            self._again.cancel()
        if self._listening.fileno() >= 0:
            self._loop.remove_reader(self._listening)

    def _accept_some(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                accepted, peer = self._listening.accept()
            except _AGAIN:
                return
            except OSError as error:
                if error.errno not in _OF_THE_NETWORK:
                    self._back_off(error)
                return
            accepted.settimeout(0)
            self._take(accepted, str(peer[0]))

    def _back_off(self, error: OSError) -> None:
        # The socket stays readable: without a pause this would be called again immediately.
        message = os.strerror(error.errno) if error.errno else str(error)
        self._paced.warning(
            "no connection can be accepted",
            "no connection can be accepted: %s: trying again every %d ms",
            message,
            _BACK_OFF_S * 1000,
        )
        self._loop.remove_reader(self._listening)
        self._again = self._loop.call_later(_BACK_OFF_S, self._go_on)
        self._relieve()

    def _go_on(self) -> None:
        self._loop.add_reader(self._listening, self._accept_some)
