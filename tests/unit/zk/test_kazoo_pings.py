"""Pings on kazoo's connection, and what is told of their answers."""

from types import SimpleNamespace
from typing import Any

import pytest
from kazoo.protocol.connection import PING_XID
from kazoo.protocol.serialization import Connect, Exists, PingInstance

from tests.support.manual_clock import ManualClock
from zkconsumer.zk.kazoo_pings import PINGS_PER_SESSION, Pings, install

SESSION_MS = 6_000
EVERY_MS = SESSION_MS // PINGS_PER_SESSION


class KazooConnectionDouble:
    """The inner parts of kazoo's that matter; what it waits for is what a test says."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.client = SimpleNamespace(hosts=["a", "b"])
        self.handler = SimpleNamespace(select=self._select_plainly)
        self._read_sock: object | None = object()
        self.sent: list[tuple[object, object]] = []
        self.naps_ms: list[int] = []
        self.coming: list[int] = []
        self.ready_at_ms: int | None = None

    def _submit(self, request: object, timeout: float, _xid: int | None = None) -> None:
        self.sent.append((request, timeout))

    def _read_header(self, _timeout: float) -> tuple[Any, bytes, int]:
        return SimpleNamespace(xid=self.coming.pop(0)), b"", 0

    def _select_plainly(
        self, readers: list[Any], _writers: list[Any], _errors: list[Any], timeout: float
    ) -> tuple[list[Any], list[Any], list[Any]]:
        nap_ms = round(timeout * 1000)
        self.naps_ms.append(nap_ms)
        now_ms = self._clock.now_ms()
        if self.ready_at_ms is not None and self.ready_at_ms <= now_ms + nap_ms:
            self._clock.advance(max(0, self.ready_at_ms - now_ms))
            return readers[:1], [], []
        self._clock.advance(nap_ms)
        return [], [], []

    def wait(self, timeout_ms: int) -> bool:
        """As kazoo's loop waits; says whether there is something to read."""
        found = self.handler.select([object(), self._read_sock], [], [], timeout_ms / 1000)
        return bool(found[0])

    def pings(self) -> int:
        """How many were sent."""
        return sum(request is PingInstance for request, _ in self.sent)


class PingWorld:
    """A connection with pings, connected at 1,000 ms by a request of 990 ms."""

    def __init__(self) -> None:
        self.clock = ManualClock(990)
        self.connection = KazooConnectionDouble(self.clock)
        self.received: list[tuple[int, int]] = []
        pings = install(
            self.connection, self.clock, lambda *reported: self.received.append(reported)
        )
        assert isinstance(pings, Pings)
        self.pings = pings
        self.connect()

    def connect(self) -> None:
        """A connection comes about; the answer takes 10 ms."""
        self.connection._submit(Connect(0, 0, 0, 0, b"", False), 1.0)
        self.clock.advance(10)
        self.pings.connected(SESSION_MS)

    def response(self, xid: int) -> None:
        """An answer comes in."""
        self.connection.coming.append(xid)
        self.connection._read_header(1.0)


def test_connecting_counts_from_when_it_was_asked_for() -> None:
    """The session lives from then on at the latest."""
    world = PingWorld()
    assert world.received == [(990, EVERY_MS)]


def test_it_pings_in_time_while_kazoo_waits() -> None:
    """Within one wait of kazoo's, which lasts as long as it would."""
    world = PingWorld()
    assert not world.connection.wait(1_600)
    assert world.clock.now_ms() == 2_600
    assert world.connection.pings() == 3
    assert world.connection.naps_ms == [490, 500, 500, 110]


def test_a_ping_has_as_long_as_kazoos_own_to_be_written() -> None:
    """However short the wait is in which it becomes due."""
    world = PingWorld()
    world.clock.advance(EVERY_MS)
    world.connection.wait(10)
    assert (PingInstance, SESSION_MS / 1000 / 2) in world.connection.sent


def test_something_to_read_ends_the_wait() -> None:
    """At once, and with what it is."""
    world = PingWorld()
    world.connection.ready_at_ms = 1_700
    assert world.connection.wait(5_000)
    assert world.clock.now_ms() == 1_700


def test_pings_are_sent_amid_traffic() -> None:
    """Where every wait ends at once, since there is always something to read."""
    world = PingWorld()
    for _ in range(100):
        world.clock.advance(50)
        world.connection.ready_at_ms = world.clock.now_ms()
        assert world.connection.wait(1_000)
    assert world.connection.pings() == 5_000 // EVERY_MS


def test_each_answer_tells_when_its_own_ping_was_sent() -> None:
    """Kazoo's pings count among them; answers to other requests tell nothing."""
    world = PingWorld()
    world.received.clear()
    world.connection.wait(500)  # ours at 1,490
    world.connection._submit(PingInstance, 1.0, PING_XID)  # kazoo's at 1,500
    world.connection._submit(Exists("/", None), 1.0, 7)
    world.response(PING_XID)
    world.response(7)
    world.clock.advance(300)
    world.response(PING_XID)
    world.response(PING_XID)  # that nobody has sent
    assert world.received == [(1_490, EVERY_MS), (1_500, EVERY_MS)]


def test_pings_of_a_connection_that_broke_are_forgotten() -> None:
    """The next one begins anew."""
    world = PingWorld()
    world.connection.wait(1_100)
    world.connect()
    world.received.clear()
    world.connection.wait(EVERY_MS)
    sent_ms = world.clock.now_ms() - 10
    world.response(PING_XID)
    assert world.received == [(sent_ms, EVERY_MS)]


def test_who_stood_still_pings_at_once() -> None:
    """And is told nothing before that is answered."""
    world = PingWorld()
    world.received.clear()
    world.clock.advance(10_000)
    world.connection.wait(10)
    assert world.connection.pings() == 1
    assert world.received == []
    world.response(PING_XID)
    assert world.received == [(11_000, EVERY_MS)]


def test_other_waits_are_kazoos() -> None:
    """Those for a single answer, say, and those of a client that is closed."""
    world = PingWorld()
    world.clock.advance(10_000)
    world.connection.handler.select([object()], [], [], 0.1)
    world.connection._read_sock = None
    world.connection.handler.select([object(), None], [], [], 0.1)
    assert world.connection.pings() == 0


def test_a_kazoo_of_another_make_is_left_alone() -> None:
    """Where it has no such parts."""
    assert install(SimpleNamespace(), ManualClock(), pytest.fail) is None  # type: ignore[arg-type]
