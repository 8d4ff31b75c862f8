"""A complete drain in memory: logs, a group, a storage, and a writer instead of Spark.

Every change calls ``World.at``, where a test can kill the process, or run another one.
"""

import itertools
import json
from collections.abc import Callable, Collection, Mapping

from tests.fakes.memory_storage import MemoryStorage
from tests.support.manual_clock import ManualClock
from zkconsumer.drain.checksum import Checksum, Contents
from zkconsumer.drain.cluster import DrainClusterSource
from zkconsumer.drain.identity import DrainIdentity
from zkconsumer.drain.journal import BatchJournal
from zkconsumer.drain.landing_files import FilesLanding, WrittenRows
from zkconsumer.drain.manifest import Absence, LandedPart
from zkconsumer.drain.plan import BatchPlan, ClusterLogs, Positions
from zkconsumer.drain.protocols import ProgressListener, StopRequest
from zkconsumer.drain.proving.coverage import Discrepancy
from zkconsumer.drain.runner import DrainReport, DrainRunner, Sides
from zkconsumer.drain.settings import MAX_OFFSETS_PER_BATCH, DrainSettings
from zkconsumer.model import OffsetRange, TopicPartition
from zkconsumer.spark.data_loss import LogBounds
from zkconsumer.spark.group_progress import GroupProgress

IDENTITY = DrainIdentity(
    id="drain-1",
    created_ms=0,
    cluster="zk1:2181",
    subscription="subscribe=t",
    starting="earliest",
    group="g",
    format="parquet",
)


class Killed(BaseException):
    """The process is killed: a BaseException, so that no ``except Exception`` catches it."""


class World:
    """The state that survives the drain's process.

    Args:
        at: called at every point where a process may be killed.
    """

    def __init__(self, at: Callable[[str], None] = lambda _point: None) -> None:
        self.at = at
        self.storage = MemoryStorage(self.pass_point)
        self.earliest: dict[TopicPartition, int] = {}
        self.latest: dict[TopicPartition, int] = {}
        self.compacted: set[tuple[TopicPartition, int]] = set()
        self.starts: dict[TopicPartition, int] = {}
        self.committed: dict[TopicPartition, int] = {}
        self.created: dict[str, str] = {}
        self.clock = ManualClock()
        self._attempts = itertools.count(1)

    def pass_point(self, point: str) -> None:
        """Call ``at`` at a point where the process may be killed."""
        self.at(point)

    def grow(self, tp: TopicPartition, count: int) -> None:
        """Append messages to a log."""
        self.earliest.setdefault(tp, 0)
        self.latest[tp] = self.latest.get(tp, 0) + count

    def log(self, tp: TopicPartition) -> list[int]:
        """The offsets that hold a message now."""
        every = range(self.earliest[tp], self.latest[tp])
        return [offset for offset in every if (tp, offset) not in self.compacted]

    def run(
        self,
        *,
        max_offsets: int | None = 5,
        fail_on_data_loss: bool = False,
        stop: StopRequest | None = None,
        listener: ProgressListener | None = None,
    ) -> DrainReport:
        """Run one process until everything has landed, or it is stopped."""
        settings = DrainSettings(
            path="/lake",
            max_offsets_per_batch=max_offsets or MAX_OFFSETS_PER_BATCH,
            fail_on_data_loss=fail_on_data_loss,
        )
        writer = ModelWriter(self)
        sides = Sides(
            identity=IDENTITY,
            journal=BatchJournal(self.storage),
            source=ModelSource(self),
            landing=FilesLanding(self.storage, writer, self.clock),
            group=ModelGroup(self),
            stop=stop or NeverStops(),
            listener=listener or ProgressListener(),
            new_attempt=lambda: f"attempt{next(self._attempts)}",
            clock=self.clock,
        )
        return DrainRunner(settings, sides).run()

    def published(self) -> dict[TopicPartition, list[int]]:
        """The offsets in all visible files, sorted, including duplicates."""
        by_partition: dict[TopicPartition, list[int]] = {}
        for path, data in self.storage.content.items():
            if path.startswith("topic="):
                for topic, partition, offset in json.loads(data):
                    by_partition.setdefault(TopicPartition(topic, partition), []).append(offset)
        return {tp: sorted(offsets) for tp, offsets in by_partition.items()}


