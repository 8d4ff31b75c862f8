"""Handing partitions over between two threads: in time or too late, but never both."""

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


class ScriptedBridge:
    """A control thread whose waits are scripted, and a caller that acts during each."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.wakeups = 0
        self.deadlines: list[int] = []
        self.meanwhile: Callable[[PartitionsRequested], None] = lambda _transfer: None
        self.bridge = Bridge(self.signal, grace_ms=500, clock=self.clock)
        self.bridge.attend = self.attend

    def signal(self) -> None:
        """Count a wakeup of the caller."""
        self.wakeups += 1

    def attend(self, ended: Callable[[], bool], deadline_ms: int) -> None:
        """See ``ControlThread``."""
        self.deadlines.append(deadline_ms)
        assert not ended()
        notice = self.bridge.notices[-1]
        assert isinstance(notice, PartitionsRequested)
        self.meanwhile(notice)

    def transfer(self) -> PartitionsRequested:
        """Let the control thread request partitions; return the notice."""
        self.bridge.before_releasing_partitions({"t": frozenset({0, 1})})
        notice = self.bridge.notices.pop()
        assert isinstance(notice, PartitionsRequested)
        return notice


@pytest.fixture
def scripted() -> ScriptedBridge:
    """A bridge whose caller does nothing."""
    return ScriptedBridge()


def test_a_caller_in_time_is_not_interrupted(
    scripted: ScriptedBridge, caplog: pytest.LogCaptureFixture
) -> None:
    """Once the caller has begun to release, the request does not expire."""

    def finish(transfer: PartitionsRequested) -> None:
        assert transfer.take()
        transfer.done = True

    scripted.meanwhile = finish
    transfer = scripted.transfer()
    assert transfer.partitions == {T0, T1}
    assert not transfer.take()
    assert (scripted.wakeups, scripted.deadlines) == (1, [scripted.clock.now_ms() + 500])
    assert caplog.messages == []


def test_a_caller_that_is_too_late_releases_nothing(
    scripted: ScriptedBridge, caplog: pytest.LogCaptureFixture
) -> None:
    """The log has the reason."""
    transfer = scripted.transfer()
    assert not transfer.take()
    assert caplog.messages == [
        "no poll within 500 ms: handed over without a commit of the records in progress: t-0, t-1"
    ]


def test_the_wait_for_a_slow_listener_ends(
    scripted: ScriptedBridge, caplog: pytest.LogCaptureFixture
) -> None:
    """Its release began in time, so there is no second warning."""
    scripted.meanwhile = lambda transfer: None if transfer.take() else pytest.fail("too late")
    scripted.transfer()
    assert caplog.messages == [
        "a listener takes longer than 500 ms: handed over without waiting for it: t-0, t-1"
    ]


def test_notices_come_in_the_order_of_events(scripted: ScriptedBridge) -> None:
    """Each notice wakes the caller."""
    claim = PartitionClaim(T0, ChunkQueue(1), 5)
    scripted.bridge.on_lost(frozenset({T1}))
    scripted.bridge.add([(claim, 5)])
    scripted.bridge.add([])
    scripted.bridge.wake()
    scripted.bridge.before_starting_fetchers("c", {})
    assert list(scripted.bridge.notices) == [
        ClaimsLost(frozenset({T1})),
        Started((claim,)),
        Started(()),
    ]
    assert scripted.wakeups == 3
