"""A stream's plan on a cluster in memory: where batches start and end, and what is committed."""

import pytest

from tests.fakes.memory_zk import MemoryZkServer
from tests.support.manual_clock import ManualClock
from tests.support.model_cluster import ModelCluster
from tests.support.scripted_offsets import ScriptedOffsets
from zkconsumer.errors import ConfigError, OffsetCommitFailed, RegistryError
from zkconsumer.model import TopicPartition
from zkconsumer.spark.data_loss import OffsetsLost
from zkconsumer.spark.group_progress import GroupProgress
from zkconsumer.spark.options import source_options
from zkconsumer.spark.stream_offsets import StreamOffsets
from zkconsumer.spark.stream_plan import IDLE_PAUSE_MS, REFRESH_INTERVAL_MS, StreamPlan

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class StreamPlanWorld:
    """A plan with its cluster, clock, ZooKeeper and offset store."""

    def __init__(self, cluster: ModelCluster, **options: str) -> None:
        self.cluster = cluster
        self.clock = ManualClock()
        self.waits: list[int] = []
        self.server = MemoryZkServer()
        self.zookeeper = self.server.connect()
        self.offsets = ScriptedOffsets("zookeeper")
        self.options = source_options(
            {"zookeeper.connect": "model:1", "subscribe": "t", **options}
        ).for_streaming()
        self.plan = self.new_plan()

    def new_plan(self) -> StreamPlan:
        """Create the plan of a new driver."""
        progress = GroupProgress("g", self.offsets, zookeeper=self.zookeeper, clock=self.clock)
        return StreamPlan(
            self.options, self.cluster, progress, clock=self.clock, wait=self.waits.append
        )

    def join(self) -> None:
        """Let a member join the group."""
        self.zookeeper.create("/consumers/g/ids/g_joins", b"{}", ephemeral=True)

    def run(self, start: StreamOffsets) -> StreamOffsets:
        """Plan one batch, a second after the one before."""
        self.clock.advance(REFRESH_INTERVAL_MS)
        return self.plan.latest(start, unlimited=False)

    def ranges(self, start: StreamOffsets, end: StreamOffsets) -> list[str]:
        """Return the ranges of a batch's tasks."""
        return [str(task.range_) for task in self.plan.tasks(start, end)]


COMMITTING = {"group.id": "g", "commitOffsetsTo": "zookeeper"}


def committing(cluster: ModelCluster, **options: str) -> StreamPlanWorld:
    """Create a query that reads from the earliest offsets and commits."""
    return StreamPlanWorld(cluster, **COMMITTING, startingOffsets="earliest", **options)


def test_a_batch_is_committed_when_it_is_complete_and_not_before() -> None:
    """A batch is committed when Spark requests the end after it, and not before."""
    world = committing(ModelCluster(p0=10, p1=5))
    start = world.plan.initial()
    first = world.run(start)
    assert first.offsets == {T0: 10, T1: 5}
    assert world.offsets.commits == []
    world.cluster.append(T0, 3)
    second = world.run(first)
    assert second.offsets == {T0: 13, T1: 5}
    assert world.offsets.kept == {T0: 10, T1: 5}
    assert world.run(second) is second
    assert world.offsets.kept == {T0: 13, T1: 5}
    assert [commit for commit, _, _ in world.offsets.commits] == [{T0: 10, T1: 5}, {T0: 13}]


def test_a_driver_that_takes_over_commits_what_the_last_one_could_not() -> None:
    """A new driver commits the last complete batch, whose end Spark passes to it first."""
    world = committing(ModelCluster(p0=10))
    end = world.run(world.plan.initial())
    world.plan = world.new_plan()
    assert world.run(end) is end
    assert world.offsets.kept == {T0: 10}


def test_the_first_batch_remembers_where_it_began() -> None:
    """The first batch keeps its start: a new driver's "latest" would be another offset."""
    world = StreamPlanWorld(ModelCluster(p0=10))
    start = world.plan.initial()
    world.cluster.append(T0, 5)
    end = world.run(start)
    world.plan = world.new_plan()
    world.cluster.append(T0, 5)
    again = world.plan.initial()
    assert again.offsets == {T0: 15 + 5}
    assert world.ranges(again, StreamOffsets.from_json(end.to_json())) == ["t-0 [10, 15)"]
    after = world.run(end)
    assert world.ranges(end, after) == ["t-0 [15, 20)"]
    assert after.begun_at is None


