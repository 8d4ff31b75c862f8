"""Reads the live ZooKeeper sessions from the server that tracks them.

The leader of the ensemble (or a standalone server) expires sessions; the others only relay
heartbeats. It lists the sessions in response to the four-letter word ``dump``, which many clusters
don't allow (``4lw.commands.whitelist``, ZooKeeper 3.4.10 and later): then they are unknown. A list
without our own session is not from this ensemble.

Source: ZooKeeper 3.3 to 3.9 ``DumpCommand``, ``SessionTrackerImpl.dumpSessions``.
"""

import contextlib
import re
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from zkconsumer.clock import Clock
from zkconsumer.errors import TransportError
from zkconsumer.net.transport import Connector
from zkconsumer.status.reading.deadline import Deadline

Sessions: TypeAlias = Callable[[Deadline], frozenset[int] | None]
"""Returns the live sessions before the deadline; None: unknown."""

_LISTED: Final = re.compile(r"^(?:Global )?Session Sets \(", re.MULTILINE)
"""The heading that leaders and standalone servers print, and followers don't."""
_END: Final = re.compile(r"^ephemeral nodes dump:", re.MULTILINE)
_SESSION: Final = re.compile(r"^\s+0x([0-9a-f]{1,16})\b", re.MULTILINE)
_MOST_BYTES: Final = 64 * 1024 * 1024
_CHUNK: Final = 65_536
_SIGN: Final = 1 << 63


def parse_dump(text: str) -> frozenset[int] | None:
    """Return the sessions in the response to ``dump``; None if it does not list them all (pure)."""
    start = _LISTED.search(text)
    if start is None:
        return None
    end = _END.search(text, start.end())
    if end is None:
        return None  # truncated
    found = _SESSION.findall(text, start.end(), end.start())
    return frozenset((int(session_id, 16) ^ _SIGN) - _SIGN for session_id in found)


class EnsembleSessions:
    """Queries the servers of the connect string until one tracks sessions. Thread: one at a time.

    Args:
        connector: connects to them.
        servers: the servers of the ensemble; if the leader is not among them, nothing is known.
        own_session: returns our own session, which has to be in the list.
        clock: for the remaining time.
    """

    def __init__(
        self,
        connector: Connector,
        servers: Sequence[tuple[str, int]],
        *,
        own_session: Callable[[], int],
        clock: Clock,
    ) -> None:
        self._connector = connector
        self._servers = list(servers)
        self._own_session = own_session
        self._clock = clock

    def __call__(self, deadline: Deadline) -> frozenset[int] | None:
        """See ``Sessions``."""
        for number, server in enumerate(self._servers):
            if deadline.is_over:
                return None
            # A server that hangs must leave time for the others.
            share_ms = max(1, deadline.left_ms // (len(self._servers) - number))
            found = parse_dump(self._dump(server, Deadline(self._clock, share_ms)))
            if found is not None and self._own_session() in found:
                # The next time this server is queried first.
                self._servers.remove(server)
                self._servers.insert(0, server)
                return found
        return None

    def _dump(self, server: tuple[str, int], deadline: Deadline) -> str:
        """Return as much of a server's response as arrives in time; "" if it can't be reached."""
        received = bytearray()
        with contextlib.suppress(TransportError):
            transport = self._connector.connect(*server, timeout_ms=max(1, deadline.left_ms))
            with contextlib.closing(transport):
                transport.send(b"dump")
                buffer = bytearray(_CHUNK)
                while len(received) < _MOST_BYTES and not deadline.is_over:
                    transport.set_timeout_ms(max(1, deadline.left_ms))
                    count = transport.receive_into(memoryview(buffer))
                    if not count:
                        break
                    received += buffer[:count]
        return received.decode("utf-8", "replace")
