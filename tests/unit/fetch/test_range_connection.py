"""The connection of a range's reader: who gives back what was dialled, and when."""

from typing import Any, cast

import pytest

from tests.support.ranges import SETTINGS, range_bench
from zkconsumer.clock import SystemClock
from zkconsumer.errors import ConnectionLost
from zkconsumer.fetch.core.partition_states import PartitionStates
from zkconsumer.fetch.core.shared_state import SharedFetchState
from zkconsumer.fetch.range_connection import RangeConnection


def test_what_is_dialled_after_the_reading_is_closed_and_given_back() -> None:
    """A thread that dialled for a hedged request may get its connection after the end."""
    bench, clock = range_bench(), SystemClock()
    settings = SETTINGS.of_core()
    shared = SharedFetchState(PartitionStates(settings), clock, lambda _: None)
    given: list[Any] = []
    taken = bench.connections.take_or_dial

    class Pool:
        stopped = False

        def take_or_dial(self, broker: Any, *, timeout_ms: int) -> Any:
            return taken(broker, timeout_ms=timeout_ms)

        def give_back(self, connection: Any) -> None:
            given.append(connection)
            bench.connections.give_back(connection)

    line = RangeConnection(
        cast("Any", Pool()),
        shared,
        settings,
        clock,
        make_pump=lambda *_: None,
        name="range t-0",
    )
    line.connect_to(bench.leader())
    line.let_go(is_done=False)
    assert given == []
    with pytest.raises(ConnectionLost, match="not read any more"):
        line._dial(bench.leader(), timeout_ms=100)
    [connection] = given
    assert not connection.is_idle
