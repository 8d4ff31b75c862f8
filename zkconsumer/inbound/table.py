"""Decides which open connections are closed in favour of others, and which are overdue. Pure.

A connection *waits* while its client owes something: a request, its body, reading the response.
While the server works on a response the connection does not wait, and is never closed in favour of
others. So a client that sends its request immediately is served, however many others stay silent:
at the limit, the connection that has waited longest, of the address with the most waiting
connections, is closed.
"""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

_LEAST_READ_BYTES: Final = 32_768
_IPV6_PREFIX: Final = 64


class WaitingFor(Enum):
    """What a connection waits for."""

    HEAD = "the head of its request"
    BODY = "the body of its request"
    NEXT = "another request"
    READING = "the client to read its response"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """The limits on connections, and on how long they may wait for their client.

    Attributes:
        connections: the maximum number of connections.
        spare: additional connections, for requests that must get a response even at the limit.
        per_address: how many connections of one address may wait for clients without a token.
        head_ms: from connecting, or from the first byte of a later request, to the end of its head.
        body_ms: from the end of the head to the end of the body.
        next_ms: the idle time between two requests.
        reading_ms: the time in which a client must read all pending data, or ``read_bytes``.
        read_bytes: see ``reading_ms``.
        unread_bytes: the limit of response data in memory for all clients together.
    """

    connections: int = 500
    spare: int = 16
    per_address: int = 100
    head_ms: int = 10_000
    body_ms: int = 10_000
    next_ms: int = 5_000
    reading_ms: int = 10_000
    read_bytes: int = _LEAST_READ_BYTES
    unread_bytes: int = 256 << 20


class Admission(NamedTuple):
    """The decision about a new connection.

    Attributes:
        number: the number of the connection; None: it is refused.
        evicted: the connections to close in its favour.
    """

    number: int | None
    evicted: tuple[int, ...] = ()


class ConnectionProgress(NamedTuple):
    """The visible progress of a connection.

    Attributes:
        unread: response bytes that the client's machine has not acknowledged.
        read: acknowledged bytes, counted from any start.
        body_open: whether the body of the current request is incomplete.
        buffered: how many of the ``unread`` bytes are in this process's memory.
    """

    unread: int = 0
    read: int = 0
    body_open: bool = False
    buffered: int = 0


@dataclass(slots=True)
class _Connection:
    address: str
    spare: bool
    waits: WaitingFor | None
    since_ms: int
    authenticated: bool = False
    request_ms: int = 0
    mark_ms: int | None = None
    mark_read: int = 0