def test_a_first_batch_that_is_run_again_is_committed() -> None:
    """A repeated first batch is committed though it ends at a new driver's starting offsets."""
    world = StreamPlanWorld(ModelCluster(p0=10), **COMMITTING)
    start = world.plan.initial()
    world.cluster.append(T0, 5)
    end = StreamOffsets.from_json(world.run(start).to_json())
    world.plan = world.new_plan()
    assert world.plan.initial().offsets == end.offsets
    assert world.run(end) is end
    assert world.offsets.kept == {T0: 15}


def test_an_empty_first_batch_is_not_committed() -> None:
    """An empty first batch only keeps the query's start; there is nothing to commit."""
    world = StreamPlanWorld(ModelCluster(p0=10), **COMMITTING)
    end = world.run(world.plan.initial())
    assert (end.offsets, end.begun_at) == ({T0: 10}, {T0: 10})
    assert world.run(end) is end
    assert world.offsets.commits == []


def test_exact_starts_are_not_kept() -> None:
    """A start with exact offsets is not kept, and the checkpoint looks as Spark's own source's."""
    world = StreamPlanWorld(ModelCluster(p0=10), startingOffsets='{"t":{"0":4}}')
    assert world.run(world.plan.initial()).to_json() == {"t": {"0": 10}}


def test_a_new_partition_is_read_from_its_beginning() -> None:
    """A new partition is noticed within a second and read from its earliest offset."""
    world = StreamPlanWorld(ModelCluster(p0=10), startingOffsets="earliest")
    end = world.run(world.plan.initial())
    world.cluster.append(T1, 4)
    after = world.run(end)
    assert world.ranges(end, after) == ["t-1 [0, 4)"]


def test_available_now_ends_at_the_log_ends_that_it_saw_first() -> None:
    """``availableNow`` ends at the logs' ends as first seen, however fast messages come."""
    world = StreamPlanWorld(
        ModelCluster(p0=10), startingOffsets="earliest", maxOffsetsPerTrigger="6"
    )
    world.plan.prepare_available_now()
    ends = [world.plan.initial()]
    for _ in range(4):
        ends.append(world.run(ends[-1]))
        world.cluster.append(T0, 6)
    assert [end.offsets[T0] for end in ends] == [0, 6, 10, 10, 10]
    assert ends[-1] is ends[-2]


def test_a_trigger_may_ask_for_everything_at_once() -> None:
    """A trigger that asks for everything overrides the limits of the options."""
    world = StreamPlanWorld(
        ModelCluster(p0=10), startingOffsets="earliest", maxOffsetsPerTrigger="6"
    )
    assert world.plan.latest(world.plan.initial(), unlimited=True).offsets == {T0: 10}


def test_a_batch_below_the_minimum_is_delayed_but_not_for_ever() -> None:
    """A batch below the minimum is delayed up to the maximum; the last one is committed anyway."""
    world = committing(ModelCluster(p0=10), minOffsetsPerTrigger="5", maxTriggerDelay="1m")
    end = world.run(world.plan.initial())
    world.cluster.append(T0, 2)
    assert world.run(end) is end
    assert world.offsets.kept == {T0: 10}
    world.clock.advance(60_000)
    assert world.run(end).offsets == {T0: 12}


def test_live_members_are_refused_before_anything_is_planned() -> None:
    """Live members are refused unless an option allows them, or nothing is committed."""
    world = committing(ModelCluster(p0=10))
    world.join()
    with pytest.raises(ConfigError, match="live members: g_joins"):
        world.plan.begin()
    for options in (COMMITTING | {"allowLiveGroup": "true"}, {"group.id": "g"}):
        other = StreamPlanWorld(ModelCluster(p0=10), **options)
        other.join()
        other.plan.begin()


def test_a_member_that_joins_ends_the_query_before_it_commits() -> None:
    """A member that joins ends the query before it commits: the group's offsets are now its own."""
    world = committing(ModelCluster(p0=10))
    world.plan.begin()
    end = world.run(world.plan.initial())
    world.join()
    with pytest.raises(ConfigError, match="live members: g_joins"):
        world.run(end)
    assert world.offsets.commits == []


