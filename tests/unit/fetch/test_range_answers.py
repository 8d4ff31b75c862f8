"""Ranges, and what newer brokers answer: quotas, replicas, topics made anew, error codes."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, cast

import pytest

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
from tests.support.ranges import range_
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
"""A range that goes on for ever ends here."""


class Found(NamedTuple):
    """What reading a range came to."""

    parts: list[list[int]]
    lost: list[LostRange]
    pauses: list[int]

    @property
    def offsets(self) -> list[int]:
        """All of them."""
        return [offset for part in self.parts for offset in part]


Read = Callable[..., Found]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Read:
    """Reads a whole log as one range, whose waits are one clock's."""
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
        assert len(steps) < MOST_STEPS, "it goes on for ever"
        return turn(self)

    monkeypatch.setattr(range_reader._RangeReading, "turn", counted)

    def run(
        connection: LogConnection,
        client: LogClient | None = None,
        leader: Broker | None = None,
        **changes: Any,
    ) -> Found:
        settings = replace(SETTINGS, **changes)
        reader = RangeReader(
            cast("Any", client or LogClient(connection)),
            settings=settings,
            clock=clock,
            pause=pause,
        )
        found = Found([], [], pauses)
        for part in reader.read(range_(0, connection.log.end), leader=leader):
            if isinstance(part, RangePart):
                found.parts.append([record.offset for record in part.records()])
            else:
                found.lost.append(part)
        return found

    return run


def throttled(duration_ms: int) -> Callable[[FetchResponse], FetchResponse]:
    """What brokers from 2.0 on say to who is over his quota: nothing else."""
    return lambda _: FetchResponse(topics=(), throttle_time_ms=duration_ms)


def test_a_quota_costs_its_time_and_no_try(read: Read) -> None:
    """However often it is named."""
    connection = LogConnection(plain_log(4), script=[throttled(5_000)] * 4)
    found = read(connection)
    assert found.offsets == list(range(12))
    assert found.pauses == [5_000] * 4


def test_a_quota_outlives_the_connection(read: Read) -> None:
    """Whoever connects anew, after a failure, is over it still."""
    moved = changed(error_code=ErrorCode.NOT_LEADER_FOR_PARTITION, records=memoryview(b""))
    connection = LogConnection(
        plain_log(4),
        script=[lambda fetch_response: replace(moved(fetch_response), throttle_time_ms=5_000)],
    )
    found = read(connection)
    assert found.offsets == list(range(12))
    assert found.pauses == [1, 4_999]


def test_a_quota_holds_though_the_answer_was_about_something_else(read: Read) -> None:
    """The leader is looked for again, and asked no sooner, over whatever connection."""

    def stray(response: FetchResponse) -> FetchResponse:
        topics = tuple(replace(topic, topic="other") for topic in response.topics)
        return replace(response, topics=topics, throttle_time_ms=5_000)

    found = read(LogConnection(plain_log(4), script=[stray]))
    assert found.offsets == list(range(12))
    assert found.pauses == [1, 4_999]


def test_what_a_leader_leaves_to_a_replica_comes_from_there(read: Read) -> None:
    """Over another connection, and no answer without records is a gap then."""
    redirected = changed(preferred_read_replica=REPLICA.id, records=memoryview(b""))
    connection = LogConnection(plain_log(4), script=[redirected])
    found = read(connection)
    assert found.offsets == list(range(12))
    assert [request[0] for request in connection.asked][:2] == [LEADER, REPLICA]


def test_a_replica_of_a_leader_that_was_known_before_is_looked_for(read: Read) -> None:
    """Of the cluster no more was known than that leader: it is asked for all brokers, once."""
    redirected = changed(preferred_read_replica=REPLICA.id, records=memoryview(b""))
    connection = LogConnection(plain_log(4), script=[redirected] * 2)
    found = read(connection, leader=LEADER)
    assert found.offsets == list(range(12))
    assert [request[0] for request in connection.asked][:3] == [LEADER, LEADER, REPLICA]
    assert found.pauses == [1]


