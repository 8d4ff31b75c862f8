"""The thread of one broker: when it rests, and when it ends."""

from typing import cast

import pytest

from zkconsumer.clock import SystemClock
from zkconsumer.fetch.core.fetch_connection import FetchConnection, Rest
from zkconsumer.fetch.polled import broker_fetcher
from zkconsumer.fetch.polled.broker_fetcher import BrokerFetcher


class Line:
    """A line whose turns bring nothing."""

    def __init__(self, duration_ms: int | None) -> None:
        self.turns, self.closed, self._duration_ms = 0, 0, duration_ms

    def turn(self) -> Rest:
        """See ``FetchConnection``."""
        self.turns += 1
        return Rest(self._duration_ms)

    def close(self) -> None:
        """See ``FetchConnection``."""
        self.closed += 1


def test_one_without_partitions_ends_when_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a long rest, and unless partitions are on their way to it."""
    monkeypatch.setattr(broker_fetcher, "_IDLE_MS", 1)
    line, responses = Line(None), [False, False, True]
    fetcher = BrokerFetcher(cast("FetchConnection", line), SystemClock(), lambda: responses.pop(0))
    fetcher.run()
    assert (responses, line.turns, line.closed) == ([], 3, 1)


def test_one_that_is_woken_does_not_ask_whether_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """It looks for what there is to fetch instead."""
    monkeypatch.setattr(broker_fetcher, "_IDLE_MS", 60_000)
    line = Line(None)
    fetcher = BrokerFetcher(cast("FetchConnection", line), SystemClock(), pytest.fail)

    def turn() -> Rest:
        line.turns += 1
        fetcher.wake()
        if line.turns == 3:
            fetcher._stopping = True
        return Rest(None)

    monkeypatch.setattr(line, "turn", turn)
    fetcher.run()
    assert (line.turns, line.closed) == (3, 1)
