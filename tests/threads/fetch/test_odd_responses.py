"""Responses that are invalid as a whole, and responses to hedged requests."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.support.log_broker import LogBroker
from tests.support.log_readers import SETTINGS, LogReader, lost_early
from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.error_codes import ErrorCode
from zkconsumer.fetch.claim import Chunk
from zkconsumer.records.engine import Engine
from zkconsumer.wire.framing import LENGTH_BYTES

QUICK = replace(SETTINGS, request_timeout_ms=3_000)
"""A broker counts as silent after a fifteenth of that time-out, and its own wait."""


@pytest.fixture
def broker() -> Iterator[LogBroker]:
    """A broker with one record."""
    with LogBroker() as log_broker:
        log_broker.logs[0].add([b"a"])
        yield log_broker


def next_values(reader: LogReader, count: int) -> list[bytes | None]:
    """Return the next values."""
    values: list[bytes | None] = []
    while len(values) < count:
        chunk = reader.queue.take(10_000)
        assert isinstance(chunk, Chunk)
        values += [record.value for record in chunk.records]
        reader.queue.release(chunk)
    return values


def fall_silent(broker: LogBroker) -> None:
    """Leave the next request without a response, until it is sent once more."""
    broker.silences = 1
    wait_until(lambda: not broker.silences, what="a request without a response")


def test_a_malformed_response_to_a_hedged_request_opens_a_new_connection(
    engine: Engine, broker: LogBroker
) -> None:
    """No partition waits for ever."""
    with LogReader(broker, engine, version=12, settings=QUICK) as reader:
        reader.add(0)
        assert next_values(reader, 1) == [b"a"]
        cut = [False]

        def truncated(frame: bytes) -> bytes:
            if cut[0]:
                return frame
            cut[0] = True
            body = frame[LENGTH_BYTES:-3]
            return len(body).to_bytes(LENGTH_BYTES, "big") + body

        fall_silent(broker)
        broker.mangle = truncated
        wait_until(lambda: cut[0], what="the second response")
        broker.logs[0].add([b"b"])
        assert next_values(reader, 1) == [b"b"]
        assert lost_early(reader) == []


def test_a_quota_in_the_response_to_a_hedged_request_is_respected(
    engine: Engine, broker: LogBroker
) -> None:
    """The client pauses as after any response."""
    clock = SystemClock()
    with LogReader(broker, engine, version=12, settings=QUICK) as reader:
        reader.add(0)
        assert next_values(reader, 1) == [b"a"]
        fall_silent(broker)
        broker.throttle_ms = [900]
        wait_until(lambda: not broker.throttle_ms, what="the second response")
        began_ms, count = clock.now_ms(), len(broker.requests)
        broker.logs[0].add([b"b"])
        assert next_values(reader, 1) == [b"b"]
        assert clock.now_ms() - began_ms >= 600
        assert len(broker.requests) - count < 10


@pytest.mark.parametrize("is_second", [False, True])
@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.UNKNOWN,
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    ],
)
def test_an_error_of_the_whole_response_gives_all_partitions_back(
    engine: Engine, broker: LogBroker, code: ErrorCode, *, is_second: bool
) -> None:
    """Those of fetch sessions do, too: a stream has no session, and would repeat for ever."""
    with LogReader(broker, engine, version=12, settings=QUICK) as reader:
        reader.add(0)
        assert next_values(reader, 1) == [b"a"]
        if is_second:
            fall_silent(broker)
        count = len(broker.requests)
        broker.errors = [code] * 4
        wait_until(lambda: lost_early(reader), what="the partition to come back")
        assert len(broker.requests) - count <= 4
    (lost,) = lost_early(reader)
    assert lost.fetch_offset == 1


def test_fetches_do_not_wait_while_an_error_waits_for_its_queue(engine: Engine) -> None:
    """Capacity may come at any moment, and the stream must get the error then."""
    settings = replace(SETTINGS, max_wait_ms=5_000)
    with LogBroker(2) as broker:
        broker.logs[0].add([b"a"])
        with LogReader(broker, engine, version=12, settings=settings, max_chunks=1) as reader:
            reader.add(0)
            wait_until(reader.queue.chunk_count, what="the queue to be full")
            broker.logs[0].error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            wait_until(
                lambda: any(part.pending for part in reader.loop._partitions.in_turn()),
                what="the error to wait",
            )
            count = len(broker.requests)
            reader.add(1, 0, reader.new_queue(engine, 10))
            wait_until(lambda: len(broker.requests) > count + 1, what="fetches of the other one")
            assert {request.max_wait_ms for request in broker.requests[count + 1 :]} == {0}
