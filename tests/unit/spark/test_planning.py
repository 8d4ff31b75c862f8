"""From options to offset ranges and tasks, on a cluster in memory."""

from collections.abc import Mapping, Sequence

import pytest

from tests.support.model_cluster import BROKER, ModelCluster
from zkconsumer.errors import ConfigError
from zkconsumer.model import OffsetRange, TopicPartition
from zkconsumer.spark.data_loss import OffsetsLost
from zkconsumer.spark.options import SourceOptions, source_options
from zkconsumer.spark.planning import batch_ranges, input_partitions

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def batch(options: dict[str, str] | None = None) -> SourceOptions:
    """Return the options of a batch query on topic ``t``."""
    given = {"zookeeper.connect": "model:1", "subscribe": "t", "group.id": "g", **(options or {})}
    return source_options(given).for_batch()


def ranges(
    cluster: ModelCluster,
    options: dict[str, str] | None = None,
    committed: dict[TopicPartition, int] | None = None,
) -> list[str]:
    """Return what a batch query reads, as text; ``committed`` has the group's offsets."""
    there = committed or {}
    found = batch_ranges(
        batch(options), cluster, lambda partitions: {tp: there.get(tp) for tp in partitions}
    )
    return [str(offset_range) for offset_range in found]


def test_a_batch_reads_what_is_there() -> None:
    """A batch reads what the logs hold; an empty partition has no task."""
    cluster = ModelCluster(p0=10, p1=0)
    assert ranges(cluster) == ["t-0 [0, 10)"]
    cluster.logs[T0] = (4, 10)
    assert ranges(cluster) == ["t-0 [4, 10)"]


def test_a_log_that_expires_during_the_lookup_is_no_loss() -> None:
    """The offset for "earliest" is looked up once: a log that expires meanwhile lost nothing."""

    class Expiring(ModelCluster):
        def earliest(self, partitions: object) -> dict[TopicPartition, int]:
            del partitions
            first, end = self.logs[T0]
            self.logs[T0] = (first + 1, end)
            return {T0: first}

    assert ranges(Expiring(p0=10)) == ["t-0 [0, 10)"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"startingOffsets": '{"t":{"0":11}}'},
            "startingOffsets of t-0 is 11, which is after the end of its log: the log holds "
            "offsets from 4 up to 10, exclusive",
        ),
        ({"endingOffsets": '{"t":{"0":11}}'}, "endingOffsets of t-0 is 11, which is after the end"),
    ],
)
def test_offsets_after_the_log_end_are_refused(options: dict[str, str], message: str) -> None:
    """Offsets after the log's end are refused with the option's name and the log's offsets."""
    cluster = ModelCluster(p0=10)
    cluster.logs[T0] = (4, 10)
    with pytest.raises(ConfigError) as refused:
        ranges(cluster, options)
    assert message in str(refused.value)


def test_an_end_after_the_log_end_may_be_ignored() -> None:
    """With ``failOnDataLoss=false`` an end after the log's end means the log's end."""
    cluster = ModelCluster(p0=10)
    options = {"endingOffsets": '{"t":{"0":11}}', "failOnDataLoss": "false"}
    assert ranges(cluster, options) == ["t-0 [0, 10)"]


def test_expired_offsets_are_reported_or_skipped() -> None:
    """Expired offsets are an error, or skipped with ``failOnDataLoss=false``."""
    cluster = ModelCluster(p0=10)
    cluster.logs[T0] = (4, 10)
    start = '{"t":{"0":2}}'
    with pytest.raises(OffsetsLost, match=r"t-0 \[2, 4\) is lost: the log begins at 4"):
        ranges(cluster, {"startingOffsets": start})
    going_on = {"startingOffsets": start, "failOnDataLoss": "false"}
    assert ranges(cluster, going_on) == ["t-0 [4, 10)"]


def test_a_group_after_the_log_end_means_that_the_topic_was_recreated() -> None:
    """A committed offset after the log's end means that the topic was recreated.

    All its messages are new to the group then.
    """
    cluster = ModelCluster(p0=10, p1=10)
    committed = {T0: 7, T1: 500}
    with pytest.raises(OffsetsLost, match="recreated"):
        ranges(cluster, {"startingOffsets": "group"}, committed)
    found = ranges(cluster, {"startingOffsets": "group", "failOnDataLoss": "false"}, committed)
    assert found == ["t-0 [7, 10)", "t-1 [0, 10)"]


def test_an_end_before_the_start_leaves_nothing_to_read() -> None:
    """An end by time before the group's offset leaves nothing to read, and is no data loss."""
    cluster = ModelCluster(p0=10)
    cluster.times[T0] = 3
    options = {"startingOffsets": "group", "endingTimestamp": "1000"}
    assert ranges(cluster, options, {T0: 7}) == []
    assert ranges(cluster, options, {T0: 1}) == ["t-0 [1, 3)"]


class GrowingCluster(ModelCluster):
    """A cluster whose logs grow by nine messages after the first lookup of their ends."""

    def latest(
        self,
        partitions: Sequence[TopicPartition],
        *,
        known: Mapping[TopicPartition, int] | None = None,
    ) -> dict[TopicPartition, int]:
        found = super().latest(partitions, known=known)
        self.logs[T0] = (0, 19)
        return found


@pytest.mark.parametrize(
    ("options", "read"),
    [
        ({"startingOffsets": "group"}, ["t-0 [17, 19)"]),
        (
            {"startingTimestamp": "5", "startingOffsetsByTimestampStrategy": "latest"},
            ["t-0 [18, 19)"],
        ),
        ({"endingTimestamp": "5"}, ["t-0 [0, 18)"]),
        ({"startingOffsets": "group", "endingTimestamp": "5"}, ["t-0 [17, 18)"]),
        ({"startingOffsets": '{"t":{"0":15}}'}, ["t-0 [15, 19)"]),
    ],
)
def test_a_log_that_grows_during_the_lookup_lost_nothing(
    options: dict[str, str], read: list[str]
) -> None:
    """Times and committed offsets may lie after a log end that was read a moment before."""
    cluster = GrowingCluster(p0=10)
    cluster.times[T0] = 18
    assert ranges(cluster, options, {T0: 17}) == read


def test_tasks_have_all_that_an_executor_needs() -> None:
    """A task has its range, the leader, brokers that know another leader, and the settings."""
    options = batch({"maxRecordsPerPartition": "4", "failOnDataLoss": "false"})
    whole = OffsetRange(topic_partition=T0, from_offset=2, until_offset=10)
    tasks = input_partitions(options, ModelCluster(p0=10), [whole])
    assert [str(task.range_) for task in tasks] == ["t-0 [2, 6)", "t-0 [6, 10)"]
    assert {(task.leader, task.brokers) for task in tasks} == {(BROKER, (BROKER,))}
    assert not tasks[0].settings.fail_on_data_loss
    assert input_partitions(options, ModelCluster(p0=10), []) == []
