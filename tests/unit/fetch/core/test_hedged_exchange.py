"""What every fetcher knows of its connection: version of Fetch, bounds, the pause for a quota."""

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


class Paper:
    """A connection to a broker that serves Fetch up to a version; -1: not at all."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.is_closed = False

    def version_of(self, _: object, *, at_most: int) -> int:
        """The newest that both serve."""
        if self.version < 0:
            raise UnsupportedVersion("none in common")
        return min(self.version, at_most)

    def close(self) -> None:
        """No more of it."""
        self.is_closed = True


def exchange(version: int, *, newest: int = 13) -> tuple[HedgedExchange, ManualClock, Paper]:
    """An exchange with a broker of that version, not connected."""
    clock, paper = ManualClock(), Paper(version)
    one = HedgedExchange(
        BROKER,
        lambda _broker, **_: cast("Any", paper),
        1_000,
        clock,
        Repeats(logging.getLogger(__name__), clock),
        newest=lambda _: newest,
    )
    return one, clock, paper


@pytest.mark.parametrize(
    ("version", "newest", "used", "has_hard_bounds"),
    [(13, 13, 13, False), (13, 12, 12, False), (3, 13, 3, False), (2, 13, 2, True)],
)
def test_a_connection_tells_version_and_bounds(
    version: int, newest: int, used: int, has_hard_bounds: bool
) -> None:
    """What the reader may send and the broker serves; before that bounds that always hold."""
    one, _, paper = exchange(version, newest=newest)
    assert (one.fetch_version, one.has_hard_bounds) == (0, True)
    assert one.open() is cast("Any", paper)
    assert (one.fetch_version, one.has_hard_bounds) == (used, has_hard_bounds)
    assert one.close()
    assert (one.fetch_version, one.has_hard_bounds, paper.is_closed) == (0, True, True)
    assert not one.close()


def test_a_broker_without_a_version_in_common_is_let_go() -> None:
    """The error says so, and its connection is closed with the exchange."""
    one, _, paper = exchange(-1)
    with pytest.raises(UnsupportedVersion):
        one.open()
    assert one.close()
    assert paper.is_closed


@pytest.mark.parametrize(
    ("version", "topics", "pause_ms"),
    [(1, SOME, 0), (7, SOME, 0), (8, SOME, 500), (1, (), 500), (8, (), 500)],
)
def test_a_quota_is_kept_to_where_the_broker_leaves_it_to_us(
    version: int, topics: tuple[FetchedTopic, ...], pause_ms: int
) -> None:
    """Older brokers wait themselves, unless they send nothing: that must not repeat at once."""
    one, clock, _ = exchange(version)
    one.open()
    assert one.pause_left_ms() <= 0
    one.obey_quota(FetchResponse(throttle_time_ms=500, topics=topics))
    assert max(0, one.pause_left_ms()) == pause_ms
    one.obey_quota(FetchResponse(topics=topics))  # no word of a quota ends no pause
    assert max(0, one.pause_left_ms()) == pause_ms
    clock.advance(501)
    assert one.pause_left_ms() <= 0


def test_a_connection_that_comes_up_while_stopping_is_closed() -> None:
    """Nothing is asked over it."""
    one, _, paper = exchange(13)
    one.stop()
    one.open()
    assert paper.is_closed
