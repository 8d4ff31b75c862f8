"""Log start and end offsets, from all leaders at once, in old and new versions."""

from collections.abc import Iterator

import pytest

from tests.support.manual_clock import ManualClock
from tests.support.scripted_broker import MODERN, ScriptedAction, ScriptedResponse
from tests.support.scripted_cluster import END_OFFSET, ScriptedCluster
from zkconsumer.clock import Clock, SystemClock
from zkconsumer.error_codes import ErrorCode
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.status.reading.broker_round import BrokerRound
from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.status.reading.logs import LogReader
from zkconsumer.status.reading.values import LogSpan, LogsRead
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.codec import RequestFrame
from zkconsumer.wire.messages.list_offsets import (
    ListedPartition,
    ListedTopic,
    ListOffsetsResponse,
)
from zkconsumer.wire.versions import BrokerGeneration, VersionRange

LONG_MS, SHORT_MS = 10_000, 1_000
T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
B0, B1 = Broker(0, "b0", 9092), Broker(1, "b1", 9092)


@pytest.fixture
def cluster() -> ScriptedCluster:
    """Two brokers that lead three partitions."""
    return ScriptedCluster(leaders={T0: 0, T1: 1, T2: 1})


@pytest.fixture
def brokers(cluster: ScriptedCluster) -> Iterator[BrokerRound]:
    """What sends requests to these brokers."""
    broker_round = BrokerRound(cluster.dialer(), SystemClock())
    yield broker_round
    broker_round.close(LONG_MS)


def deadline(limit_ms: int = LONG_MS, clock: Clock | None = None) -> Deadline:
    """A deadline this far from now."""
    return Deadline(clock or SystemClock(), limit_ms)


def spans_in(read: LogsRead) -> dict[TopicPartition, LogSpan]:
    """The spans that were read."""
    return {tp: log for tp, log in read.logs.items() if isinstance(log, LogSpan)}


def problems_in(read: LogsRead) -> dict[TopicPartition, str]:
    """Why other spans were not read."""
    return {tp: log for tp, log in read.logs.items() if isinstance(log, str)}


@pytest.mark.parametrize("last", [0, 1, 7])
def test_each_leader_gets_two_requests(
    cluster: ScriptedCluster, brokers: BrokerRound, last: int
) -> None:
    """It does in any version; the offsets have the time at which they were read."""
    for broker in cluster.brokers:
        broker.serves = {**MODERN, ApiKey.LIST_OFFSETS: VersionRange(0, last)}
    clock = ManualClock()
    read = LogReader(brokers, clock).read({T0: B0, T1: B1, T2: B1}, deadline())
    span = LogSpan(0, END_OFFSET, clock.wall_ms())
    assert spans_in(read) == {T0: span, T1: span, T2: span}
    assert (problems_in(read), read.failures) == ({}, {})
    assert cluster.requested(ApiKey.LIST_OFFSETS) == [0, 0, 1, 1]


def test_brokers_of_0_8_are_read(cluster: ScriptedCluster, brokers: BrokerRound) -> None:
    """They have no ApiVersions."""
    for broker in cluster.brokers:
        broker.become(BrokerGeneration.V0_8_2)
    read = LogReader(brokers, SystemClock()).read({T0: B0, T1: B1}, deadline())
    assert {tp: span[:2] for tp, span in spans_in(read).items()} == dict.fromkeys(
        (T0, T1), (0, END_OFFSET)
    )


def test_a_partition_that_fails_is_a_problem(
    cluster: ScriptedCluster, brokers: BrokerRound
) -> None:
    """It is not retried, and the other partitions are read."""
    cluster.fails[T2] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    read = LogReader(brokers, SystemClock()).read({T0: B1, T1: B1, T2: B1}, deadline())
    assert spans_in(read).keys() == {T1}
    assert read.failures == {}
    assert {tp: why.split(": ")[1].split(" ")[0] for tp, why in problems_in(read).items()} == {
        T0: "NOT_LEADER_FOR_PARTITION",
        T2: "UNKNOWN_TOPIC_OR_PARTITION",
    }
    assert cluster.requested(ApiKey.LIST_OFFSETS) == [1, 1]


def test_a_partition_without_an_offset_is_a_problem(
    cluster: ScriptedCluster, brokers: BrokerRound
) -> None:
    """The response may have no offset for it, or lack it altogether."""
    message = ListOffsetsResponse(
        topics=(ListedTopic(topic="t", partitions=(ListedPartition(partition=1, error_code=0),)),)
    )
    response = cluster.brokers[1].response
    cluster.brokers[1].response = lambda frame: (
        message if frame.api_key is ApiKey.LIST_OFFSETS else response(frame)
    )
    read = LogReader(brokers, SystemClock()).read({T1: B1, T2: B1}, deadline())
    assert problems_in(read) == {
        T1: "broker 1 (b1:9092): its response has no offset",
        T2: "broker 1 (b1:9092): its response lacks the partition",
    }


def test_partitions_of_a_broker_that_is_away_are_problems(
    cluster: ScriptedCluster, brokers: BrokerRound
) -> None:
    """They have the reason, and the other partitions are read."""
    cluster.brokers[0].down = True
    read = LogReader(brokers, SystemClock()).read({T0: B0, T1: B1}, deadline())
    assert spans_in(read).keys() == {T1}
    assert read.failures.keys() == {0}
    assert "b0:9092" in read.failures[0]
    assert problems_in(read) == {T0: read.failures[0]}


def test_a_broker_that_hangs_costs_the_time_limit_only(
    cluster: ScriptedCluster, brokers: BrokerRound
) -> None:
    """The other brokers' responses count."""
    logs = LogReader(brokers, SystemClock())
    assert logs.read({T0: B0, T1: B1}, deadline()).failures == {}
    cluster.actions[0] = ScriptedAction.SILENCE
    read = logs.read({T0: B0, T1: B1}, deadline(SHORT_MS))
    assert spans_in(read).keys() == {T1}
    assert read.failures.keys() == {0}
    assert problems_in(read).keys() == {T0}


def test_without_partitions_no_request_is_sent(
    cluster: ScriptedCluster, brokers: BrokerRound
) -> None:
    """The result is empty."""
    read = LogReader(brokers, SystemClock()).read({}, deadline())
    assert (spans_in(read), problems_in(read), read.failures) == ({}, {}, {})
    assert cluster.requested(ApiKey.LIST_OFFSETS) == []


def test_ends_bear_the_time_before_they_are_requested(
    cluster: ScriptedCluster, brokers: BrokerRound
) -> None:
    """Offsets committed after that time may lie beyond the ends; earlier ones can't."""
    clock = ManualClock()
    began_ms = clock.wall_ms()
    response = cluster.brokers[0].response

    def answer_later(frame: RequestFrame) -> ScriptedResponse | None:
        reported = response(frame)
        clock.advance(1)
        return reported

    cluster.brokers[0].response = answer_later
    read = LogReader(brokers, clock).read({T0: B0}, deadline())
    answers = len(cluster.brokers[0].requests)
    assert clock.wall_ms() == began_ms + answers
    assert spans_in(read)[T0].at_ms == clock.wall_ms() - 1
