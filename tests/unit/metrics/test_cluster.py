"""The metrics of a cluster."""

from dataclasses import replace

import pytest

from tests.support.metered import NOW_MS, lags, samples_of, small_view, value, verdicts
from zkconsumer.metrics import measured
from zkconsumer.metrics.cluster import (
    ALWAYS_MEASURES,
    CLUSTER_MEASURES,
    ClusterMeasures,
    cluster_families,
)
from zkconsumer.metrics.families import Measure
from zkconsumer.metrics.measured import Detail, Measured
from zkconsumer.status.lag import GroupLag
from zkconsumer.status.model import BrokersAlone, ClusterSnapshot, GroupKey, GroupKind

SAMPLES = samples_of(cluster_families(small_view()))


@pytest.mark.parametrize(
    ("name", "labels", "expected"),
    [
        ("kafka_brokers", {}, 1),
        ("kafka_broker_info", {"id": "0", "address": "b0:9092"}, 1),
        ("kafka_topic_partitions", {"topic": "t"}, 2),
        ("kafka_topic_partition_current_offset", {"topic": "t", "partition": "0"}, 100),
        ("kafka_topic_partition_oldest_offset", {"topic": "t", "partition": "0"}, 5),
        ("kafka_topic_partition_leader", {"topic": "t", "partition": "0"}, 0),
        ("kafka_topic_partition_replicas", {"topic": "t", "partition": "1"}, 2),
        ("kafka_topic_partition_in_sync_replica", {"topic": "t", "partition": "0"}, 1),
        ("kafka_topic_partition_leader_is_preferred", {"topic": "t", "partition": "0"}, 1),
        ("kafka_topic_partition_leader_is_preferred", {"topic": "u", "partition": "0"}, 0),
        ("kafka_topic_partition_under_replicated_partition", {"topic": "t", "partition": "0"}, 1),
        ("kafka_topic_partition_under_replicated_partition", {"topic": "u", "partition": "0"}, 0),
    ],
)
def test_topics_and_brokers_have_the_names_of_kafka_exporter(
    name: str, labels: dict[str, str], expected: float
) -> None:
    """Names and labels are those in kafka_exporter's source."""
    assert value(SAMPLES, name, **labels) == expected


def test_groups_of_both_kinds_differ_by_a_label() -> None:
    """Both kinds may use the same id; of a group with two offsets the larger one counts."""
    zookeeper = {"consumergroup": "g", "kind": "zookeeper"}
    coordinator = {"consumergroup": "g", "kind": "coordinator"}
    t0, u0 = {"topic": "t", "partition": "0"}, {"topic": "u", "partition": "0"}
    offset, lag = "kafka_consumergroup_current_offset", "kafka_consumergroup_lag"
    assert value(SAMPLES, offset, **zookeeper, **t0) == 70
    assert value(SAMPLES, offset, **coordinator, **u0) == 4
    assert (value(SAMPLES, lag, **zookeeper, **t0), value(SAMPLES, lag, **zookeeper, **u0)) == (
        30,
        0,
    )
    assert value(SAMPLES, lag, **coordinator, **u0) == 6
    assert value(SAMPLES, f"{lag}_sum", **zookeeper, topic="t") == 30
    assert value(SAMPLES, f"{offset}_sum", **zookeeper, topic="t") == 70
    assert value(SAMPLES, "kafka_consumergroup_members", **zookeeper) == 1
    alone = SAMPLES["kafka_consumergroupzookeeper_lag_zookeeper"]
    assert alone == {
        (("consumergroup", "g"), ("partition", "0"), ("topic", "t")): 40,
        (("consumergroup", "g"), ("partition", "0"), ("topic", "u")): 0,
    }


