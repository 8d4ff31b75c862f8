"""Packs a group's state into a row, and rows into series. Pure.

A row's body is three compressed columns of 64-bit numbers (committed, log end, age of the next
record in ms; -1 if unknown), with a value for each partition of the row's layout. Layouts (the
names of the partitions) seldom change, so they are stored separately.
"""

import json
import sys
import zlib
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from operator import sub
from typing import Final, NamedTuple

from zkconsumer.model import TopicPartition
from zkconsumer.status.lag import GroupLag
from zkconsumer.status.model import GroupKind, GroupPartition, GroupStatus
from zkconsumer.web.state import LagSeries, PartitionSeries

UNKNOWN: Final = -1
PARTITIONS_SHOWN: Final = 60
"""The maximum number of lines in a readable chart."""
_COLUMNS: Final = 3
_NUMBER_BYTES: Final = 8
_MOST: Final = 2**63 - 1
_FAST: Final = 1
_STALE_MS: Final = 60_000
"""A log end this much older than its group counts as unknown."""


class GroupSample(NamedTuple):
    """A group's state at one moment.

    Attributes:
        at_ms: when its members and offsets were read.
        lag: the sum of the known lags, -1 if there are none.
        layout: the names of its partitions.
        body: the packed columns.
    """

    at_ms: int
    lag: int
    layout: str
    body: bytes


class StoredSample(NamedTuple):
    """A sample read from the file."""

    at_ms: int
    layout: tuple[TopicPartition, ...]
    body: bytes


def sample_of(group: GroupStatus, lag: GroupLag) -> GroupSample:
    """Return a group's sample, from its status and its lag."""
    committed, log_ends, ages = array("q"), array("q"), array("q")
    total, known = 0, False
    for partition, behind in zip(group.partitions, lag.partitions, strict=True):
        offset, end = _offset(group.kind, partition), _log_end(partition, group.seen_ms - _STALE_MS)
        committed.append(offset)
        log_ends.append(end)
        ages.append(UNKNOWN if behind.time is None or end == UNKNOWN else behind.time.ms)
        if UNKNOWN not in {offset, end}:
            known = True
            total = min(_MOST, total + max(0, end - offset))
    return GroupSample(
        at_ms=group.seen_ms,
        lag=total if known else UNKNOWN,
        layout=layout_text(partition.topic_partition for partition in group.partitions),
        body=_packed(committed, log_ends, ages),
    )


def layout_text(partitions: Iterable[TopicPartition]) -> str:
    """Return the partitions as text, in their order."""
    topics: list[tuple[str, list[int]]] = []
    for topic, number in partitions:
        if not topics or topics[-1][0] != topic:
            topics.append((topic, []))
        topics[-1][1].append(number)
    return json.dumps(topics, separators=(",", ":"), ensure_ascii=False)


def parse_layout(text: str) -> tuple[TopicPartition, ...]:
    """Return the partitions of a ``layout_text``."""
    return tuple(
        TopicPartition(str(topic), int(number))
        for topic, numbers in json.loads(text)
        for number in numbers
    )


def series_of(rows: Sequence[StoredSample]) -> LagSeries:
    """Convert a group's rows, which are in order of time, to the series of a chart."""
    columns = [_Columns(row) for row in rows]
    worst: dict[TopicPartition, int] = {}
    for column in columns:
        for tp, behind in zip(column.layout, column.lags, strict=True):
            if behind > worst.get(tp, UNKNOWN - 1):
                worst[tp] = behind
    chosen = sorted(sorted(worst), key=lambda tp: -worst[tp])[:PARTITIONS_SHOWN]
    return LagSeries(
        times_ms=tuple(row.at_ms for row in rows),
        total=tuple(column.total for column in columns),
        partitions={tp: _series(tp, columns) for tp in sorted(chosen)},
        left_out=len(worst) - len(chosen),
    )


class _Columns:
    """The unpacked columns of a row."""

    def __init__(self, row: StoredSample) -> None:
        self.layout = row.layout
        size = len(row.layout)
        numbers = array("q")
        # Limited to the expected size: a few compressed bytes may expand to gigabytes.
        most = _NUMBER_BYTES * (_COLUMNS * size + 1)
        unpacker = zlib.decompressobj()
        numbers.frombytes(unpacker.decompress(row.body, most))
        if sys.byteorder == "big":
            numbers.byteswap()
        if len(numbers) != _COLUMNS * size or not unpacker.eof:
            raise ValueError(f"a sample of {len(numbers)} numbers for {size} partitions")
        self.committed, self.log_ends = numbers[:size], numbers[size : 2 * size]
        self.ages = numbers[2 * size :]
        behind = map(sub, self.log_ends, self.committed)
        known = (UNKNOWN not in pair for pair in zip(self.log_ends, self.committed, strict=True))
        self.lags = [
            max(0, lag) if sure else UNKNOWN for lag, sure in zip(behind, known, strict=True)
        ]
        sure_lags = [lag for lag in self.lags if lag != UNKNOWN]
        self.total = sum(sure_lags) if sure_lags else None

    @cached_property
    def indices(self) -> Mapping[TopicPartition, int]:
        return {tp: index for index, tp in enumerate(self.layout)}


def _series(tp: TopicPartition, columns: Sequence[_Columns]) -> PartitionSeries:
    found = [(column, column.indices.get(tp)) for column in columns]

    def known(column_of: Callable[[_Columns], Sequence[int]]) -> tuple[int | None, ...]:
        numbers = (
            UNKNOWN if index is None else column_of(columns)[index] for columns, index in found
        )
        return tuple(None if number == UNKNOWN else number for number in numbers)

    return PartitionSeries(
        lag=known(lambda columns: columns.lags),
        committed=known(lambda columns: columns.committed),
        log_end=known(lambda columns: columns.log_ends),
        seconds=tuple(
            None if age is None else age / 1000 for age in known(lambda columns: columns.ages)
        ),
    )


def _offset(kind: GroupKind, partition: GroupPartition) -> int:
    committed = partition.effective(kind)
    return UNKNOWN if committed is None or committed.offset < 0 else committed.offset


def _log_end(partition: GroupPartition, since_ms: int) -> int:
    if partition.log_end is None or partition.log_at_ms is None or partition.log_at_ms < since_ms:
        return UNKNOWN
    return partition.log_end


def _packed(*columns: "array[int]") -> bytes:
    numbers = array("q")
    for column in columns:
        numbers.extend(column)
    if sys.byteorder == "big":
        numbers.byteswap()
    return zlib.compress(numbers.tobytes(), _FAST)
