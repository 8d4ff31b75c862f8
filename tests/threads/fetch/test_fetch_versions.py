"""Streams fetch in the newest version that a broker serves, with either loop."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.support.all_requests import decode_request
from tests.support.altered_messages import altered
from tests.support.log_broker import LogBroker
from tests.support.log_readers import (
    SETTINGS,
    LogReader,
    lost_early,
    native_reader,
    offsets_in,
)
from tests.support.queues import needs_native_engine
from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.error_codes import ErrorCode
from zkconsumer.model import TimestampType
from zkconsumer.records.codecs import Codec
from zkconsumer.records.engine import Engine
from zkconsumer.records.transactions import Marker
from zkconsumer.wire.codec import decode_response, encode_request, encode_response
from zkconsumer.wire.framing import LENGTH_BYTES
from zkconsumer.wire.messages.fetch import (
    LAST_BY_NAME,
    AbortedTransaction,
    CurrentLeader,
    DivergingEpoch,
    FetchedPartition,
    FetchedTopic,
    FetchRequest,
    FetchResponse,
)

VERSIONS = range(LAST_BY_NAME + 1)


@pytest.fixture
def broker() -> Iterator[LogBroker]:
    """A broker with two partitions of all formats."""
    with LogBroker(2) as log_broker:
        for log in log_broker.logs:
            for magic in range(3):
                log.add([b"a", None, b"c"], magic=magic)
                log.add([b"d", b"e"], Codec.GZIP, magic)
            log.add_marker()
            log.add([b"f"], Codec.ZSTD, 2)
            log.add_marker(Marker.ABORT)
        yield log_broker


@pytest.mark.parametrize("version", VERSIONS)
def test_all_formats_are_read_in_any_version(
    engine: Engine, broker: LogBroker, version: int
) -> None:
    """Records keep their timestamps, and the position ends after the markers, which are hidden."""
    with LogReader(broker, engine, version=version) as reader:
        reader.add_all()
        received = reader.read_all()
    assert set(broker.versions) == {version}
    for part in received.values():
        assert [record.offset for record in part.records] == [*range(15), 16]
        assert part.next_offset == 18
        assert part.faults == []
        assert [record.timestamp for record in part.records[-4:-1]] == [1_002, 1_000, 1_001]
        assert part.records[-1].timestamp_type is TimestampType.CREATE_TIME
    assert lost_early(reader) == []


@pytest.mark.parametrize("version", VERSIONS)
@needs_native_engine
def test_the_native_request_is_encoded_as_the_python_one(version: int) -> None:
    """It is byte by byte, even if the number of partitions takes more than one byte."""
    with LogBroker(200) as broker:
        with native_reader(broker, version=version) as reader:
            reader.add_all()
            wait_until(
                lambda: any(len(broker.requested(at)) == 200 for at in range(len(broker.requests))),
                what="a request about all",
            )
        frames = broker.frames
    for frame in frames:
        read = decode_request(frame[LENGTH_BYTES:])
        assert read.version == version
        assert isinstance(read.request, FetchRequest)
        again = encode_request(
            read.request,
            version=version,
            correlation_id=read.correlation_id,
            client_id=read.client_id or "",
        )
        assert again == frame
        wanted = SETTINGS.max_bytes if version >= 3 else (1 << 31) - 1
        assert read.request.max_bytes == wanted
        assert read.request.session_epoch == -1


@needs_native_engine
def test_a_connection_cut_at_any_byte_of_a_flexible_response_loses_nothing() -> None:
    """A partial response is ignored; the next connection goes on where the queue ends."""
    for cut in range(0, 2_000, 3):
        with LogBroker(2) as broker:
            for log in broker.logs:
                log.add([b"abc"], magic=2)
            broker.mangle = full
            broker.cuts = [cut]
            with native_reader(broker, version=12) as reader:
                reader.add_all()
                received = reader.read_all()
            assert [len(received[number].records) for number in range(2)] == [1, 1]
            assert lost_early(reader) == []
        if broker.connections == 1:
            return
    pytest.fail("no cut was behind the end")


def full(frame: bytes, version: int = 12) -> bytes:
    """Encode a response again with every optional field set, and with unknown tagged fields."""
    request = FetchRequest(max_wait_ms=0, min_bytes=0, topics=())
    correlation_id, response = decode_response(request, version, memoryview(frame)[LENGTH_BYTES:])
    topics = tuple(
        FetchedTopic(topic=topic.topic, partitions=tuple(map(_full, topic.partitions)))
        for topic in response.topics
    )
    reported = FetchResponse(topics=topics, throttle_time_ms=0, session_id=0)
    return encode_response(reported, version=version, correlation_id=correlation_id)


def _full(part: FetchedPartition) -> FetchedPartition:
    return altered(
        part,
        last_stable_offset=3,
        log_start_offset=1,
        diverging_epoch=DivergingEpoch(epoch=3, end_offset=1 << 40),
        current_leader=CurrentLeader(leader_id=7, leader_epoch=300),
        aborted_transactions=tuple(
            AbortedTransaction(producer_id=number, first_offset=number) for number in range(2)
        ),
    )


@pytest.mark.parametrize("pieces", [[], [1], [7, 300]])
def test_unused_fields_of_a_response_are_skipped(engine: Engine, pieces: list[int]) -> None:
    """Aborted transactions, epochs, replicas, tagged fields."""
    with LogBroker(2) as broker:
        for log in broker.logs:
            log.add([b"abc", b"def"], magic=2)
        broker.mangle = full
        broker.pieces = pieces
        with LogReader(broker, engine, version=12) as reader:
            reader.add_all()
            received = reader.read_all()
        assert [len(received[number].records) for number in range(2)] == [2, 2]
        assert lost_early(reader) == []


def test_a_quota_is_respected(engine: Engine) -> None:
    """From version 8 on the broker responds at once, and the client must pause by itself."""
    clock = SystemClock()
    for version, pause_ms in ((7, 0), (8, 300)):
        with LogBroker() as broker:
            for _ in range(2):
                broker.logs[0].add([bytes(1_500)], magic=2)
            broker.throttle_ms = [300]
            with LogReader(broker, engine, version=version) as reader:
                began_ms = clock.now_ms()
                reader.add_all()
                assert len(offsets_in(reader)) == 2
                took_ms = clock.now_ms() - began_ms
            assert took_ms >= pause_ms
            assert len(broker.requests) >= 2


@pytest.mark.parametrize("version", [0, 7, 12])
def test_a_partition_that_a_response_leaves_out_is_given_back(engine: Engine, version: int) -> None:
    """Another request would bring the same: its leader is looked up, and the others stay."""
    with LogBroker(2) as broker:
        for log in broker.logs:
            log.add([b"a", b"b"])
        broker.left_out = [set(), set(), set(), *[{1}] * 1_000]
        with LogReader(broker, engine, version=version) as reader:
            reader.add_all()
            reader.read_all()
            wait_until(lambda: len(reader.lost) == 1, what="the one to come back")
            count = len(broker.requests)
            broker.logs[0].add([b"c"])
            wait_until(lambda: len(broker.requests) > count, what="the other one to be read on")
            (lost,) = lost_early(reader)
        assert len(broker.requests) < 20
    assert (lost.claim, lost.fetch_offset) == (reader.claims[1], 2)
    assert lost.reason.startswith("Fetch from broker 0 (")
    assert lost.reason.endswith("): the response does not include it")


@pytest.mark.parametrize("version", [3, 7, 12])
def test_a_response_with_only_a_quota_is_respected(engine: Engine, version: int) -> None:
    """It names no partition in any version, and none is given back for that."""
    with LogBroker() as broker:
        broker.logs[0].add([b"a"])
        broker.throttle_ms, broker.left_out = [300], [{0}]
        clock = SystemClock()
        with LogReader(broker, engine, version=version) as reader:
            began_ms = clock.now_ms()
            reader.add_all()
            assert offsets_in(reader) == [0]
            assert clock.now_ms() - began_ms >= 300
            assert len(broker.requests) < 10
            assert lost_early(reader) == []


def test_an_excessive_throttle_time_is_logged(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    """It is when it begins, and it is limited (see the unit tests of each engine)."""
    with LogBroker() as broker:
        broker.throttle_ms = [2**31 - 1]
        with LogReader(broker, engine, version=12) as reader:
            reader.add(0)
            wait_until(lambda: "throttles this client" in caplog.text, what="the quota")
        assert reader.loop._line.exchange.pause_left_ms() <= 300_000
    assert caplog.text.count("throttles this client for 2147483647 ms") == 1


def test_a_stop_does_not_wait_for_a_quota(engine: Engine) -> None:
    """Nor does giving up a partition."""
    clock = SystemClock()
    with LogBroker(2) as broker:
        broker.throttle_ms = [60_000]
        with LogReader(broker, engine, version=12) as reader:
            claim = reader.add(0)
            wait_until(lambda: not broker.throttle_ms, what="the quota")
            claim.active = False
            reader.loop.wake()
            wait_until(lambda: not reader.loop.partition_count(), what="the claim to go")
            assert len(broker.requests) == 1
            began_ms = clock.now_ms()
        assert clock.now_ms() - began_ms < 3_000


def test_an_error_of_the_whole_response_gives_all_partitions_back(engine: Engine) -> None:
    """The leader finder decides where they are read next."""
    with LogBroker(2) as broker:
        broker.errors = [ErrorCode.UNKNOWN] * 4
        with LogReader(broker, engine, version=12) as reader:
            reader.add_all()
            wait_until(lambda: len(reader.lost) == 2, what="both to come back")
            assert len(lost_early(reader)) == 2


def test_entries_larger_than_the_fetch_size_come_of_all_partitions(engine: Engine) -> None:
    """The first of a response is complete; partitions that got none go first in the next."""
    settings = replace(SETTINGS, max_partition_bytes=1_000, max_bytes=5_000)
    with LogBroker(8) as broker:
        for log in broker.logs:
            for _ in range(3):
                log.add([bytes(4_000)], magic=2)
        with LogReader(broker, engine, version=12, settings=settings) as reader:
            reader.add_all()
            received = reader.read_all()
        assert [len(part.records) for part in received.values()] == [3] * 8


def test_a_request_without_a_total_limit_divides_it_by_partitions(engine: Engine) -> None:
    """Before version 3 each partition gets an equal part of the response's maximum."""
    settings = replace(SETTINGS, max_partition_bytes=100_000, max_bytes=32_768)
    with LogBroker(4) as broker:
        for log in broker.logs:
            log.add([b"a"])
        with LogReader(broker, engine, version=2, settings=settings) as reader:
            reader.add_all()
            reader.read_all()
        whole = [request for request in broker.requests if len(request.topics[0].partitions) == 4]
        parts = {
            part.max_bytes for fetch_request in whole for part in fetch_request.topics[0].partitions
        }
        assert parts == {8_192}


