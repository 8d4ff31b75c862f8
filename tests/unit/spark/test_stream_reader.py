"""The streaming reader where Spark passes no start of a batch: the reader keeps it itself."""

import json
from typing import Any

import pytest

from tests.support.manual_clock import ManualClock
from tests.support.model_cluster import ModelCluster
from zkconsumer.errors import IllegalState
from zkconsumer.model import TopicPartition
from zkconsumer.spark import stream_reader
from zkconsumer.spark.options import SourceOptions, source_options
from zkconsumer.spark.rows import spark_schema
from zkconsumer.spark.stream_plan import StreamPlan
from zkconsumer.spark.stream_reader import ZkStreamReader

T0 = TopicPartition("t", 0)


class StreamReaderWorld:
    """A cluster in memory, and readers of it as drivers create them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cluster = ModelCluster(p0=10)
        self.clock = ManualClock()
        monkeypatch.setattr(stream_reader, "begun_plan", self._begun_plan)

    def _begun_plan(self, options: SourceOptions) -> StreamPlan:
        plan = StreamPlan(options, self.cluster, None, clock=self.clock, wait=self.clock.advance)
        plan.begin()
        return plan

    def reader(self, **options: str) -> ZkStreamReader:
        """Create the reader of a new driver."""
        given = {"zookeeper.connect": "model:1", "subscribe": "t", "maxOffsetsPerTrigger": "4"}
        checked = source_options({**given, "startingOffsets": "earliest", **options})
        return ZkStreamReader(checked.for_streaming(), spark_schema())


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> StreamReaderWorld:
    """Create a world."""
    return StreamReaderWorld(monkeypatch)


def through_spark(offset: dict[str, Any]) -> dict[str, Any]:
    """Return an offset as it comes back from a checkpoint."""
    found: dict[str, Any] = json.loads(json.dumps(offset))
    return found


def ranges(tasks: list[Any]) -> list[str]:
    """Return the ranges of tasks."""
    return [str(task.range_) for task in tasks]


def test_a_batch_starts_where_the_last_one_ended(world: StreamReaderWorld) -> None:
    """Batches are consecutive and limited; without messages the end is equal JSON for Spark."""
    reader = world.reader()
    start, found = reader.initialOffset(), []
    for _ in range(3):
        end = reader.latestOffset()
        found += ranges(reader.partitions(through_spark(start), through_spark(end)))
        start = end
    assert found == ["t-0 [0, 4)", "t-0 [4, 8)", "t-0 [8, 10)"]
    assert json.dumps(reader.latestOffset()) == json.dumps(start)
    world.cluster.append(T0, 1)
    assert reader.latestOffset()["t"] == {"0": 11}


@pytest.mark.parametrize("knows_trigger", [True, False])
def test_that_a_trigger_may_end_after_one_batch_is_logged(
    world: StreamReaderWorld,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    *,
    knows_trigger: bool,
) -> None:
    """Log the warning once for each query if Spark does not tell a source its trigger."""
    monkeypatch.setattr(stream_reader, "HAS_READ_LIMITS", knows_trigger)
    reader = world.reader()
    for _ in range(2):
        reader.latestOffset()
    warnings = [
        record.getMessage() for record in caplog.records if "after one batch" in record.getMessage()
    ]
    assert len(warnings) == (0 if knows_trigger else 1)


def test_a_reader_continues_from_a_checkpoint(world: StreamReaderWorld) -> None:
    """After a restart Spark plans an empty range, or first repeats a batch that was interrupted."""
    first = world.reader()
    done = first.latestOffset()
    planned = first.latestOffset()
    later = world.reader()
    assert later.partitions(through_spark(planned), through_spark(planned)) == []
    again = later.partitions(through_spark(done), through_spark(planned))
    assert ranges(again) == ["t-0 [4, 8)"]
    end = later.latestOffset()
    assert ranges(later.partitions(through_spark(planned), end)) == ["t-0 [8, 10)"]


def test_a_batch_that_starts_elsewhere_is_refused(world: StreamReaderWorld) -> None:
    """A batch with another start is refused: Spark would read again what was read."""
    first = world.reader()
    done = first.latestOffset()
    later = world.reader()
    end = later.latestOffset()
    with pytest.raises(IllegalState, match="the batch was planned from"):
        later.partitions(through_spark(done), through_spark(end))


@pytest.mark.parametrize("first", ["earliest", "latest"])
def test_an_end_given_before_the_checkpoint_is_known_is_refused(
    world: StreamReaderWorld, first: str
) -> None:
    """Spark's wrapper for ``availableNow`` asks too early: rows would come twice, or be lost."""
    done = {"t": {"0": 4}}
    later = world.reader(startingOffsets=first)
    later.latestOffset()
    with pytest.raises(IllegalState, match=r"triggerAvailableNowWrapper\.enabled"):
        later.partitions(done, done)
