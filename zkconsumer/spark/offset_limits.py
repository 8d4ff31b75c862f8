"""Reads a query's start and end from options, and resolves them to offsets. Pure.

Source: Spark 4.2 ``KafkaOffsetRangeLimit``, ``KafkaSourceProvider.getKafkaOffsetRangeLimit`` and
``KafkaOffsetReaderAdmin.fetchPartitionOffsets``. ``NamedLimit.GROUP`` is our own.

A time stands for the first message that is not older. Brokers before 0.10.1, and logs without
timestamps, only have the time when a segment of a log was last written to. Then a time is resolved
by segment, on the safe side: a range may start earlier, and end later, by up to a segment or two.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, assert_never

from zkconsumer.errors import ConfigError
from zkconsumer.model import TopicPartition
from zkconsumer.printable import listed
from zkconsumer.spark.offset_json import read_offsets, read_times
from zkconsumer.spark.option_values import read_long
from zkconsumer.wire.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP

Offsets = dict[TopicPartition, int]
Committed = Callable[[Sequence[TopicPartition]], Mapping[TopicPartition, int | None]]
"""Returns the group's committed offset of each partition; None if it has none."""


class NamedLimit(StrEnum):
    """The same place in every log."""

    EARLIEST = "earliest"
    """The log start offset."""
    LATEST = "latest"
    """The log end offset."""
    GROUP = "group"
    """The group's committed offset; the earliest offset if it has none."""