def requested_sizes(broker: LogBroker) -> list[int]:
    """Return the fetch size of partition 0 in each request."""
    return [part.max_bytes for request in broker.requests for part in request.topics[0].partitions]


@pytest.mark.parametrize("version", [0, 12])
def test_fetches_grow_far_behind_and_shrink_at_the_end(engine: Engine, version: int) -> None:
    """The size doubles after each full response, up to its maximum; at the end it is reset."""
    settings = replace(SETTINGS, max_partition_bytes=1_000, grown_bytes=4_000, max_bytes=1 << 20)
    with LogBroker() as broker:
        for _ in range(300):
            broker.logs[0].add([bytes(70)], magic=2 if version else 0)
        with LogReader(broker, engine, version=version, settings=settings) as reader:
            reader.add(0)
            assert len(offsets_in(reader)) == 300
            wait_until(
                lambda: requested_sizes(broker)[-1] == 1_000, what="the part of one at the end"
            )
            sizes = requested_sizes(broker)
    assert sizes[0] == 1_000
    assert max(sizes) == 4_000
    assert sizes.index(2_000) < sizes.index(4_000)


def test_a_configured_fetch_size_does_not_grow(engine: Engine) -> None:
    """Every request has exactly that size."""
    settings = replace(SETTINGS, max_partition_bytes=1_000, grown_bytes=1_000, max_bytes=1 << 20)
    with LogBroker() as broker:
        for _ in range(100):
            broker.logs[0].add([bytes(70)])
        with LogReader(broker, engine, settings=settings) as reader:
            reader.add(0)
            assert len(offsets_in(reader)) == 100
        assert set(requested_sizes(broker)) == {1_000}


def test_growing_fetches_respect_the_total_limit_at_an_old_broker(engine: Engine) -> None:
    """Its requests have no field for a total limit."""
    settings = replace(SETTINGS, max_partition_bytes=1_000, grown_bytes=1 << 20, max_bytes=20_000)
    with LogBroker(2) as broker:
        for log in broker.logs:
            for _ in range(600):
                log.add([bytes(70)])
        with LogReader(broker, engine, settings=settings) as reader:
            reader.add_all()
            reader.read_all()
        assert max(requested_sizes(broker)) == 10_000