def test_a_replica_that_nobody_knows_is_a_failure(read: Read) -> None:
    """And what its leader does not send is no gap."""
    redirected = changed(preferred_read_replica=77, records=memoryview(b""))
    connection = LogConnection(plain_log(4), script=[redirected] * 2)
    found = read(connection)
    assert found.offsets == list(range(12))
    assert found.pauses == [1, 2]


def made_anew(connection: LogConnection) -> LogClient:
    """A client whose second view knows the topic by another id, as one answer says."""
    connection.version = 13
    return LogClient(connection, topic_ids=[TOPIC_ID, bytes(reversed(TOPIC_ID))])


UNKNOWN_ID = changed(error_code=ErrorCode.UNKNOWN_TOPIC_ID, records=memoryview(b""))


def test_a_topic_made_anew_is_data_loss(read: Read) -> None:
    """What its offsets hold now was never the range's."""
    connection = LogConnection(plain_log(20), script=[None, UNKNOWN_ID])
    with pytest.raises(DataLost, match="created again") as one:
        read(connection, made_anew(connection))
    assert (one.value.from_offset, one.value.until_offset) == (3, 60)


def test_a_topic_made_anew_is_a_loss_of_the_rest(read: Read) -> None:
    """Where losses are passed over; nothing of the new topic comes."""
    connection = LogConnection(plain_log(20), script=[None, UNKNOWN_ID])
    found = read(connection, made_anew(connection), fail_on_data_loss=False)
    assert found.parts == [[0, 1, 2]]
    assert [(lost_range.from_offset, lost_range.until_offset) for lost_range in found.lost] == [
        (3, 60)
    ]


CORRUPT = changed(error_code=ErrorCode.CORRUPT_MESSAGE, records=memoryview(b""))


def test_a_broker_that_calls_its_log_corrupt_is_asked_again(read: Read) -> None:
    """With a pause after every second time, as another leader may have it sound."""
    connection = LogConnection(plain_log(4), script=[CORRUPT] * 5)
    found = read(connection, poll_timeout_ms=0, retries=5)
    assert found.offsets == list(range(12))
    assert found.pauses == [1, 2]


def test_a_broker_that_always_calls_its_log_corrupt_is_believed_in_the_end(read: Read) -> None:
    """After the last try."""
    connection = LogConnection(plain_log(4), script=[CORRUPT] * 8)
    with pytest.raises(PartitionFailed, match=r"3 attempts failed .*CORRUPT_MESSAGE") as one:
        read(connection, poll_timeout_ms=0, retries=2)
    assert isinstance(one.value.__cause__, PartitionFailed)


@pytest.mark.parametrize("code", [ErrorCode.INVALID_FETCH_SIZE, 35, -1])
def test_who_does_not_say_where_a_log_lies_is_asked_again(read: Read, code: int) -> None:
    """Whatever the code."""
    log = plain_log(4)
    log.start = 3
    connection = LogConnection(log)
    found = read(connection, LogClient(connection, codes=[code, code]), fail_on_data_loss=False)
    assert [(lost_range.from_offset, lost_range.until_offset) for lost_range in found.lost] == [
        (0, 3)
    ]
    assert found.offsets == list(range(3, 12))
    assert found.pauses == [1]


def test_who_never_says_where_a_log_lies_is_believed_in_the_end(read: Read) -> None:
    """After the last try; the cause has the code."""
    log = plain_log(4)
    log.start = 3
    connection = LogConnection(log)
    client = LogClient(connection, codes=[ErrorCode.INVALID_FETCH_SIZE] * 99)
    with pytest.raises(PartitionFailed, match=r"3 attempts failed .*INVALID_FETCH_SIZE") as one:
        read(connection, client, poll_timeout_ms=0, retries=2)
    cause = one.value.__cause__
    assert isinstance(cause, PartitionFailed)
    assert cause.code == ErrorCode.INVALID_FETCH_SIZE
