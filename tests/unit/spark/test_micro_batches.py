"""Micro-batches without Spark's engine, on a cluster in memory: the driver dies at every step."""

import json
from collections.abc import Callable, Sequence

import pytest

from tests.support.manual_clock import ManualClock
from tests.support.model_cluster import ModelCluster
from zkconsumer.errors import ConfigError
from zkconsumer.model import TopicPartition
from zkconsumer.spark.checkpoint import KEPT, Checkpoint
from zkconsumer.spark.input_partition import ZkInputPartition
from zkconsumer.spark.micro_batches import MicroBatches, Trigger
from zkconsumer.spark.options import source_options
from zkconsumer.spark.stream_plan import REFRESH_INTERVAL_MS, StreamPlan

T0 = TopicPartition("t", 0)


class Killed(BaseException):
    """Stands for the death of the driver."""


class MemoryFiles:
    """A checkpoint's files; ``dies_at`` counts writes down, and the last one is not done."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.dies_at: int | None = None

    def names(self, folder: str) -> Sequence[str]:
        prefix = f"{folder}/" if folder else ""
        return [path.removeprefix(prefix) for path in self.files if path.startswith(prefix)]

    def read(self, path: str) -> bytes:
        return self.files[path]

    def create(self, path: str, data: bytes) -> bool:
        if self.dies_at is not None:
            self.dies_at -= 1
            if not self.dies_at:
                self.dies_at = None
                raise Killed
        if path in self.files:
            return False
        self.files[path] = data
        return True

    def delete(self, path: str) -> None:
        self.files.pop(path, None)


class MicroBatchWorld:
    """A cluster, a checkpoint, and what was landed of each batch."""

    def __init__(self, **options: str) -> None:
        self.cluster = ModelCluster(p0=10)
        self.clock = ManualClock()
        self.files = MemoryFiles()
        self.landed: dict[int, list[str]] = {}
        self.waits: list[int] = []
        self.before_landing: Callable[[int], None] = lambda _: None
        self.options = source_options(
            {
                "zookeeper.connect": "model:1",
                "subscribe": "t",
                "startingOffsets": "earliest",
                **options,
            }
        ).for_streaming()

    def land(self, tasks: Sequence[ZkInputPartition], number: int) -> None:
        """Land a batch; each number has the same ranges however often it comes."""
        self.before_landing(number)
        ranges = [str(task.range_) for task in tasks]
        assert self.landed.setdefault(number, ranges) == ranges

    def run(
        self, *, available_now: bool = True, stopped: Callable[[], bool] = lambda: False
    ) -> int:
        """Run a driver until it ends, and return its number of batches."""
        self.clock.advance(REFRESH_INTERVAL_MS)
        plan = StreamPlan(self.options, self.cluster, None, clock=self.clock, wait=self.wait)
        plan.begin()
        batches = MicroBatches(plan, Checkpoint(self.files, "ck"), self.land, self.clock)
        trigger = Trigger(available_now=available_now, interval_ms=5_000, stopped=stopped)
        return batches.run(trigger, self.wait)

    def wait(self, duration_ms: int) -> None:
        """Advance the clock."""
        self.waits.append(duration_ms)
        self.clock.advance(duration_ms)

    @property
    def ranges(self) -> list[str]:
        """All ranges that were landed, by batch."""
        return [range_ for _, ranges in sorted(self.landed.items()) for range_ in ranges]


def test_a_backlog_is_read_in_bounded_batches() -> None:
    """Batches are bounded and numbered, and the checkpoint's files have Spark's own layout."""
    world = MicroBatchWorld(maxOffsetsPerTrigger="4")
    assert world.run() == 3
    assert world.ranges == ["t-0 [0, 4)", "t-0 [4, 8)", "t-0 [8, 10)"]
    assert world.run() == 0
    world.cluster.append(T0, 2)
    assert world.run() == 1
    assert world.ranges[-1] == "t-0 [10, 12)"
    assert sorted(world.files.names("offsets")) == sorted(world.files.names("commits"))
    version, meta, end = world.files.read("offsets/3").decode().split("\n")
    assert version == "v1"
    assert json.loads(meta)["batchWatermarkMs"] == 0
    assert json.loads(end)["t"] == {"0": 12}
    assert world.files.read("commits/3") == b'v1\n{"nextBatchWatermarkMs":0}'
    assert len(json.loads(world.files.read("metadata"))["id"]) == 36


@pytest.mark.parametrize("starting", ["earliest", "latest", '{"t":{"0":3}}'])
def test_killed_at_every_step_nothing_is_lost_or_comes_twice(starting: str) -> None:
    """A batch during which the driver dies is run again with its number and its messages."""
    first = {"earliest": 0, "latest": 10}.get(starting, 3)
    for step in range(1, 12):
        world = MicroBatchWorld(maxOffsetsPerTrigger="4", startingOffsets=starting)
        world.files.dies_at = step
        for _ in range(4):
            try:
                world.run()
            except Killed:
                world.cluster.append(T0, 5)
        ends = [first]
        for range_ in world.ranges:
            begin, end = map(int, range_.removeprefix("t-0 [").removesuffix(")").split(", "))
            if starting != "latest" or len(ends) > 1:
                assert begin == ends[-1], (step, world.landed)
            ends.append(end)
        assert ends[-1] == world.cluster.logs[T0][1] or len(ends) == 1


def test_a_write_that_fails_is_done_again() -> None:
    """A batch whose landing failed is landed first by the next run, with the same messages."""
    world = MicroBatchWorld()

    def fail(number: int) -> None:
        raise RuntimeError(f"batch {number}")

    world.before_landing = fail
    with pytest.raises(RuntimeError, match="batch 0"):
        world.run()
    world.before_landing = lambda _: None
    world.cluster.append(T0, 5)
    assert world.run() == 2
    assert world.landed == {0: ["t-0 [0, 10)"], 1: ["t-0 [10, 15)"]}


def test_a_run_keeps_its_interval_until_it_is_stopped() -> None:
    """A run starts one batch in each interval, and notices twice a second that it is stopped."""
    world = MicroBatchWorld(maxOffsetsPerTrigger="4")
    assert world.run(available_now=False, stopped=lambda: len(world.landed) == 3) == 3
    assert sum(world.waits) == 10_000
    assert max(world.waits) == 500


def test_another_query_on_the_same_checkpoint_is_noticed() -> None:
    """Another query on the same checkpoint is noticed before what it wrote is overwritten."""
    world, other = MicroBatchWorld(), MicroBatchWorld()
    other.files = world.files

    def intrude(number: int) -> None:
        world.before_landing = lambda _: None
        if number == 0:
            other.run()

    world.before_landing = intrude
    with pytest.raises(ConfigError, match="checkpoint ck: commits/0 was written by another query"):
        world.run()


def test_old_batches_are_forgotten() -> None:
    """As many batches are kept in the checkpoint as by Spark."""
    world = MicroBatchWorld(maxOffsetsPerTrigger="1")
    world.cluster.append(T0, KEPT + 10)
    assert world.run() == KEPT + 20
    assert len(world.files.names("offsets")) == len(world.files.names("commits")) == KEPT
    assert world.run() == 0


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("v2\n{}\n{}", "is of version 'v2', not v1"),
        ('v1\n{}\n{"t":{"0":1}}\n-', "offsets/0 can't be read"),
        ('v1\n{}\n{"t":{"0":1}}\n{"t":{"0":1}}', "is of a query with 2 sources, not 1"),
        ("v1", "offsets/0 can't be read"),
        ("v1\n{}\n{nonsense", "offsets/0 can't be read"),
        ('v1\n{}\n{"logOffset":3}', "checkpoint: .*logOffset"),
    ],
)
def test_other_queries_checkpoints_are_refused(text: str, complaint: str) -> None:
    """A checkpoint of another version or query is refused before anything is read."""
    world = MicroBatchWorld()
    world.files.create("offsets/0", text.encode())
    with pytest.raises(ConfigError, match=complaint):
        world.run()
    assert world.landed == {}
