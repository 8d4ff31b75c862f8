"""Polls that catch up with the pump in C, over real sockets: the same records as with Python alone.

The broker serves the bytes of its logs, and misbehaves on demand.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

import pytest

from tests.support.log_broker import LogBroker
from tests.support.plain_connections import assuming_dialer, serving_fetch
from tests.support.poll_network import ModelMetadata
from tests.support.pumped_logs import ALL, ALL_OF_0_8, ALL_OF_0_10, cut_early, fill, hang, throttle
from tests.support.queues import needs_native_engine
from zkconsumer.clock import SystemClock
from zkconsumer.cluster.view import ClusterView
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import MessageTooLarge, PartitionFailed
from zkconsumer.fetch.core.pump_maker import MakePump
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.core.starts import PositionView
from zkconsumer.fetch.polled.engine import PollEngine
from zkconsumer.model import TopicPartition
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.records.codecs import Codec
from zkconsumer.records.consumer_record import ConsumerRecord, RecordOrigin
from zkconsumer.scope import Mailbox, ThreadScope

pytestmark = needs_native_engine

COUNT = 4
"""Partitions."""

SETTINGS = CoreFetchSettings(
    max_bytes=1 << 20,
    max_partition_bytes=32 << 10,
    grown_bytes=128 << 10,
    shares_growth=True,
    max_wait_ms=20,
    request_timeout_ms=6_000,
    retry_backoff_ms=10,
    retry_backoff_max_ms=50,
)


@dataclass(slots=True, eq=False)
class Caller:
    """A caller of a poll engine, which checks that records follow each other.

    Attributes:
        engine: the engine.
        wakeup: gets the engine's news.
        got: the records of each partition since its last seek.
        errors: the errors about partitions, which the caller skips.
    """

    engine: PollEngine
    wakeup: Mailbox[str]
    got: dict[TopicPartition, list[ConsumerRecord]] = field(default_factory=dict)
    errors: list[PartitionFailed] = field(default_factory=list)

    def start(self, tp: TopicPartition, offset: int = 0) -> None:
        """Read a partition from an offset on."""
        self.engine.add([tp])
        self.got[tp] = []
        self.engine.seek(tp, PositionView(offset))

    def poll(self, most: int) -> int:
        """Wait for records; return how many came."""
        deadline_ms = SystemClock().now_ms() + 20_000
        while True:
            self.wakeup.drain()
            try:
                taken = self.engine.collect(most)
            except PartitionFailed as error:
                self.errors.append(error)
                return 0
            if taken:
                break
            left_ms = deadline_ms - SystemClock().now_ms()
            assert left_ms > 0, "nothing comes"
            self.wakeup.get(left_ms)
        for tp, piece in taken.items():
            made = piece.records(RecordOrigin(tp))
            before = self.got[tp]
            assert not before or made[0].offset == before[-1].offset + 1
            before += made
        return sum(map(len, taken.values()))

    def has_failed(self) -> bool:
        """Whether a partition had an error."""
        return bool(self.errors)

    def poll_until(self, done: Callable[[], bool], most: int = 500) -> None:
        """Poll until ``done`` returns True."""
        while not done():
            self.poll(most)


@contextlib.contextmanager
def calling(
    broker: LogBroker,
    version: int,
    make_pump: MakePump | None,
    settings: CoreFetchSettings = SETTINGS,
) -> Iterator[Caller]:
    """Run an engine that reads from a broker; at the end no thread may be left."""
    scope, wakeup, clock = ThreadScope("pumped"), Mailbox[str](), SystemClock()
    dialer = assuming_dialer(TcpConnector(), serving_fetch(version))
    metadata = ModelMetadata()
    leader = broker.address
    partitions = [broker.partition(number) for number in range(len(broker.logs))]
    metadata.view = ClusterView(
        brokers={leader.id: leader},
        leaders=dict.fromkeys(partitions, leader),
        leader_epochs=dict.fromkeys(partitions, 0),
        leaderless={},
        errors={},
    )
    engine = PollEngine(
        dialer=dialer,
        client=cast("Any", None),
        metadata=cast("Any", metadata),
        settings=settings,
        scope=scope,
        wake=lambda: wakeup.put("news"),
        clock=clock,
        make_pump=make_pump,
    )
    try:
        yield Caller(engine, wakeup)
    finally:
        engine.stop()
        dialer.stop()
        left = scope.close(10_000)
    assert left == []
    assert scope.first_error() is None


def read(
    broker: LogBroker, version: int, make_pump: MakePump | None
) -> dict[TopicPartition, list[ConsumerRecord]]:
    """Read all logs, with seeks and pauses; return what came since the last seeks."""
    parts = [broker.partition(number) for number in range(COUNT)]
    ends = {broker.partition(number): log.end for number, log in enumerate(broker.logs)}
    with calling(broker, version, make_pump) as caller:
        engine, got = caller.engine, caller.got
        for tp in parts:
            caller.start(tp)
        caller.poll_until(lambda: len(got[parts[0]]) > 100, 37)
        engine.pause([parts[1]])
        stood = len(got[parts[1]])
        caller.poll_until(lambda: len(got[parts[2]]) > 400)
        assert len(got[parts[1]]) == stood
        caller.start(parts[0], 700)
        caller.start(parts[3], 11)
        engine.resume([parts[1]])
        caller.poll_until(lambda: len(got[parts[1]]) > 500, 1)
        engine.remove([parts[2]])
        caller.start(parts[2], 5)
        caller.poll_until(lambda: all(_is_at(engine, tp, ends[tp]) for tp in parts))
        assert engine.stats().buffered_records == 0
        assert engine.high_watermark(parts[0]) == ends[parts[0]]
        assert [engine.lag(tp) for tp in parts] == [0] * COUNT
        return got


def _is_at(engine: PollEngine, tp: TopicPartition, end: int) -> bool:
    position = engine.position(tp)
    return position is not None and position.offset == end


_FORMATS = [
    pytest.param(0, 0, ALL_OF_0_8, id="messages of 0.8"),
    pytest.param(1, 2, ALL_OF_0_10, id="messages of 0.10"),
    pytest.param(2, 12, ALL, id="batches"),
]


@pytest.mark.parametrize(("magic", "version", "codecs"), _FORMATS)
def test_the_same_records_come_as_with_python_alone(
    magic: int, version: int, codecs: tuple[Codec, ...], pumped: list[int]
) -> None:
    """Most of some megabytes are pumped, whatever is sought, paused and removed meanwhile."""
    with LogBroker(COUNT) as broker:
        fill(broker, magic, codecs)
        assert sum(len(data) for log in broker.logs for _, data in log.entries) > 2 << 20
        by_pump = read(broker, version, None)
        through_queues = sum(pumped)
        by_python = read(broker, version, lambda *_: None)
    assert sum(pumped) == through_queues
    assert through_queues > sum(log.end for log in broker.logs) // 2
    assert by_pump == by_python
    for number, first in enumerate((700, 0, 5, 11)):
        offsets = [record.offset for record in by_pump[broker.partition(number)]]
        assert offsets == list(range(first, broker.logs[number].end))


def _cut(broker: LogBroker) -> None:
    broker.cuts.append(30_000)


def _leave_out(broker: LogBroker) -> None:
    broker.left_out.append({1})


def _refuse(broker: LogBroker) -> None:
    broker.logs[0].error = ErrorCode.KAFKA_STORAGE_ERROR


@pytest.mark.parametrize("trouble", [hang, _cut, cut_early, _leave_out, throttle, _refuse])
def test_trouble_in_a_run_loses_and_repeats_nothing(
    trouble: Callable[[LogBroker], None], pumped: list[int]
) -> None:
    """Silence, a broken connection, an omission, a quota, an error: Python takes over, and back."""
    with LogBroker(COUNT) as broker:
        fill(broker, 2, (Codec.NONE, Codec.LZ4))
        parts = [broker.partition(number) for number in range(COUNT)]
        with calling(broker, 12, None) as caller:
            for tp in parts:
                caller.start(tp)
            for _ in range(3):
                caller.poll_until(partial(_grows, pumped, len(pumped) + 2), 50)
                trouble(broker)
                caller.poll(50)
                caller.poll(50)
                broker.logs[0].error = ErrorCode.NONE
            ends = [log.end for log in broker.logs]
            caller.poll_until(lambda: [len(caller.got[tp]) for tp in parts] == ends)
        assert not caller.errors
        for tp in parts:
            offsets = [record.offset for record in caller.got[tp]]
            assert offsets == list(range(broker.logs[tp.partition].end))
        assert broker.silences == 0
        assert [*broker.cuts, *broker.left_out, *broker.throttle_ms] == []


def _grows(pumped: list[int], count: int) -> bool:
    return len(pumped) >= count


def test_damage_is_reported_as_with_python_alone(pumped: list[int]) -> None:
    """At the same offset and with the same reason, after all records before it."""
    found: list[tuple[list[ConsumerRecord], list[str]]] = []
    with LogBroker(1) as broker:
        fill(broker, 2, (Codec.NONE, Codec.GZIP), 200)
        broker.logs[0].damage(150, 80)
        tp = broker.partition(0)
        for make_pump in cast("tuple[MakePump | None, ...]", (None, lambda *_: None)):
            with calling(broker, 12, make_pump) as caller:
                caller.start(tp)
                caller.poll_until(caller.has_failed)
                found.append((caller.got[tp], [str(error) for error in caller.errors]))
    assert sum(pumped) > 500
    assert found[0] == found[1]
    assert len(found[0][0]) == 150 * 22


def test_a_larger_entry_than_a_request_is_fetched(pumped: list[int]) -> None:
    """Before 0.10.1 a broker cuts it off; the pump hands it to Python, and then continues."""
    settings = replace(SETTINGS, growth_max_bytes=1 << 20)
    with LogBroker(1) as broker:
        log = broker.logs[0]
        fill(broker, 1, (Codec.NONE,), 40)
        log.add([b"x" * 200_000], magic=1)
        for _ in range(40):
            log.add([b"y" * 3_000] * 4, magic=1)
        with calling(broker, 2, None, settings) as caller:
            caller.start(broker.partition(0))
            caller.poll_until(lambda: len(caller.got[broker.partition(0)]) == log.end)
    assert sum(pumped) > log.end // 4


@pytest.mark.parametrize("grown_bytes", [0, 128 << 10])
def test_an_entry_of_which_the_log_has_no_more_is_reported(
    grown_bytes: int, pumped: list[int]
) -> None:
    """Its size is under no checksum: it claims more than there is, but no more than a request."""
    part_bytes = SETTINGS.max_partition_bytes
    settings = replace(SETTINGS, grown_bytes=grown_bytes, growth_max_bytes=1 << 20)
    with LogBroker(1) as broker:
        log = broker.logs[0]
        fill(broker, 2, (Codec.NONE,), 60)
        log.add([b"x" * (part_bytes * 15 // 16 - 200)], magic=2)
        offset, data = log.entries[-1]
        claimed = part_bytes - 50
        assert part_bytes * 7 // 8 <= len(data) < claimed
        log.entries[-1] = offset, data[:8] + (claimed - 12).to_bytes(4, "big") + data[12:]
        with calling(broker, 11, None, settings) as caller:
            caller.start(broker.partition(0))
            with pytest.raises(MessageTooLarge):
                caller.poll_until(lambda: False)
        assert len(caller.got[broker.partition(0)]) == offset
        assert len(broker.requests) < 100
    assert sum(pumped) > 0
