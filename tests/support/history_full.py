"""Half a day of a large cluster in one history file: its size, query times, and memory.

``make history-full``, or ``python -m tests.support.history_full --every 5``: 50 groups, which read
20 of 500 topics of 20 partitions each. The clock is simulated, so that half a day takes minutes.
"""

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from tests.support.asgi_client import ManualStates
from zkconsumer.model import TopicPartition
from zkconsumer.status.model import (
    ClusterSnapshot,
    CommittedOffset,
    GroupKey,
    GroupKind,
    GroupPartition,
    GroupState,
    GroupStatus,
)
from zkconsumer.web.history.database import open_for_writing, size_of
from zkconsumer.web.history.past import RecordedPast
from zkconsumer.web.history.recorder import SAMPLE_MS, Recorder
from zkconsumer.web.history.upkeep import HOUR_MS, UPKEEP_MS, Retention, maintain
from zkconsumer.web.history.writing import SampleWriter

TOPICS: Final = 500
PARTITIONS: Final = 20
GROUPS: Final = 50
BEGIN_MS: Final = 1_400_000_000_000
POINTS: Final = 300
"""The number of points that a chart of the page queries."""


def cluster_at(at_ms: int, topics_each: int) -> ClusterSnapshot:
    """Return the cluster at a time: groups read at different speeds, lags rise and fall."""
    groups = {}
    for number in range(GROUPS):
        key = GroupKey(GroupKind.ZOOKEEPER, f"group-{number:03}")
        groups[key] = GroupStatus(
            kind=key.kind,
            group_id=key.group_id,
            state=GroupState.STABLE,
            seen_ms=at_ms,
            partitions=tuple(_partitions(number, topics_each, at_ms)),
        )
    return ClusterSnapshot(taken_ms=at_ms, zookeeper_connect="zk:2181", groups=groups)


def _partitions(group: int, topics_each: int, at_ms: int) -> Iterator[GroupPartition]:
    moved = (at_ms - BEGIN_MS) // 1_000
    for place in range(topics_each):
        topic = f"topic-{(group * topics_each + place) % TOPICS:03}"
        for partition in range(PARTITIONS):
            end = moved * (1 + partition + place)
            lag = min(end, (moved * (partition + 3) + group * 37) % (100 + 40 * partition))
            yield GroupPartition(
                TopicPartition(topic, partition),
                committed=(CommittedOffset(end - lag, "zookeeper", at_ms),),
                log_end=end,
                log_at_ms=at_ms,
            )


def record(path: Path, every_ms: int, hours: int, retention: Retention, topics_each: int) -> int:
    """Write as the page's recorder does, including clean-up; return the largest size, bytes."""
    until_ms = BEGIN_MS + hours * HOUR_MS
    writer, upkeep_ms, largest = SampleWriter(SAMPLE_MS), BEGIN_MS, 0
    states = ManualStates(cluster_at(BEGIN_MS - every_ms, topics_each))
    with closing(open_for_writing(path)) as connection:
        for at_ms in range(BEGIN_MS, until_ms, every_ms):
            writer.write(connection, states.publish(cluster_at(at_ms, topics_each)), {})
            largest = max(largest, size_of(connection))
            if at_ms >= upkeep_ms or size_of(connection) > retention.max_bytes:
                maintain(connection, retention, at_ms)
                upkeep_ms = at_ms + UPKEEP_MS
                _say(f"{(at_ms - BEGIN_MS) / HOUR_MS:.1f} h: {_mib(size_of(connection))}")
    return largest


def look(path: Path, hours: int) -> None:
    """Print how long the charts' queries take, of one group and of the overview."""
    past = RecordedPast(Recorder(path))
    keys = [GroupKey(GroupKind.ZOOKEEPER, f"group-{number:03}") for number in range(GROUPS)]
    until_ms = BEGIN_MS + hours * HOUR_MS
    for span in (1, hours):
        began = time.process_time()
        series = past.lag_series(keys[0], until_ms - span * HOUR_MS, until_ms, POINTS)
        took = time.process_time() - began
        assert series.problem is None
        _say(f"{span} h of a group: {len(series.times_ms)} moments, {took:.2f} s of processor time")
    began = time.process_time()
    trends = past.trends(keys, until_ms - HOUR_MS, until_ms, 60)
    took = time.process_time() - began
    assert trends.keys() == set(keys)
    _say(f"the trends of {len(trends)} groups: {took:.2f} s of processor time")


def main() -> int:
    """Record, query, and compare the file's size with its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=5, help="seconds between two readings")
    parser.add_argument("--hours", type=int, default=12)
    parser.add_argument("--history-mb", type=int, default=1024)
    parser.add_argument("--topics-each", type=int, default=20, help="of 500, that each group reads")
    args = parser.parse_args()
    retention = Retention(max_bytes=args.history_mb << 20)
    with tempfile.TemporaryDirectory(prefix="history-full-") as folder:
        path = Path(folder, "history")
        began = time.process_time()
        largest = record(path, args.every * 1_000, args.hours, retention, args.topics_each)
        readings = args.hours * 3_600 // args.every
        each_s = (time.process_time() - began) / readings
        _say(f"{readings} readings, {each_s:.2f} s of processor time each, with its making")
        _say(f"the file is {_mib(path.stat().st_size)}, and never was more than {_mib(largest)}")
        look(path, args.hours)
    _say(f"memory at most: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB")
    # Its limit may be exceeded by one reading at most, see docs/page.md.
    is_bounded = largest <= retention.max_bytes * 5 // 4
    return 0 if is_bounded else 1


def _mib(size: int) -> str:
    return f"{size / (1 << 20):.0f} MiB"


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