def test_an_idle_query_sees_a_member_join_within_a_second() -> None:
    """Live members are looked up once a second, not at each request of Spark for offsets."""
    world = committing(ModelCluster(p0=10))
    end = world.run(world.plan.initial())
    assert world.run(end) is end
    world.zookeeper.requests.clear()
    assert world.plan.latest(end, unlimited=False) is end
    assert not +world.zookeeper.requests
    world.join()
    world.clock.advance(REFRESH_INTERVAL_MS)
    with pytest.raises(ConfigError, match="live members: g_joins"):
        world.plan.latest(end, unlimited=False)


def test_an_idle_query_pauses_between_lookups() -> None:
    """An idle query waits a tenth of a second between lookups; one with messages does not wait."""
    world = StreamPlanWorld(ModelCluster(p0=10), startingOffsets="earliest")
    end = world.plan.latest(world.plan.initial(), unlimited=False)
    assert world.plan.latest(end, unlimited=False) is end
    assert world.waits == []
    world.clock.advance(30)
    world.cluster.append(T0, 1)
    after = world.plan.latest(end, unlimited=False)
    assert world.waits == [IDLE_PAUSE_MS - 30]
    world.plan.latest(after, unlimited=False)
    assert world.waits == [IDLE_PAUSE_MS - 30]


def test_a_query_that_waits_for_its_first_message_pauses_between_lookups() -> None:
    """A query that waits for its first message pauses between lookups, too."""
    world = StreamPlanWorld(ModelCluster(p0=10))
    end = world.plan.latest(world.plan.initial(), unlimited=False)
    for _ in range(3):
        assert world.plan.latest(end, unlimited=False) is end
    assert world.waits == [IDLE_PAUSE_MS] * 2


def test_a_partition_that_is_gone_is_not_committed() -> None:
    """A deleted partition is not committed, as brokers may refuse it, and the query goes on."""
    world = committing(ModelCluster(p0=10, p1=5), failOnDataLoss="false")
    end = world.run(world.plan.initial())
    world.plan = world.new_plan()
    del world.cluster.logs[T1]
    world.offsets.refused[T1] = "there is no such partition"
    world.cluster.append(T0, 1)
    after = world.run(end)
    assert world.ranges(end, after) == ["t-0 [10, 11)"]
    assert world.offsets.kept == {T0: 10}


def test_a_bounded_batch_starts_after_the_expired_offsets() -> None:
    """A bounded batch starts after the expired offsets: a million of them are no empty batches."""
    options = {"maxOffsetsPerTrigger": "6", "failOnDataLoss": "false"}
    world = StreamPlanWorld(ModelCluster(p0=10), startingOffsets="earliest", **options)
    end = world.run(world.plan.initial())
    world.cluster.logs[T0] = (1_000_000, 1_000_020)
    after = world.run(end)
    assert world.ranges(end, after) == ["t-0 [1000000, 1000006)"]


def test_a_commit_that_fails_is_tried_again_then_ends_the_query() -> None:
    """A failed commit is repeated as often as offset lookups are, then ends the query."""
    options = {"fetchOffset.numRetries": "3", "fetchOffset.retryIntervalMs": "70"}
    world = committing(ModelCluster(p0=10), **options)
    end = world.run(world.plan.initial())
    world.offsets.refused[T0] = "no room"
    with pytest.raises(OffsetCommitFailed, match="no room"):
        world.run(end)
    assert world.waits == [70, 70]
    world.offsets.refused.clear()
    world.run(end)
    assert world.offsets.kept == {T0: 10}


def test_a_dead_zookeeper_ends_only_a_query_that_has_something_to_commit() -> None:
    """Without ZooKeeper a query reads on until it has something to commit.

    Whether members are live is unknown then, so nothing is written.
    """
    world = committing(ModelCluster(p0=10))
    end = world.run(world.plan.initial())
    world.run(end)
    world.server.disconnect(world.zookeeper.session_id)
    assert world.run(end) is end
    world.cluster.append(T0, 2)
    after = world.run(end)
    with pytest.raises(RegistryError):
        world.run(after)
    assert world.offsets.kept == {T0: 10}


