"""A mirror stream beside others, and with a target that is away when a new topic appears."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, cast

import pytest

from tests.support.mirror_world import ConsumerDouble, PlacesDouble, Step, World
from tests.support.waiting import wait_until
from zkconsumer.assignment.filters import Whitelist
from zkconsumer.clock import SystemClock
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import BrokerError, ConnectFailed, ZkConsumerError
from zkconsumer.mirror.ends import READINGS, Ends
from zkconsumer.mirror.offset_ledger import OffsetLedger
from zkconsumer.mirror.settings import MirrorSettings, target_settings
from zkconsumer.mirror.stream import MirrorStream
from zkconsumer.model import TopicPartition
from zkconsumer.records.slices import RecordSlice
from zkconsumer.scope import ThreadScope, wait_ms

TP = TopicPartition("t", 0)
_JOIN_MS = 10_000


class EmptyConsumer(ConsumerDouble):
    """A consumer without messages, whose polls wait."""

    def poll_slices(
        self, timeout_ms: float, max_records: int
    ) -> Mapping[TopicPartition, RecordSlice]:
        """See ``SliceConsumer``."""
        del timeout_ms, max_records
        wait_ms(50)
        return {}


class AwayTarget(PlacesDouble):
    """A target whose first requests for a topic's partitions fail."""

    def __init__(self, world: World, errors: Sequence[ZkConsumerError]) -> None:
        super().__init__(world)
        self.errors = list(errors)
        self.on_error: Callable[[], None] = lambda: None

    def partitions(self, topic: str, wanted: int) -> Sequence[int]:
        """See ``Target``."""
        if self.errors:
            self.on_error()
            raise self.errors.pop(0)
        return super().partitions(topic, wanted)


def stream_of(consumer: ConsumerDouble, target: PlacesDouble, ledger: OffsetLedger) -> MirrorStream:
    """A stream from this consumer to this target."""
    settings = MirrorSettings(
        topics=Whitelist("t"),
        consumers=({},),
        target=target_settings({"retry.backoff.ms": "1"}, "h:1"),
    )
    made: Any = MirrorStream
    stream: MirrorStream = made(
        settings,
        {},
        ledger=ledger,
        on_complete=lambda: None,
        clock=SystemClock(),
        consume=lambda _settings: cast("Any", consumer),
        aim=lambda _settings, _wait: cast("Any", target),
    )
    return stream


def world_of(*offsets: int) -> World:
    """A world of one partition, which one poll reads completely."""
    return World({TP: offsets}, [Step(read=10)], lambda _value: None)


def test_a_stream_without_messages_leaves_the_quota_to_others() -> None:
    """Otherwise a stream with messages could never poll for the rest of the limit."""
    world = world_of()
    ledger = OffsetLedger(max_messages=5)
    stream = stream_of(EmptyConsumer(world), PlacesDouble(world), ledger)
    scope = ThreadScope("streams in a test")
    scope.spawn("stream", stream.run, stop=stream.stop)
    try:
        wait_until(lambda: ledger.reserve(5) == 5, what="the turn of another stream")
    finally:
        ledger.settle(5, 5)
        assert scope.close(_JOIN_MS) == []


def test_a_target_that_is_away_is_awaited(caplog: pytest.LogCaptureFixture) -> None:
    """A new topic does not end a mirror that would otherwise go on."""
    world = world_of(0, 1, 2)
    away = [ConnectFailed("nobody is there"), BrokerError(ErrorCode.NOT_CONTROLLER, "x", "no")]
    stream = stream_of(ConsumerDouble(world), AwayTarget(world, away * 4), OffsetLedger())
    world.on_end = stream.stop
    stream.run()
    assert (world.target.logs[TP], world.committed) == ([b"v0", b"v1", b"v2"], {TP: 3})
    assert len(caplog.records) == 1  # logged at once; repetitions are only counted


