"""Reads log start and end offsets from the leaders: two requests per broker, all brokers at once.

Nothing is retried: a partition whose leader moved meanwhile keeps its last value until the next
read. Source: Kafka 0.8.2.2 ``OffsetRequest``, Kafka 3.9 ``ListOffsetsRequest``.
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
from zkconsumer.status.reading.broker_round import BrokerQuery, BrokerRound
from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.status.reading.values import LogSpan, LogsRead, Unanswered


class LogReader:
    """Reads the ends of logs. Thread: any."""

    def __init__(self, brokers: BrokerRound, clock: Clock) -> None:
        self._brokers = brokers
        self._clock = clock

    def read(self, leaders: Mapping[TopicPartition, Broker], deadline: Deadline) -> LogsRead:
        """Query each leader about its partitions."""
        by_leader: dict[Broker, list[TopicPartition]] = {}
        for tp, leader in leaders.items():
            by_leader.setdefault(leader, []).append(tp)
        lookups = {
            leader: self.lookup(partitions, deadline) for leader, partitions in by_leader.items()
        }
        logs: dict[TopicPartition, LogSpan | str] = {}
        failures: dict[int, str] = {}
        for leader, reported in self._brokers.request(lookups, deadline).items():
            if isinstance(reported, Unanswered):
                failures[leader.id] = reported.reason
                logs |= dict.fromkeys(by_leader[leader], reported.reason)
                continue
            for tp, span in reported.items():
                logs[tp] = span if isinstance(span, LogSpan) else f"{leader}: {span}"
        return LogsRead(logs=logs, failures=failures)

    def lookup(
        self, partitions: Sequence[TopicPartition], deadline: Deadline
    ) -> BrokerQuery[dict[TopicPartition, LogSpan | str]]:
        """Return a query for the span of each log, or why it is unknown."""

        def request(connection: NegotiatedConnection) -> dict[TopicPartition, LogSpan | str]:
            starts = _request(connection, partitions, EARLIEST, deadline)
            # Before the request, since a sound log contains all offsets committed until then.
            at_ms = self._clock.wall_ms()
            ends = _request(connection, partitions, LATEST, deadline)
            return {tp: _span(starts.get(tp), ends.get(tp), at_ms) for tp in partitions}

        return request


def _request(
    connection: NegotiatedConnection,
    partitions: Sequence[TopicPartition],
    time: int,
    deadline: Deadline,
) -> Mapping[TopicPartition, TimedOffset | int]:
    request = times_request(dict.fromkeys(partitions, time))
    version = connection.version_of(request)
    response = connection.call(request, timeout_ms=max(1, deadline.left_ms), at_most=version)
    return read_times(response, version=version)


def _span(
    start: TimedOffset | int | None, end: TimedOffset | int | None, at_ms: int
) -> LogSpan | str:
    for bound in (start, end):
        if bound is None:
            return "its response lacks the partition"
        if isinstance(bound, int):
            return explained(bound)
        if bound.offset < 0:
            return "its response has no offset"
    if isinstance(start, TimedOffset) and isinstance(end, TimedOffset):
        return LogSpan(start.offset, end.offset, at_ms)
    return "its response has no offset"