def test_an_unknown_value_has_no_sample() -> None:
    """It is neither -1, which spoils sums, nor 0, which would look healthy."""
    for name in (
        "kafka_topic_partition_current_offset",
        "kafka_topic_partition_leader",
        "kafka_consumergroup_lag",
        "kafka_consumergroup_current_offset",
        "kafka_consumergroup_group_lag_seconds",
    ):
        assert SAMPLES[name]
        assert not [labels for labels in SAMPLES[name] if ("partition", "1") in labels], name
    assert value(SAMPLES, "zkconsumer_group_unknown_lags", consumergroup="g", kind="zookeeper") == 1
    assert value(SAMPLES, "zkconsumer_unknown_log_ends") == 1
    assert value(SAMPLES, "zkconsumer_leaderless_partitions") == 1


def test_lag_in_time_names_the_member() -> None:
    """Labels name the member that owns the partition, as in kafka-lag-exporter."""
    of_partition = SAMPLES["kafka_consumergroup_group_lag_seconds"]
    labels = {
        "cluster_name": "zk:2181/x",
        "group": "g",
        "topic": "t",
        "partition": "0",
        "member_host": "",
        "consumer_id": "g_h-1-abc",
        "client_id": "",
        "kind": "zookeeper",
    }
    assert of_partition[tuple(sorted(labels.items()))] == 4.5
    of_group = {"cluster_name": "zk:2181/x", "group": "g", "kind": "zookeeper"}
    assert value(SAMPLES, "kafka_consumergroup_group_max_lag_seconds", **of_group) == 4.5
    assert value(SAMPLES, "kafka_consumergroup_group_max_lag", **of_group) == 30
    assert value(SAMPLES, "kafka_consumergroup_group_sum_lag", **of_group) == 30
    assert len(SAMPLES["kafka_consumergroup_group_max_lag_seconds"]) == 1


def test_burrows_status_numbers_are_used() -> None:
    """A group with a stopped partition (4) is ERR (3)."""
    of_group = {"cluster": "zk:2181/x", "consumer_group": "g", "kind": "zookeeper"}
    assert value(SAMPLES, "burrow_kafka_consumer_status", **of_group) == 3
    assert value(SAMPLES, "burrow_kafka_consumer_lag_total", **of_group) == 30
    of_partition = {**of_group, "topic": "t", "partition": "0"}
    assert value(SAMPLES, "burrow_kafka_topic_partition_status", **of_partition) == 4


def test_every_part_has_its_age() -> None:
    """The age of a part is that of its oldest value."""
    ages = {
        dict(labels)["part"]: age
        for labels, age in SAMPLES["zkconsumer_snapshot_age_seconds"].items()
    }
    zookeeper_age = NOW_MS / 1000  # a group that was seen at 0
    assert ages == {
        "snapshot": 100,
        "brokers": 100,
        "topics": 101,
        "log_ends": 104,
        "groups": zookeeper_age,
        "offsets": 109,
    }
    assert value(SAMPLES, "zkconsumer_part_failure_seconds", part="log ends of broker 1") == 150
    assert value(SAMPLES, "zkconsumer_clock_skew_seconds") == -0.25


def test_groups_have_states_problems_and_orphans() -> None:
    """A partition that a member reads and nobody owns is an orphan; others are not."""
    coordinator = {"consumergroup": "g", "kind": "coordinator"}
    assert value(SAMPLES, "zkconsumer_group_state", **coordinator, state="stable") == 1
    assert value(SAMPLES, "zkconsumer_group_problems", **coordinator) == 1
    orphans = "zkconsumer_group_orphan_partitions"
    assert value(SAMPLES, orphans, consumergroup="g", kind="zookeeper") == 1
    assert value(SAMPLES, orphans, **coordinator) == 0


def test_partitions_of_groups_can_be_left_out() -> None:
    """Sums and states of groups remain."""
    samples = samples_of(cluster_families(small_view(Detail.GROUPS)))
    left_out = {measure.name for measure in CLUSTER_MEASURES if measure.per_partition}
    assert samples.keys() == SAMPLES.keys() - left_out
    assert "kafka_consumergroup_lag_sum" in samples


