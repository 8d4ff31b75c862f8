"""A broker's fetcher thread: when it idles, and when it ends."""

from typing import cast

import pytest

from zkconsumer.clock import SystemClock
from zkconsumer.fetch.core.fetch_connection import FetchConnection, Wait
from zkconsumer.fetch.polled import broker_fetcher
from zkconsumer.fetch.polled.broker_fetcher import BrokerFetcher


class IdleConnection:
    """A connection whose turns return no records."""

    def __init__(self, duration_ms: int | None) -> None:
        self.turns, self.closed, self._duration_ms = 0, 0, duration_ms

    def turn(self) -> Wait:
        """See ``FetchConnection``."""
        self.turns += 1
        return Wait(self._duration_ms)

    def close(self) -> None:
        """See ``FetchConnection``."""
        self.closed += 1


def test_a_fetcher_without_partitions_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends after a long idle time, unless partitions are about to be added."""
    monkeypatch.setattr(broker_fetcher, "_IDLE_MS", 1)
    connection, responses = IdleConnection(None), [False, False, True]
    fetcher = BrokerFetcher(
        cast("FetchConnection", connection), SystemClock(), lambda: responses.pop(0)
    )
    fetcher.run()
    assert (responses, connection.turns, connection.closed) == ([], 3, 1)


def test_a_fetcher_that_is_woken_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """It looks for partitions to fetch instead."""
    monkeypatch.setattr(broker_fetcher, "_IDLE_MS", 60_000)
    connection = IdleConnection(None)
    fetcher = BrokerFetcher(cast("FetchConnection", connection), SystemClock(), pytest.fail)

    def turn() -> Wait:
        connection.turns += 1
        fetcher.wake()
        if connection.turns == 3:
            fetcher._stopping = True
        return Wait(None)

    monkeypatch.setattr(connection, "turn", turn)
    fetcher.run()
    assert (connection.turns, connection.closed) == (3, 1)
