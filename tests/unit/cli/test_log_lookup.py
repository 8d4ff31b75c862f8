"""Finding offsets by time with brokers of any version."""

from collections.abc import Mapping
from typing import cast

import pytest

from zkconsumer.cli.log_lookup import log_ranges
from zkconsumer.cluster.cluster_client import EARLIEST, LATEST, ClusterClient, TimedOffset
from zkconsumer.cluster.time_lookup import OffsetsByTime, TimeLookup
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import ConnectFailed, UnsupportedVersion
from zkconsumer.model import TopicPartition
from zkconsumer.offsets.planning import LogRange
from zkconsumer.records.transactions import IsolationLevel

A, B = TopicPartition("t", 0), TopicPartition("t", 1)
LOGS = {A: LogRange(0, 30), B: LogRange(5, 9)}
SEGMENTS = {0: 100, 10: 200, 20: 300}
"""Base offsets of the segments of ``t-0``, and their last write times; the log ends at 30."""


def result_of(found: OffsetsByTime) -> tuple[Mapping[TopicPartition, int], bool]:
    """Return the offsets, and whether they are exact."""
    return found.offsets, found.is_exact


class LogClient:
    """A stand-in for ``ClusterClient``."""

    def __init__(self) -> None:
        self.by_record: Mapping[TopicPartition, TimedOffset | int] | None = None
        self.silent = False

    def list_offsets(
        self,
        times: Mapping[TopicPartition, int],
        *,
        timeout_ms: int,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> dict[TopicPartition, TimedOffset | int]:
        """Return both ends always, and offsets by time only if the test sets them."""
        assert isolation is IsolationLevel.READ_UNCOMMITTED
        assert timeout_ms == 7
        if self.silent:
            raise ConnectFailed("nobody")
        if set(times.values()) == {EARLIEST}:
            return {tp: TimedOffset(LOGS[tp].start) for tp in times}
        if set(times.values()) == {LATEST}:
            return {tp: TimedOffset(LOGS[tp].end) for tp in times}
        if self.by_record is None:
            raise UnsupportedVersion("old")
        return {tp: self.by_record[tp] for tp in times}

    def segment_starts(
        self, times: Mapping[TopicPartition, int], *, timeout_ms: int, max_offsets: int
    ) -> dict[TopicPartition, tuple[int, ...] | int]:
        """Return segments of ``t-0`` as a broker of 0.8.2 does, and an error for ``t-1``."""
        assert timeout_ms == 7
        (time,) = set(times.values())
        entries = [*SEGMENTS.items(), (30, 1000)]
        if time == LATEST:
            found = [offset for offset, _ in entries]
        else:
            found = [offset for offset, written in entries if written <= time]
        response = tuple(sorted(found, reverse=True)[:max_offsets])
        return {tp: response if tp == A else int(ErrorCode.UNKNOWN) for tp in times}


@pytest.fixture
def brokers() -> LogClient:
    """Brokers of 0.8.2."""
    return LogClient()


@pytest.fixture
def lookup(brokers: LogClient) -> TimeLookup:
    """A lookup that asks them."""
    return TimeLookup(cast("ClusterClient", brokers), timeout_ms=7)


def test_logs_are_returned_for_leaders_that_respond(brokers: LogClient) -> None:
    """If no leader responds, no logs are returned."""
    client = cast("ClusterClient", brokers)
    assert log_ranges(client, [A, B], timeout_ms=7) == LOGS
    assert log_ranges(client, [], timeout_ms=7) == {}
    brokers.silent = True
    assert log_ranges(client, [A], timeout_ms=7) == {}


@pytest.mark.parametrize(
    ("time", "since", "until"),
    [
        (50, 0, 10),  # before the first write, or in the first segment
        (100, 0, 20),
        (150, 0, 20),  # in the second one
        (250, 10, 30),  # in the third one
        (350, 20, 30),  # after the last write
        (2000, 30, 30),  # in the future
    ],
)
def test_offsets_by_segments_cover_more_but_never_less(
    lookup: TimeLookup, time: int, since: int, until: int
) -> None:
    """A segment holds what was written after the last write to the previous one."""
    assert result_of(lookup.since({A: time})) == ({A: since}, False)
    assert result_of(lookup.until({A: time})) == ({A: until}, False)


def test_offsets_by_record_timestamps_are_exact(brokers: LogClient, lookup: TimeLookup) -> None:
    """The offset is -1 if no record is that new."""
    brokers.by_record = {A: TimedOffset(17, 150), B: TimedOffset(-1)}
    assert result_of(lookup.since(dict.fromkeys(LOGS, 150))) == ({A: 17, B: -1}, True)
    assert result_of(lookup.until(dict.fromkeys(LOGS, 150))) == ({A: 17, B: -1}, True)


def test_logs_without_timestamps_are_looked_up_by_segments(
    brokers: LogClient, lookup: TimeLookup
) -> None:
    """Only those logs are; a partition whose leader does not respond is left out."""
    without = int(ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT)
    brokers.by_record = {A: without, B: TimedOffset(6, 150)}
    assert result_of(lookup.since(dict.fromkeys(LOGS, 250))) == ({A: 10, B: 6}, False)
    brokers.by_record = {A: int(ErrorCode.NOT_LEADER_FOR_PARTITION), B: TimedOffset(6, 150)}
    assert result_of(lookup.since(dict.fromkeys(LOGS, 250))) == ({B: 6}, True)
    brokers.by_record = None
    assert result_of(lookup.since(dict.fromkeys(LOGS, 250))) == ({A: 10}, False)
