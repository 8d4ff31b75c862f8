"""Our pings on kazoo's connection, and what their responses report."""

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
    """Stands in for the parts of kazoo's connection that pings use; a test scripts what arrives."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.client = SimpleNamespace(hosts=["a", "b"])
        self.handler = SimpleNamespace(select=self._select_plainly)
        self._read_sock: object | None = object()
        self.sent: list[tuple[object, object]] = []
        self.waits_ms: list[int] = []
        self.coming: list[int] = []
        self.ready_at_ms: int | None = None

    def _submit(self, request: object, timeout: float, _xid: int | None = None) -> None:
        self.sent.append((request, timeout))

    def _read_header(self, _timeout: float) -> tuple[Any, bytes, int]:
        return SimpleNamespace(xid=self.coming.pop(0)), b"", 0

    def _select_plainly(
        self, readers: list[Any], _writers: list[Any], _errors: list[Any], timeout: float
    ) -> tuple[list[Any], list[Any], list[Any]]:
        wait_ms = round(timeout * 1000)
        self.waits_ms.append(wait_ms)
        now_ms = self._clock.now_ms()
        if self.ready_at_ms is not None and self.ready_at_ms <= now_ms + wait_ms:
            self._clock.advance(max(0, self.ready_at_ms - now_ms))
            return readers[:1], [], []
        self._clock.advance(wait_ms)
        return [], [], []

    def wait(self, timeout_ms: int) -> bool:
        """Wait as kazoo's loop does; return whether there is something to read."""
        found = self.handler.select([object(), self._read_sock], [], [], timeout_ms / 1000)
        return bool(found[0])

    def pings(self) -> int:
        """Return how many pings were sent."""
        return sum(request is PingInstance for request, _ in self.sent)


class PingWorld:
    """A connection with pings, connected at 1,000 ms by a request that was sent at 990 ms."""

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
        """Connect; the response takes 10 ms."""
        self.connection._submit(Connect(0, 0, 0, 0, b"", False), 1.0)
        self.clock.advance(10)
        self.pings.connected(SESSION_MS)

    def response(self, xid: int) -> None:
        """Let a response arrive."""
        self.connection.coming.append(xid)
        self.connection._read_header(1.0)


def test_a_connection_is_confirmed_as_of_its_request() -> None:
    """A connection is confirmed as of the time at which its request was sent."""
    world = PingWorld()
    assert world.received == [(990, EVERY_MS)]


def test_pings_are_sent_while_kazoo_waits() -> None:
    """Pings are sent during one wait of kazoo's, which lasts as long as without them."""
    world = PingWorld()
    assert not world.connection.wait(1_600)
    assert world.clock.now_ms() == 2_600
    assert world.connection.pings() == 3
    assert world.connection.waits_ms == [490, 500, 500, 110]


def test_a_ping_has_the_write_timeout_of_kazoos_own() -> None:
    """Writing a ping may take as long as for kazoo's own, however short the current wait."""
    world = PingWorld()
    world.clock.advance(EVERY_MS)
    world.connection.wait(10)
    assert (PingInstance, SESSION_MS / 1000 / 2) in world.connection.sent


def test_something_to_read_ends_the_wait() -> None:
    """A wait ends at once when there is something to read."""
    world = PingWorld()
    world.connection.ready_at_ms = 1_700
    assert world.connection.wait(5_000)
    assert world.clock.now_ms() == 1_700


def test_pings_are_sent_amid_traffic() -> None:
    """Pings are sent even if each wait ends at once, as there is always something to read."""
    world = PingWorld()
    for _ in range(100):
        world.clock.advance(50)
        world.connection.ready_at_ms = world.clock.now_ms()
        assert world.connection.wait(1_000)
    assert world.connection.pings() == 5_000 // EVERY_MS


def test_each_response_reports_when_its_ping_was_sent() -> None:
    """A response reports when its own ping was sent, kazoo's included; other responses do not."""
    world = PingWorld()
    world.received.clear()
    world.connection.wait(500)  # ours at 1,490
    world.connection._submit(PingInstance, 1.0, PING_XID)  # kazoo's at 1,500
    world.connection._submit(Exists("/", None), 1.0, 7)
    world.response(PING_XID)
    world.response(7)
    world.clock.advance(300)
    world.response(PING_XID)
    world.response(PING_XID)  # without a ping
    assert world.received == [(1_490, EVERY_MS), (1_500, EVERY_MS)]


def test_pings_of_a_connection_that_broke_are_forgotten() -> None:
    """After a reconnect the pings of the former connection are forgotten."""
    world = PingWorld()
    world.connection.wait(1_100)
    world.connect()
    world.received.clear()
    world.connection.wait(EVERY_MS)
    sent_ms = world.clock.now_ms() - 10
    world.response(PING_XID)
    assert world.received == [(sent_ms, EVERY_MS)]


def test_a_ping_is_sent_at_once_after_standing_still() -> None:
    """After standing still a ping is sent at once, and nothing is reported before its response."""
    world = PingWorld()
    world.received.clear()
    world.clock.advance(10_000)
    world.connection.wait(10)
    assert world.connection.pings() == 1
    assert world.received == []
    world.response(PING_XID)
    assert world.received == [(11_000, EVERY_MS)]


def test_other_waits_send_no_pings() -> None:
    """Waits for a single response, or of a closed client, send no pings."""
    world = PingWorld()
    world.clock.advance(10_000)
    world.connection.handler.select([object()], [], [], 0.1)
    world.connection._read_sock = None
    world.connection.handler.select([object(), None], [], [], 0.1)
    assert world.connection.pings() == 0


def test_an_unknown_version_of_kazoo_is_left_unchanged() -> None:
    """A version of kazoo without these parts is left unchanged."""
    assert install(SimpleNamespace(), ManualClock(), pytest.fail) is None  # type: ignore[arg-type]