def test_offsets_that_expired_meanwhile_are_reported_or_skipped() -> None:
    """Offsets that expired after planning are an error, or skipped, before any task starts."""
    for fail in ("true", "false"):
        world = StreamPlanWorld(
            ModelCluster(p0=10), startingOffsets="earliest", failOnDataLoss=fail
        )
        end = world.run(world.plan.initial())
        world.cluster.logs[T0] = (15, 20)
        after = world.run(end)
        if fail == "true":
            with pytest.raises(OffsetsLost, match=r"t-0 \[10, 15\) is lost"):
                world.ranges(end, after)
        else:
            assert world.ranges(end, after) == ["t-0 [15, 20)"]


def test_closing_closes_the_cluster() -> None:
    """Closing the plan closes the cluster's connections."""
    world = committing(ModelCluster(p0=10))
    world.plan.close()
    assert world.cluster.closed


def recreated(world: StreamPlanWorld, **ends: int) -> None:
    """Recreate the topic with these log ends."""
    world.cluster.created = {"t": "czxid:9"}
    world.cluster.logs = ModelCluster(**ends).logs


def test_a_topic_that_was_created_again_stops_the_query_though_its_log_is_longer() -> None:
    """A recreated topic stops the query, before or after a restart, though its log is longer.

    Nothing of the former topic is committed.
    """
    world = committing(ModelCluster(p0=10))
    world.cluster.created = {"t": "czxid:5"}
    start = world.plan.initial()
    first = world.run(start)
    assert world.ranges(start, first) == ["t-0 [0, 10)"]
    recreated(world, p0=30)
    for again in (False, True):
        if again:
            world.plan = world.new_plan()
        end = world.run(StreamOffsets.from_json(first.to_json()))
        with pytest.raises(OffsetsLost, match="t-0 from offset 10 on is lost: the topic was dele"):
            world.ranges(first, end)
    assert world.offsets.kept == {}


def test_with_fail_on_data_loss_false_all_of_the_new_topic_is_read(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The recreated topic is read from its beginning, with a warning.

    Batches that are planned again have the same ranges.
    """
    world = committing(ModelCluster(p0=10), failOnDataLoss="false", maxOffsetsPerTrigger="20")
    world.cluster.created = {"t": "czxid:5"}
    start = world.plan.initial()
    first = world.run(start)
    recreated(world, p0=30)
    end = world.run(first)
    assert world.ranges(first, end) == ["t-0 [0, 20)"]
    assert "deleted and recreated" in caplog.text
    world.plan = world.new_plan()
    assert world.ranges(first, StreamOffsets.from_json(end.to_json())) == ["t-0 [0, 20)"]
    last = world.run(end)
    assert world.ranges(end, last) == ["t-0 [20, 30)"]
    assert world.offsets.kept == {T0: 20}


def test_a_recreated_log_of_the_same_length_is_noticed() -> None:
    """A recreated topic is noticed though its offsets equal the former topic's."""
    world = committing(ModelCluster(p0=10), failOnDataLoss="false")
    world.cluster.created = {"t": "czxid:5"}
    first = world.run(world.plan.initial())
    recreated(world, p0=10)
    end = world.run(first)
    assert end.offsets == first.offsets
    assert end.to_json() != first.to_json()
    assert world.ranges(first, end) == ["t-0 [0, 10)"]
    assert world.run(end) == end


def test_a_batch_whose_topic_is_created_again_before_it_is_read_is_lost() -> None:
    """If its topic is recreated before it is read, a batch is lost: its messages are gone."""
    world = committing(ModelCluster(p0=10))
    world.cluster.created = {"t": "czxid:5"}
    start = world.plan.initial()
    end = world.run(start)
    recreated(world, p0=30)
    world.plan = world.new_plan()
    with pytest.raises(OffsetsLost, match=r"t-0 \[0, 10\) is lost"):
        world.ranges(start, end)


def test_old_checkpoints_are_continued() -> None:
    """Checkpoints of older releases, without the topics' creation, are continued.

    So they are if the cluster can't tell when topics were created.
    """
    world = committing(ModelCluster(p0=10))
    start = StreamOffsets.from_json({"t": {"0": 4}})
    world.cluster.created = {"t": "czxid:5"}
    end = world.run(start)
    assert world.ranges(start, end) == ["t-0 [4, 10)"]
    assert end.to_json()["@created"] == {"t": "czxid:5"}
    world.cluster.created = {}
    world.plan = world.new_plan()
    world.cluster.append(T0, 5)
    last = world.run(end)
    assert world.ranges(end, last) == ["t-0 [10, 15)"]
    assert last.created == {"t": "czxid:5"}