def test_very_many_partitions_of_groups_are_left_out_by_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They are exported all the same if they were requested."""
    monkeypatch.setattr(measured, "MOST_GROUP_PARTITIONS", 3)
    samples = samples_of(cluster_families(small_view()))
    assert samples == samples_of(cluster_families(small_view(Detail.GROUPS)))
    assert samples_of(cluster_families(small_view(Detail.PARTITIONS))) == SAMPLES
    monkeypatch.setattr(measured, "MOST_GROUP_PARTITIONS", 4)
    assert samples_of(cluster_families(small_view())) == SAMPLES


def test_a_cluster_that_was_never_read_only_has_a_sample_of_up() -> None:
    """A cluster that can't be read any more is down, too, but shows what is known."""
    view = small_view()
    nothing = replace(view, snapshot=None, read_ms=None, problem="ZooKeeper does not answer")
    assert samples_of(cluster_families(nothing)) == {"zkconsumer_up": {(): 0}}
    stale = samples_of(cluster_families(replace(view, problem="ZooKeeper does not answer")))
    assert stale == {**SAMPLES, "zkconsumer_up": {(): 0}}
    assert value(SAMPLES, "zkconsumer_up") == 1
    assert value(SAMPLES, "zkconsumer_snapshot_read_seconds") == 1.25


def test_an_empty_cluster_has_metrics_too() -> None:
    """Parts without values have no age."""
    empty = ClusterSnapshot(taken_ms=NOW_MS + 5_000, zookeeper_connect="zk")
    samples = samples_of(cluster_families(replace(small_view(), snapshot=empty)))
    assert samples["zkconsumer_snapshot_age_seconds"] == {(("part", "snapshot"),): 0}
    assert value(samples, "kafka_brokers") == 0


def test_groups_are_judged_once_each() -> None:
    """Judging a large cluster can take seconds."""
    requested: list[GroupKey] = []

    def lag(key: GroupKey) -> GroupLag:
        requested.append(key)
        return lags()[key]

    view = ClusterMeasures(
        snapshot=small_view().snapshot, lag=lag, verdict=verdicts().__getitem__, now_ms=NOW_MS
    )
    samples_of(cluster_families(view))
    assert len(requested) == 2


def test_names_are_unique_and_valid() -> None:
    """They follow Prometheus' rules, and ours: each has a description that is a sentence."""
    measures: list[Measure[ClusterMeasures] | Measure[Measured]] = [
        *ALWAYS_MEASURES,
        *CLUSTER_MEASURES,
    ]
    names = [measure.name for measure in measures]
    assert len(set(names)) == len(names)
    for measure in measures:
        assert measure.name.replace("_", "a").isalnum()
        assert measure.text.endswith(".")
        assert len(set(measure.labels)) == len(measure.labels)


@pytest.mark.parametrize(("no_zookeeper", "reported"), [(True, "none"), (False, "unknown")])
def test_a_cluster_without_zookeeper_is_labelled_so(no_zookeeper: bool, reported: str) -> None:
    """A label says what it is read through; metrics of ZooKeeper have no samples, not even 0."""
    view = small_view()
    assert view.snapshot is not None
    groups = {
        key: group
        for key, group in view.snapshot.groups.items()
        if key.kind is GroupKind.COORDINATOR
    }
    snapshot = replace(
        view.snapshot,
        zookeeper_connect=None,
        brokers_alone=BrokersAlone(bootstrap_servers="b:9092", no_zookeeper=no_zookeeper),
        groups=groups,
        clock_skew_ms=None,
    )
    seen = samples_of(cluster_families(replace(view, snapshot=snapshot)))
    info = {"read_through": "brokers", "zookeeper": reported}
    assert value(seen, "zkconsumer_cluster_info", **info) == 1
    assert value(seen, "zkconsumer_up") == 1
    assert "zkconsumer_clock_skew_seconds" not in seen
    assert "kafka_consumergroupzookeeper_lag_zookeeper" not in seen
    assert not [at for name in seen.values() for at in name if ("kind", "zookeeper") in at]
    with_zookeeper = {"read_through": "zookeeper", "zookeeper": "read"}
    assert value(SAMPLES, "zkconsumer_cluster_info", **with_zookeeper) == 1