@dataclass(frozen=True, slots=True)
class Exact:
    """An offset for every partition; -2 is the earliest, and -1 the latest."""

    offsets: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class AtTime:
    """Times in milliseconds since the epoch.

    Attributes:
        times: the time of each partition, or one time for all of them.
        latest_if_none: whether to start at the latest offset if no message is as new as the time;
            otherwise it is an error.
    """

    times: Mapping[TopicPartition, int] | int
    latest_if_none: bool = False

    def of(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the time of each partition, which must be among ``times``."""
        if isinstance(self.times, int):
            return dict.fromkeys(partitions, self.times)
        return {tp: self.times[tp] for tp in partitions}


OffsetLimit = NamedLimit | Exact | AtTime


@dataclass(frozen=True, slots=True)
class LimitNames:
    """The names of the options for one end of a query, in order of precedence."""

    timestamp: str
    by_timestamp: str
    offsets: str

    @property
    def all(self) -> tuple[str, str, str]:
        """All three names."""
        return (self.timestamp, self.by_timestamp, self.offsets)


STARTING = LimitNames("startingTimestamp", "startingOffsetsByTimestamp", "startingOffsets")
ENDING = LimitNames("endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets")


class LogLookup(Protocol):
    """Looks up offsets of logs; results contain all requested partitions."""

    def earliest(self, partitions: Sequence[TopicPartition]) -> Offsets:
        """Return the log start offset of each partition."""
        ...

    def latest(self, partitions: Sequence[TopicPartition]) -> Offsets:
        """Return the log end offset of each partition."""
        ...

    def at_time(self, times: Mapping[TopicPartition, int]) -> Offsets:
        """Return a start offset for each time, at or before the first message that is not older."""
        ...

    def until_time(self, times: Mapping[TopicPartition, int]) -> Offsets:
        """Return an end offset for each time, at or after the first message that is not older."""
        ...


def read_limit(
    names: LimitNames, options: Mapping[str, str], *, latest_if_none: bool
) -> OffsetLimit | None:
    """Read one end of the query; None if no option gives it.

    Args:
        names: the names of that end's options.
        options: all options, by their names in lower case.
        latest_if_none: the value of ``startingOffsetsByTimestampStrategy``, see ``AtTime``.

    Raises:
        ConfigError: the value is invalid; names the option.
    """
    if (text := options.get(names.timestamp.lower())) is not None:
        time_ms = read_long(names.timestamp, text, low=0, what="milliseconds since the epoch")
        return AtTime(time_ms, latest_if_none)
    if (text := options.get(names.by_timestamp.lower())) is not None:
        return AtTime(read_times(names.by_timestamp, text), latest_if_none)
    if (text := options.get(names.offsets.lower())) is None:
        return None
    word = text.strip().lower()
    if word in tuple(NamedLimit):
        return NamedLimit(word)
    if not text.strip().startswith("{"):
        raise ConfigError(
            f"{names.offsets} is {text!r}: it must be earliest, latest"
            f"{', group' if names is STARTING else ''} or JSON such as "
            '{"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}'
        )
    return Exact(read_offsets(names.offsets, text))


def resolve_starting(
    limit: OffsetLimit,
    partitions: Sequence[TopicPartition],
    log: LogLookup,
    committed: Committed | None = None,
) -> Offsets:
    """Resolve every partition's start offset. Offsets given exactly are kept.

    Args:
        limit: the limit that the options give.
        partitions: all partitions of the query.
        log: looks up offsets.
        committed: the offsets of the group; needed for ``GROUP`` only.

    Raises:
        ConfigError: offsets or times are given for other partitions than these; or no message is as
            new as a time, and the strategy is ``error``.
    """
    match limit:
        case NamedLimit.EARLIEST:
            return log.earliest(partitions)
        case NamedLimit.LATEST:
            return log.latest(partitions)
        case NamedLimit.GROUP:
            assert committed is not None, "startingOffsets=group needs a group"
            return _where_group_stands(partitions, log, committed)
        case Exact():
            _check_same(STARTING.offsets, limit.offsets, partitions)
            return _exact(limit, partitions, log)
        case AtTime():
            if not isinstance(limit.times, int):
                _check_same(STARTING.by_timestamp, limit.times, partitions)
            return _start_at_time(limit, partitions, log)
        case _:
            assert_never(limit)


def resolve_ending(
    limit: OffsetLimit, partitions: Sequence[TopicPartition], log: LogLookup
) -> Offsets:
    """Resolve every partition's end offset, exclusive. Offsets given exactly are kept.

    Raises:
        ConfigError: offsets or times are given for other partitions than these; or the limit can't
            be an end (``earliest``, ``group``).
    """
    match limit:
        case NamedLimit.LATEST:
            return log.latest(partitions)
        case Exact():
            _check_same(ENDING.offsets, limit.offsets, partitions)
            return _exact(limit, partitions, log)
        case AtTime():
            if not isinstance(limit.times, int):
                _check_same(ENDING.by_timestamp, limit.times, partitions)
            return log.until_time(limit.of(partitions))
        case NamedLimit.EARLIEST | NamedLimit.GROUP:
            raise ConfigError(f"{ENDING.offsets} is {limit}: no query can end there; give latest")
        case _:
            assert_never(limit)


def check_order(starting: OffsetLimit, ending: OffsetLimit) -> None:
    """Check that no start is after its end, and that lists name the same partitions.

    Source: Spark's ``checkOffsetLimitValidity``.

    Raises:
        ConfigError: start and end contradict each other; names both options and the partition.
    """
    if isinstance(starting, Exact) and isinstance(ending, Exact):
        _check_pair(STARTING.offsets, starting.offsets, ENDING.offsets, ending.offsets)
    elif isinstance(starting, AtTime) and isinstance(ending, AtTime):
        if isinstance(starting.times, int) and isinstance(ending.times, int):
            _check_times(starting.times, ending.times)
        elif not isinstance(starting.times, int) and not isinstance(ending.times, int):
            _check_pair(STARTING.by_timestamp, starting.times, ENDING.by_timestamp, ending.times)


def _check_times(start: int, end: int) -> None:
    if start > end:
        raise ConfigError(
            f"{STARTING.timestamp} is {start}, behind {ENDING.timestamp}, which is {end}"
        )


def _check_pair(
    start_name: str,
    starts: Mapping[TopicPartition, int],
    end_name: str,
    ends: Mapping[TopicPartition, int],
) -> None:
    differing = sorted(starts.keys() ^ ends.keys())
    if differing:
        raise ConfigError(
            f"{start_name} and {end_name} must name the same partitions: {listed(differing)} "
            "are in one of them only"
        )
    for tp, start in sorted(starts.items()):
        if start >= 0 and 0 <= ends[tp] < start:
            raise ConfigError(f"{start_name} of {tp} is {start}, behind {end_name} {ends[tp]}")


def _where_group_stands(
    partitions: Sequence[TopicPartition], log: LogLookup, committed: Committed
) -> Offsets:
    stands = committed(partitions)
    found = {tp: offset for tp in partitions if (offset := stands.get(tp)) is not None}
    # Starting at the earliest offset loses nothing, whatever the group did in other partitions.
    unknown = [tp for tp in partitions if tp not in found]
    return {**found, **(log.earliest(unknown) if unknown else {})}


def _exact(limit: Exact, partitions: Sequence[TopicPartition], log: LogLookup) -> Offsets:
    early = [tp for tp in partitions if limit.offsets[tp] == EARLIEST_TIMESTAMP]
    late = [tp for tp in partitions if limit.offsets[tp] == LATEST_TIMESTAMP]
    found = {tp: limit.offsets[tp] for tp in partitions}
    if early:
        found.update(log.earliest(early))
    if late:
        found.update(log.latest(late))
    return found


def _start_at_time(limit: AtTime, partitions: Sequence[TopicPartition], log: LogLookup) -> Offsets:
    times = limit.of(partitions)
    found = log.at_time(times)
    if limit.latest_if_none:
        return found
    ends = log.latest(partitions)
    for tp in partitions:
        if found[tp] >= ends[tp]:
            name = STARTING.timestamp if isinstance(limit.times, int) else STARTING.by_timestamp
            raise ConfigError(
                f"{name}: {tp} has no message as new as {times[tp]}: give an earlier time, or set "
                "startingOffsetsByTimestampStrategy to latest to start at its end"
            )
    return found


def _check_same(
    option: str,
    given: Mapping[TopicPartition, int],
    partitions: Sequence[TopicPartition],
) -> None:
    missing = sorted(set(partitions).difference(given))
    if missing:
        raise ConfigError(
            f"{option} must name every partition that is read, and lacks {listed(missing)}"
            f"{_HINTS.get(option, '')}"
        )
    spare = sorted(set(given).difference(partitions))
    if spare:
        raise ConfigError(
            f"{option} names {listed(spare)}, which the query does not read: leave them out, or "
            "check topics and numbers"
        )


_HINTS = {
    STARTING.offsets: ": give -2 for the earliest offset or -1 for the latest",
    ENDING.offsets: ": give -1 for the latest offset",
}
