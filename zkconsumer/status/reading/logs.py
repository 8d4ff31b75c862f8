"""Asks the leaders where their logs start and end: two requests a broker, all brokers at once.

Nothing is tried twice: a partition whose leader moved meanwhile keeps its last value until the next
reading. Source: Kafka 0.8.2.2 ``OffsetRequest``, Kafka 3.9 ``ListOffsetsRequest``.
"""

from collections.abc import Mapping, Sequence

from zkconsumer.clock import Clock
from zkconsumer.cluster.offset_times import (
    EARLIEST,
    LATEST,
    TimedOffset,
    read_times,
    times_request,
)
from zkconsumer.error_codes import explained
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.negotiated import NegotiatedConnection
from zkconsumer.records.transactions import IsolationLevel
from zkconsumer.status.reading.broker_round import BrokerRound, Question, Unanswered
from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.status.reading.values import LogSpan, LogsRead


class LogReader:
    """Thread: any.

    Args:
        brokers: asks.
        clock: when things were seen.
    """

    def __init__(self, brokers: BrokerRound, clock: Clock) -> None:
        self._brokers = brokers
        self._clock = clock

    def read(self, leaders: Mapping[TopicPartition, Broker], deadline: Deadline) -> LogsRead:
        """Ask each leader about its partitions."""
        by_leader: dict[Broker, list[TopicPartition]] = {}
        for tp, leader in leaders.items():
            by_leader.setdefault(leader, []).append(tp)
        lookups = {
            leader: self.lookup(partitions, deadline) for leader, partitions in by_leader.items()
        }
        spans: dict[TopicPartition, LogSpan] = {}
        problems: dict[TopicPartition, str] = {}
        failures: dict[int, str] = {}
        for leader, reported in self._brokers.request(lookups, deadline).items():
            if isinstance(reported, Unanswered):
                failures[leader.id] = reported.reason
                problems |= dict.fromkeys(by_leader[leader], reported.reason)
                continue
            for tp, one in reported.items():
                if isinstance(one, LogSpan):
                    spans[tp] = one
                else:
                    problems[tp] = f"{leader}: {one}"
        return LogsRead(spans=spans, problems=problems, failures=failures)

    def lookup(
        self, partitions: Sequence[TopicPartition], deadline: Deadline
    ) -> Question[dict[TopicPartition, LogSpan | str]]:
        """Return what to ask the leader of these; its response: each log's span, or why not."""

        def request(connection: NegotiatedConnection) -> dict[TopicPartition, LogSpan | str]:
            starts = _request(connection, partitions, EARLIEST, deadline)
            ends = _request(connection, partitions, LATEST, deadline)
            at_ms = self._clock.wall_ms()
            return {tp: _span(starts.get(tp), ends.get(tp), at_ms) for tp in partitions}

        return request


def _request(
    connection: NegotiatedConnection,
    partitions: Sequence[TopicPartition],
    time: int,
    deadline: Deadline,
) -> Mapping[TopicPartition, TimedOffset | int]:
    request = times_request(dict.fromkeys(partitions, time), {}, IsolationLevel.READ_UNCOMMITTED)
    version = connection.version_of(request)
    response = connection.call(request, timeout_ms=max(1, deadline.left_ms), at_most=version)
    return read_times(response, version=version)


def _span(
    start: TimedOffset | int | None, end: TimedOffset | int | None, at_ms: int
) -> LogSpan | str:
    for one in (start, end):
        if one is None:
            return "its answer leaves the partition out"
        if isinstance(one, int):
            return explained(one)
        if one.offset < 0:
            return "it tells no offset"
    if isinstance(start, TimedOffset) and isinstance(end, TimedOffset):
        return LogSpan(start.offset, end.offset, at_ms)
    return "it tells no offset"
