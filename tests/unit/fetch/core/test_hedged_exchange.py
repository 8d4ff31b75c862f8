"""What each fetcher knows of its connection: version of Fetch, limits, pause of a quota."""

import logging
from typing import Any, cast

import pytest

from tests.support.manual_clock import ManualClock
from zkconsumer.errors import UnsupportedVersion
from zkconsumer.fetch.core.hedged_exchange import HedgedExchange
from zkconsumer.model import Broker
from zkconsumer.repeats import Repeats
from zkconsumer.wire.messages.fetch import FetchedTopic, FetchResponse

BROKER = Broker(0, "h", 9092)
SOME = (FetchedTopic(topic="t", partitions=()),)


class FakeConnection:
    """A connection to a broker that supports Fetch up to a version; -1 means not at all."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.is_closed = False

    def version_of(self, _: object, *, at_most: int) -> int:
        """Return the newest version that both support."""
        if self.version < 0:
            raise UnsupportedVersion("none in common")
        return min(self.version, at_most)

    def close(self) -> None:
        """Close the connection."""
        self.is_closed = True


def new_exchange(
    version: int, *, newest: int = 13
) -> tuple[HedgedExchange, ManualClock, FakeConnection]:
    """Build an exchange with a broker of that version, not connected yet."""
    clock, connection = ManualClock(), FakeConnection(version)
    exchange = HedgedExchange(
        BROKER,
        lambda _broker, **_: cast("Any", connection),
        1_000,
        clock,
        Repeats(logging.getLogger(__name__), clock),
        newest=lambda _: newest,
    )
    return exchange, clock, connection


@pytest.mark.parametrize(
    ("version", "newest", "used", "has_hard_bounds"),
    [(13, 13, 13, False), (13, 12, 12, False), (3, 13, 3, False), (2, 13, 2, True)],
)
def test_a_connection_determines_version_and_limits(
    version: int, newest: int, used: int, has_hard_bounds: bool
) -> None:
    """The version is the newest that both support; old versions have hard limits."""
    exchange, _, connection = new_exchange(version, newest=newest)
    assert (exchange.fetch_version, exchange.has_hard_bounds) == (0, True)
    assert exchange.open() is cast("Any", connection)
    assert (exchange.fetch_version, exchange.has_hard_bounds) == (used, has_hard_bounds)
    assert exchange.close()
    assert (exchange.fetch_version, exchange.has_hard_bounds, connection.is_closed) == (
        0,
        True,
        True,
    )
    assert not exchange.close()


def test_a_broker_without_a_common_version_is_disconnected() -> None:
    """The error says so, and the connection is closed with the exchange."""
    exchange, _, connection = new_exchange(-1)
    with pytest.raises(UnsupportedVersion):
        exchange.open()
    assert exchange.close()
    assert connection.is_closed


@pytest.mark.parametrize(
    ("version", "topics", "pause_ms"),
    [(1, SOME, 0), (7, SOME, 0), (8, SOME, 500), (1, (), 500), (8, (), 500)],
)
def test_a_quota_is_obeyed_if_the_broker_leaves_it_to_the_client(
    version: int, topics: tuple[FetchedTopic, ...], pause_ms: int
) -> None:
    """Older brokers delay their response, unless it is empty, which must not repeat at once."""
    exchange, clock, _ = new_exchange(version)
    exchange.open()
    assert exchange.pause_left_ms() <= 0
    exchange.apply_throttle_time(FetchResponse(throttle_time_ms=500, topics=topics))
    assert max(0, exchange.pause_left_ms()) == pause_ms
    exchange.apply_throttle_time(
        FetchResponse(topics=topics)
    )  # a response without a quota does not end the pause
    assert max(0, exchange.pause_left_ms()) == pause_ms
    clock.advance(501)
    assert exchange.pause_left_ms() <= 0


def test_the_later_end_of_two_pauses_counts() -> None:
    """A shorter throttle time, or the backoff of a failure, does not shorten an earlier pause."""
    exchange, clock, _ = new_exchange(13)
    exchange.pause(500)
    exchange.pause(100)
    assert exchange.pause_left_ms() == 500
    exchange.pause_until(clock.now_ms() + 100)
    assert exchange.pause_left_ms() == 500
    exchange.pause_until(clock.now_ms() + 700)
    assert exchange.pause_left_ms() == 700


def test_a_connection_opened_while_stopping_is_closed() -> None:
    """No request is sent on it."""
    exchange, _, connection = new_exchange(13)
    exchange.stop()
    exchange.open()
    assert connection.is_closed