class ModelSource(DrainClusterSource):
    """A source that answers from the world."""

    def __init__(self, world: World) -> None:
        self._world = world

    def read_logs(self, positions: Positions | None) -> ClusterLogs:
        """Return the present ends of the logs."""
        world = self._world
        world.at("read_logs")
        ends = dict(world.latest)
        begins = {tp: world.earliest[tp] for tp in ends}
        new = {tp: begins[tp] for tp in ends if tp not in (positions or {})}
        if positions is None:
            new |= {tp: world.starts[tp] for tp in new if tp in world.starts}
        return ClusterLogs(LogBounds(begins, ends), new, self.created({tp.topic for tp in ends}))

    def created(self, topics: Collection[str]) -> dict[str, str]:
        """Return the creation ids of these topics, as far as the world has them."""
        return {
            topic: creation_id
            for topic, creation_id in self._world.created.items()
            if topic in topics
        }


class ModelGroup(GroupProgress):
    """A group whose offsets are committed one by one, as in ZooKeeper."""

    def __init__(self, world: World) -> None:
        self._world = world

    def refuse_live(self) -> None:
        """Pass: the group has no other members."""
        self._world.at("check group")

    def commit(self, offsets: Positions, *, log_ends: Positions | None = None) -> None:
        """See ``GroupProgress``: an offset never decreases."""
        del log_ends
        for tp, offset in offsets.items():
            self._world.at(f"before commit {tp}")
            self._world.committed[tp] = max(offset, self._world.committed.get(tp, 0))
            self._world.at(f"after commit {tp}")


class ModelWriter:
    """See ``RowWriter``: writes a file for each range, or two if it can be split."""

    def __init__(self, world: World) -> None:
        self._world = world

    def write(self, plan: BatchPlan, folder: str) -> WrittenRows:
        """Write all ranges, and return the counts."""
        paths: list[str] = []
        parts = tuple(
            self._part(number, wanted, folder, paths) for number, wanted in enumerate(plan.ranges)
        )
        return WrittenRows(parts, paths)

    def _part(self, number: int, wanted: OffsetRange, folder: str, paths: list[str]) -> LandedPart:
        tp = wanted.topic_partition
        span = range(wanted.from_offset, wanted.until_offset)
        rows = [offset for offset in self._world.log(tp) if offset in span]
        half = len(rows) // 2
        for piece, offsets in enumerate((rows[:half], rows[half:])):
            if offsets:
                name = f"part-{number:05d}-{piece}-{_attempt(folder)}.parquet"
                paths.append(f"topic={tp.topic}/date=2014-05-13/{name}")
                data = json.dumps([[tp.topic, tp.partition, offset] for offset in offsets])
                self._world.storage.create(f"{folder}/{paths[-1]}", data.encode())
        return LandedPart(
            offsets=wanted,
            contents=Contents(
                rows=len(rows),
                first_offset=min(rows, default=None),
                last_offset=max(rows, default=None),
                checksum=Checksum(sum(rows)),
            ),
            absent=tuple(
                Absence(offset, offset + 1, 1, Discrepancy.COMPACTED)
                for offset in span
                if offset not in rows
            ),
        )


class NeverStops:
    """See ``StopRequest``."""

    def requested(self) -> bool:
        """Return False."""
        return False

    def wait(self, timeout_ms: int) -> None:
        """Fail: a run that ends by itself never waits."""
        raise AssertionError(f"it waits for {timeout_ms} ms")


def whole(offsets: Mapping[TopicPartition, list[int]]) -> dict[TopicPartition, list[int]]:
    """Return the offsets without empty partitions."""
    return {tp: of_partition for tp, of_partition in offsets.items() if of_partition}


def _attempt(folder: str) -> str:
    return folder.split("/")[-2]