def test_a_mirror_that_waits_for_the_target_can_be_stopped() -> None:
    """What was read is not committed, and stopping is no failure."""
    world = world_of(0, 1)
    target = AwayTarget(world, [ConnectFailed("nobody is there")] * 99)
    stream = stream_of(ConsumerDouble(world), target, OffsetLedger())
    target.on_error = stream.stop
    stream.run()
    assert (world.was_closed, world.committed, world.target.logs) == (True, {}, {})


def test_a_final_refusal_of_the_target_ends_the_stream() -> None:
    """A retry would not help."""
    world = world_of(0)
    refusal = BrokerError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Metadata", "no access")
    stream = stream_of(ConsumerDouble(world), AwayTarget(world, [refusal]), OffsetLedger())
    with pytest.raises(BrokerError, match="no access"):
        stream.run()
    assert world.was_closed


class TruncatedConsumer:
    """A consumer with one position, which is its group's committed offset too, and log ends.

    Attributes:
        offset: the position and committed offset.
        ends: the log end offsets of now.
        ours: whether the partition is assigned to it.
    """

    def __init__(self, offset: int, ends: Mapping[TopicPartition, int], *, ours: bool) -> None:
        self.offset = offset
        self.ends = ends
        self.ours = ours

    def assignment(self) -> set[TopicPartition]:
        """See ``KafkaConsumer``."""
        return {TP} if self.ours else set()

    def position(self, tp: TopicPartition, timeout_ms: float) -> int:
        """See ``KafkaConsumer``."""
        del tp, timeout_ms
        return self.offset

    committed = position

    def topics(self) -> set[str]:
        """See ``KafkaConsumer``."""
        return {"t"}

    def known_end_offsets(
        self, partitions: Collection[TopicPartition], timeout_ms: int
    ) -> Mapping[TopicPartition, int]:
        """See ``SliceConsumer``: some may have no leader."""
        del timeout_ms
        return {tp: end for tp, end in self.ends.items() if tp in partitions}


class IdlePipeline:
    """A pipeline in which no batch waits."""

    is_idle = True


@pytest.mark.parametrize("ours", [True, False])
@pytest.mark.parametrize(("offset", "is_done"), [(15, False), (14, False), (13, True)])
def test_an_offset_beyond_the_end_of_a_truncated_log_is_not_complete(
    offset: int, *, is_done: bool, ours: bool
) -> None:
    """A mirror that stops at the log ends must still read what replaced the truncated part."""
    world = world_of(0)
    ledger = OffsetLedger(ends=Ends({TP: 13}, {TP: 0}))
    stream = stream_of(ConsumerDouble(world), PlacesDouble(world), ledger)
    consumer: Any = TruncatedConsumer(offset, {TP: 13}, ours=ours)
    pipeline: Any = IdlePipeline()
    stream._record_ends_reached(consumer, pipeline, 10_000)
    assert ledger.is_complete is is_done


def test_a_log_truncated_below_a_commit_of_others_is_complete_after_a_while() -> None:
    """Other members have nothing to commit after it, so their offsets never go back."""
    world = world_of(0)
    ledger = OffsetLedger(ends=Ends({TP: 20}, {TP: 0}))
    stream = stream_of(ConsumerDouble(world), PlacesDouble(world), ledger)
    consumer: Any = TruncatedConsumer(15, {TP: 10}, ours=False)
    pipeline: Any = IdlePipeline()
    reads = 0
    while not ledger.is_complete:
        reads += 1
        assert reads <= READINGS
        stream._record_ends_reached(consumer, pipeline, 10_000 * reads)
    assert reads == READINGS


def test_a_partition_without_a_leader_does_not_hide_others() -> None:
    """The ends of the other partitions count meanwhile."""
    world, other = world_of(0), TopicPartition("t", 1)
    ledger = OffsetLedger(ends=Ends({TP: 13, other: 5}, {}))
    stream = stream_of(ConsumerDouble(world), PlacesDouble(world), ledger)
    consumer: Any = TruncatedConsumer(13, {TP: 13}, ours=False)
    pipeline: Any = IdlePipeline()
    stream._record_ends_reached(consumer, pipeline, 10_000)
    assert ledger.missing() == {other}
