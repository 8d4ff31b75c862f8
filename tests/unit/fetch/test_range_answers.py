"""Ranges and newer brokers: quotas, replicas, recreated topics, error codes."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, cast

import pytest

from tests.support.altered_messages import altered
from tests.support.manual_clock import ManualClock
from tests.support.range_logs import (
    LEADER,
    REPLICA,
    TOPIC_ID,
    LogClient,
    LogConnection,
    changed,
    plain_log,
)
from tests.support.ranges import offset_range
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import DataLost, PartitionFailed
from zkconsumer.fetch import range_reader
from zkconsumer.fetch.range_parts import LostRange, RangePart
from zkconsumer.fetch.range_reader import RangeReader
from zkconsumer.fetch.range_settings import RangeSettings
from zkconsumer.model import Broker
from zkconsumer.wire.messages.fetch import FetchResponse

SETTINGS = RangeSettings(
    fetch_bytes=200, timeout_ms=1_000, poll_timeout_ms=1_000, retries=2, retry_interval_ms=1
)
MOST_STEPS = 200
"""The test fails if reading a range takes more steps."""


class ReadResult(NamedTuple):
    """The result of reading a range."""

    parts: list[list[int]]
    lost: list[LostRange]
    pauses: list[int]

    @property
    def offsets(self) -> list[int]:
        """All offsets that were read."""
        return [offset for part in self.parts for offset in part]


Read = Callable[..., ReadResult]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Read:
    """Read a whole log as one range, with pauses on a manual clock."""
    clock = ManualClock()
    monkeypatch.setattr(range_reader, "SystemClock", lambda: clock)
    pauses: list[int] = []
    steps: list[int] = []

    def pause(duration_ms: int) -> None:
        pauses.append(duration_ms)
        clock.advance(duration_ms)

    turn = range_reader._RangeReading.turn

    def counted(self: Any) -> Any:
        steps.append(1)
        assert len(steps) < MOST_STEPS, "reading does not end"
        return turn(self)

    monkeypatch.setattr(range_reader._RangeReading, "turn", counted)

    def run(
        connection: LogConnection,
        client: LogClient | None = None,
        leader: Broker | None = None,
        **changes: Any,
    ) -> ReadResult:
        settings = replace(SETTINGS, **changes)
        reader = RangeReader(
            cast("Any", client or LogClient(connection)),
            settings=settings,
            clock=clock,
            pause=pause,
        )
        found = ReadResult([], [], pauses)
        for part in reader.read(offset_range(0, connection.log.end), leader=leader):
            if isinstance(part, RangePart):
                found.parts.append([record.offset for record in part.records()])
            else:
                found.lost.append(part)
        return found

    return run


def throttled(duration_ms: int) -> Callable[[FetchResponse], FetchResponse]:
    """Replace a response by what brokers from 2.0 on send over the quota: an empty one."""
    return lambda _: FetchResponse(topics=(), throttle_time_ms=duration_ms)


def test_a_quota_costs_time_but_no_attempt(read: Read) -> None:
    """However often a response names it."""
    connection = LogConnection(plain_log(4), script=[throttled(5_000)] * 4)
    found = read(connection)
    assert found.offsets == list(range(12))
    assert found.pauses == [5_000] * 4


def test_a_quota_outlives_the_connection(read: Read) -> None:
    """A new connection after a failure is still throttled."""
    moved = changed(error_code=ErrorCode.NOT_LEADER_FOR_PARTITION, records=memoryview(b""))
    connection = LogConnection(
        plain_log(4),
        script=[lambda fetch_response: altered(moved(fetch_response), throttle_time_ms=5_000)],
    )
    found = read(connection)
    assert found.offsets == list(range(12))
    assert found.pauses == [1, 4_999]


def test_a_quota_of_an_unexpected_response_is_obeyed(read: Read) -> None:
    """The leader is looked up again, and no request is sent before the pause is over."""

    def stray(response: FetchResponse) -> FetchResponse:
        topics = tuple(altered(topic, topic="other") for topic in response.topics)
        return altered(response, topics=topics, throttle_time_ms=5_000)

    found = read(LogConnection(plain_log(4), script=[stray]))
    assert found.offsets == list(range(12))
    assert found.pauses == [1, 4_999]


def test_a_range_is_read_from_the_preferred_replica(read: Read) -> None:
    """Over another connection; an empty response of the leader is then no gap."""
    redirected = changed(preferred_read_replica=REPLICA.id, records=memoryview(b""))
    connection = LogConnection(plain_log(4), script=[redirected])
    found = read(connection)
    assert found.offsets == list(range(12))
    assert [request[0] for request in connection.asked][:2] == [LEADER, REPLICA]


def test_an_unknown_replica_is_looked_up_once(read: Read) -> None:
    """If only the leader was known before, the metadata is requested for all brokers."""
    redirected = changed(preferred_read_replica=REPLICA.id, records=memoryview(b""))
    connection = LogConnection(plain_log(4), script=[redirected] * 2)
    found = read(connection, leader=LEADER)
    assert found.offsets == list(range(12))
    assert [request[0] for request in connection.asked][:3] == [LEADER, LEADER, REPLICA]
    assert found.pauses == [1]


def test_a_replica_missing_from_the_metadata_is_a_failure(read: Read) -> None:
    """Records that the leader does not send are no gap then."""
    redirected = changed(preferred_read_replica=77, records=memoryview(b""))
    connection = LogConnection(plain_log(4), script=[redirected] * 2)
    found = read(connection)
    assert found.offsets == list(range(12))
    assert found.pauses == [1, 2]


def with_recreated_topic(connection: LogConnection) -> LogClient:
    """Return a client whose second view has another id for the topic."""
    connection.version = 13
    return LogClient(connection, topic_ids=[TOPIC_ID, bytes(reversed(TOPIC_ID))])


UNKNOWN_ID = changed(error_code=ErrorCode.UNKNOWN_TOPIC_ID, records=memoryview(b""))


def test_a_recreated_topic_is_data_loss(read: Read) -> None:
    """Its offsets never belonged to the range."""
    connection = LogConnection(plain_log(20), script=[None, UNKNOWN_ID])
    with pytest.raises(DataLost, match="created again") as raised:
        read(connection, with_recreated_topic(connection))
    assert (raised.value.from_offset, raised.value.until_offset) == (3, 60)


def test_a_recreated_topic_loses_the_rest_of_the_range(read: Read) -> None:
    """If losses are allowed, nothing is read from the new topic."""
    connection = LogConnection(plain_log(20), script=[None, UNKNOWN_ID])
    found = read(connection, with_recreated_topic(connection), fail_on_data_loss=False)
    assert found.parts == [[0, 1, 2]]
    assert [(lost_range.from_offset, lost_range.until_offset) for lost_range in found.lost] == [
        (3, 60)
    ]


CORRUPT = changed(error_code=ErrorCode.CORRUPT_MESSAGE, records=memoryview(b""))


def test_a_broker_that_reports_corruption_is_asked_again(read: Read) -> None:
    """There is a pause after every second attempt, since another leader may have a sound log."""
    connection = LogConnection(plain_log(4), script=[CORRUPT] * 5)
    found = read(connection, poll_timeout_ms=0, retries=5)
    assert found.offsets == list(range(12))
    assert found.pauses == [1, 2]


def test_repeated_corruption_is_an_error(read: Read) -> None:
    """It is raised after the last attempt."""
    connection = LogConnection(plain_log(4), script=[CORRUPT] * 8)
    with pytest.raises(PartitionFailed, match=r"3 attempts failed .*CORRUPT_MESSAGE") as raised:
        read(connection, poll_timeout_ms=0, retries=2)
    assert isinstance(raised.value.__cause__, PartitionFailed)


@pytest.mark.parametrize("code", [ErrorCode.INVALID_FETCH_SIZE, 35, -1])
def test_a_failed_lookup_of_the_log_s_ends_is_retried(read: Read, code: int) -> None:
    """Whatever the error code."""
    log = plain_log(4)
    log.start = 3
    connection = LogConnection(log)
    found = read(connection, LogClient(connection, codes=[code, code]), fail_on_data_loss=False)
    assert [(lost_range.from_offset, lost_range.until_offset) for lost_range in found.lost] == [
        (0, 3)
    ]
    assert found.offsets == list(range(3, 12))
    assert found.pauses == [1]


def test_a_lookup_of_the_log_s_ends_that_keeps_failing_is_an_error(read: Read) -> None:
    """It is raised after the last attempt, and its cause has the code."""
    log = plain_log(4)
    log.start = 3
    connection = LogConnection(log)
    client = LogClient(connection, codes=[ErrorCode.INVALID_FETCH_SIZE] * 99)
    with pytest.raises(PartitionFailed, match=r"3 attempts failed .*INVALID_FETCH_SIZE") as raised:
        read(connection, client, poll_timeout_ms=0, retries=2)
    cause = raised.value.__cause__
    assert isinstance(cause, PartitionFailed)
    assert cause.code == ErrorCode.INVALID_FETCH_SIZE