class ConnectionTable:
    """The open connections. Thread: one."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._open: dict[int, _Connection] = {}
        self._usual = 0
        self._numbers = 0
        self._waiting = {
            (spare, authenticated): _Waiting() for spare in _BOTH for authenticated in _BOTH
        }

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, number: int) -> bool:
        return number in self._open

    def waiting(self, but: WaitingFor | None = None) -> tuple[int, ...]:
        """Return the connections that wait for their client, unless for the reason ``but``."""
        return tuple(
            number
            for number, connection in self._open.items()
            if connection.waits not in {None, but}
        )

    def admit(self, address: str, now_ms: int) -> Admission:
        """Admit or refuse a new connection.

        Args:
            address: the client's, from ``address_key``.
            now_ms: the time.
        """
        evicted = self._make_space(address)
        for number in evicted:
            self.close(number)
        spare = self._usual >= self.limits.connections
        if len(self._open) >= self.limits.connections + self.limits.spare:
            return Admission(None, evicted)
        self._numbers += 1
        self._open[self._numbers] = _Connection(address, spare, WaitingFor.HEAD, now_ms)
        self._usual += not spare
        self._queue(self._open[self._numbers]).add(address, self._numbers)
        return Admission(self._numbers, evicted)

    def _make_space(self, address: str) -> tuple[int, ...]:
        of_strangers = self._waiting[False, False]
        surplus = of_strangers.count(address) - self.limits.per_address + 1
        if surplus > 0:
            return of_strangers.first(address, surplus)
        if self._usual < self.limits.connections:
            return ()
        victim = self.longest_waiting()
        if victim is None and len(self._open) >= self.limits.connections + self.limits.spare:
            victim = self._longest_of(spare=True)
        return () if victim is None else (victim,)

    def longest_waiting(self) -> int | None:
        """Return the connection to close first; None if none waits for its client."""
        return self._longest_of(spare=False)

    def _longest_of(self, *, spare: bool) -> int | None:
        for authenticated in _BOTH:
            found = self._waiting[spare, authenticated].longest()
            if found is not None:
                return found
        return None

    def begin(self, number: int, now_ms: int) -> bool:
        """Record that a request has arrived, at least its head.

        Returns:
            True if the request may use any resource; False if it came over a spare connection while
            the limit is reached, or if the connection is closed.
        """
        connection = self._open.get(number)
        if connection is None:
            return False
        connection.request_ms = now_ms
        if connection.spare and self._usual < self.limits.connections:
            self._queue(connection).discard(connection.address, number)
            connection.spare = False
            self._usual += 1
            if connection.waits is not None:
                self._queue(connection).add(connection.address, number)
        return not connection.spare

    def wait(self, number: int, waits: WaitingFor | None, now_ms: int) -> None:
        """Record what a connection waits for; None: for the server. An unchanged wait continues."""
        connection = self._open.get(number)
        if connection is None or connection.waits is waits:
            return
        queue = self._queue(connection)
        if waits is None:
            queue.discard(connection.address, number)
        elif connection.waits is None:
            queue.add(connection.address, number)
        connection.waits, connection.since_ms = waits, now_ms

    def authenticate(self, number: int) -> None:
        """Record that the client of a connection has shown a token."""
        connection = self._open.get(number)
        if connection is None or connection.authenticated:
            return
        self._queue(connection).discard(connection.address, number)
        connection.authenticated = True
        if connection.waits is not None:
            self._queue(connection).add(connection.address, number)

    def close(self, number: int) -> None:
        """Remove a connection; ignore an unknown one."""
        connection = self._open.pop(number, None)
        if connection is not None:
            self._usual -= not connection.spare
            self._queue(connection).discard(connection.address, number)

    def overdue(self, number: int, progress: ConnectionProgress, now_ms: int) -> WaitingFor | None:
        """Return what a connection has waited for too long; None: nothing."""
        connection = self._open.get(number)
        if connection is None:
            return None
        limits, waited_ms = self.limits, now_ms - connection.since_ms
        if self._reads_too_little(connection, progress, now_ms):
            return WaitingFor.READING
        if progress.body_open and now_ms - connection.request_ms >= limits.body_ms:
            return WaitingFor.BODY
        if connection.waits is WaitingFor.HEAD and waited_ms >= limits.head_ms:
            return WaitingFor.HEAD
        if connection.waits is WaitingFor.NEXT and waited_ms >= limits.next_ms:
            return WaitingFor.NEXT
        return None

    def _reads_too_little(
        self, connection: _Connection, progress: ConnectionProgress, now_ms: int
    ) -> bool:
        if not progress.unread:
            connection.mark_ms = None
        elif (
            connection.mark_ms is None
            or progress.read - connection.mark_read >= self.limits.read_bytes
        ):
            connection.mark_ms, connection.mark_read = now_ms, progress.read
        else:
            return now_ms - connection.mark_ms >= self.limits.reading_ms
        return False

    def over_memory_limit(self, buffered: Mapping[int, int]) -> tuple[int, ...]:
        """Return the connections to close because clients leave too much data unread in memory.

        Args:
            buffered: bytes in our memory, by connection.
        """
        surplus = sum(buffered.values()) - self.limits.unread_bytes
        found: list[int] = []
        known = [number for number in buffered if number in self._open]
        for number in sorted(
            known, key=lambda number: (self._open[number].authenticated, -buffered[number])
        ):
            if surplus <= 0:
                break
            surplus -= buffered[number]
            found.append(number)
        return tuple(found)

    def _queue(self, connection: _Connection) -> "_Waiting":
        return self._waiting[connection.spare, connection.authenticated]


class _Waiting:
    """Waiting connections by address, the longest-waiting first."""

    def __init__(self) -> None:
        self._of: dict[str, dict[int, None]] = {}

    def add(self, address: str, number: int) -> None:
        """Append a connection to those of its address."""
        self._of.setdefault(address, {})[number] = None

    def discard(self, address: str, number: int) -> None:
        """Remove a connection, if present."""
        numbers = self._of.get(address)
        if numbers is not None:
            numbers.pop(number, None)
            if not numbers:
                del self._of[address]

    def count(self, address: str) -> int:
        """Return the number of an address's connections."""
        return len(self._of.get(address, ()))

    def first(self, address: str, count: int) -> tuple[int, ...]:
        """Return the first ``count`` connections of an address."""
        return tuple(self._of.get(address, {}))[:count]

    def longest(self) -> int | None:
        """Return the first connection of the address with the most connections."""
        if not self._of:
            return None
        return next(iter(self._of[max(self._of, key=self.count)]))


_BOTH: Final = (False, True)


def address_key(host: str) -> str:
    """Return the key of a client's address; for IPv6 its /64 network, which is one client's."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, _IPV6_PREFIX), strict=False).network_address)
