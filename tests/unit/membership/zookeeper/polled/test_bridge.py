"""A hand-over between two threads: in time, too late, and never both."""

from collections.abc import Callable

import pytest

from tests.support.manual_clock import ManualClock
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.membership.zookeeper.polled.bridge import (
    Bridge,
    ClaimsLost,
    PartitionsRequested,
    Started,
)
from zkconsumer.model import TopicPartition
from zkconsumer.streams.chunk_queue import ChunkQueue

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class Played:
    """A control thread that waits as long as the test says, while the caller does what it says."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.rung = 0
        self.deadlines: list[int] = []
        self.meanwhile: Callable[[PartitionsRequested], None] = lambda _transfer: None
        self.bridge = Bridge(self.signal, grace_ms=500, clock=self.clock)
        self.bridge.attend = self.attend

    def signal(self) -> None:
        """The wakeup of the caller."""
        self.rung += 1

    def attend(self, ended: Callable[[], bool], deadline_ms: int) -> None:
        """See ``ControlThread``."""
        self.deadlines.append(deadline_ms)
        assert not ended()
        notice = self.bridge.notices[-1]
        assert isinstance(notice, PartitionsRequested)
        self.meanwhile(notice)

    def transfer(self) -> PartitionsRequested:
        """Have partitions taken away."""
        self.bridge.before_releasing_partitions({"t": frozenset({0, 1})})
        notice = self.bridge.notices.pop()
        assert isinstance(notice, PartitionsRequested)
        return notice


@pytest.fixture
def played() -> Played:
    """A bridge."""
    return Played()


def test_a_caller_in_time_is_not_interrupted(
    played: Played, caplog: pytest.LogCaptureFixture
) -> None:
    """He begins once, and nothing expires behind his back."""

    def finish(transfer: PartitionsRequested) -> None:
        assert transfer.begin()
        transfer.done = True

    played.meanwhile = finish
    transfer = played.transfer()
    assert transfer.partitions == {T0, T1}
    assert not transfer.begin()
    assert (played.rung, played.deadlines) == (1, [played.clock.now_ms() + 500])
    assert caplog.messages == []


def test_a_caller_who_comes_too_late_does_not_begin(
    played: Played, caplog: pytest.LogCaptureFixture
) -> None:
    """The log says why."""
    transfer = played.transfer()
    assert not transfer.begin()
    assert caplog.messages == [
        "no poll within 500 ms: handed over without a commit of the records in progress: t-0, t-1"
    ]


def test_a_caller_who_is_not_through_is_not_waited_for(
    played: Played, caplog: pytest.LogCaptureFixture
) -> None:
    """He began in time, so he hears no second word."""
    played.meanwhile = lambda transfer: None if transfer.begin() else pytest.fail("too late")
    played.transfer()
    assert caplog.messages == [
        "a listener takes longer than 500 ms: handed over without waiting for it: t-0, t-1"
    ]


def test_notices_come_in_the_order_of_what_happened(played: Played) -> None:
    """Each event wakes the caller."""
    claim = PartitionClaim(T0, ChunkQueue(1), 5)
    played.bridge.on_lost(frozenset({T1}))
    played.bridge.add([(claim, 5)])
    played.bridge.add([])
    played.bridge.wake()
    played.bridge.before_starting_fetchers("c", {})
    assert list(played.bridge.notices) == [
        ClaimsLost(frozenset({T1})),
        Started((claim,)),
        Started(()),
    ]
    assert played.rung == 3
