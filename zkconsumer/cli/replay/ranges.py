"""Plans which offsets to replay, and finds those that the logs no longer have. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from zkconsumer.model import OffsetRange, TopicPartition
from zkconsumer.offsets.planning import LogRange


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """The plan of a replay.

    Attributes:
        ranges: ascending by partition, within the logs. Empty ones are omitted.
        gone: the requested offsets that are not in the logs, each with the reason.
        wrong: the invalid requests.
        notes: notes about partitions that have nothing to read.
    """

    ranges: tuple[OffsetRange, ...]
    gone: Mapping[OffsetRange, str]
    wrong: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def count(self) -> int:
        """The number of offsets to read."""
        return sum(offset_range.count for offset_range in self.ranges)


def plan_replay(
    logs: Mapping[TopicPartition, LogRange],
    starts: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
) -> ReplayPlan:
    """Compare the requested ranges with the logs.

    Args:
        logs: the logs of all partitions to read.
        starts: the start offsets; missing partitions start with the log.
        ends: the end offsets, exclusive; missing partitions end with the log.
    """
    ranges: list[OffsetRange] = []
    gone: dict[OffsetRange, str] = {}
    wrong: list[str] = []
    notes: list[str] = []
    for tp, log in sorted(logs.items()):
        start, end = starts.get(tp, log.start), ends.get(tp, log.end)
        if start > end and tp in starts and tp in ends:
            wrong.append(f"{tp}: the start offset {start} is after the end offset {end}")
            continue
        if start > end:
            notes.append(f"{tp}: nothing to read: its log is {log.start} to {log.end}")
            continue
        first, behind = max(start, log.start), min(end, log.end)
        if start < log.start and start < end:
            older = _range(tp, start, min(end, log.start))
            gone[older] = f"the log begins at {log.start} (older messages are deleted)"
        if end > log.end and start < end:
            gone[_range(tp, max(start, log.end), end)] = f"the log ends at {log.end}"
        if first < behind:
            ranges.append(_range(tp, first, behind))
    return ReplayPlan(tuple(ranges), gone, tuple(wrong), tuple(notes))


def _range(tp: TopicPartition, start: int, end: int) -> OffsetRange:
    return OffsetRange(topic_partition=tp, from_offset=start, until_offset=end)
