"""The metrics of a real cluster, compared with what is known about its group."""

import pytest

from tests.integration.status.test_reading import reading
from tests.support.clusters import fresh_name
from tests.support.members import settings_for
from tests.support.metered import Samples, read_exposition
from tests.support.traffic import write
from tests.support.waiting import wait_until
from zkconsumer import ZookeeperConsumerConnector
from zkconsumer.metrics.cluster import ClusterMeasures, cluster_families
from zkconsumer.metrics.text import exposition
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox
from zkconsumer.status.burrow import evaluate_group
from zkconsumer.status.lag import group_lag
from zkconsumer.status.model import ClusterSnapshot
from zkconsumer.status.series import History

pytestmark = pytest.mark.sandbox
RECORDS, READ = 7, 4


def page(snapshot: ClusterSnapshot, history: History) -> Samples:
    """Return what Prometheus reads."""
    now_ms = snapshot.taken_ms
    view = ClusterMeasures(
        snapshot=snapshot,
        lag=lambda key: group_lag(snapshot.groups[key], history, now_ms),
        verdict=lambda key: evaluate_group(snapshot.groups[key], history, now_ms),
        now_ms=now_ms,
    )
    return read_exposition(exposition(cluster_families(view)))


def values_of(samples: Samples, name: str, **wanted: str) -> list[float]:
    """Return the values of the samples with these labels."""
    return [
        value
        for labels, value in samples.get(name, {}).items()
        if wanted.items() <= dict(labels).items()
    ]


def test_a_zookeeper_group_has_all_metrics(cluster: Sandbox) -> None:
    """A live member's group has kafka_exporter's, the lag exporters', Burrow's and our metrics."""
    topic, group = fresh_name("metrics"), fresh_name("metered")
    cluster.create_topic(topic, partitions=2)
    for number in range(2):
        write(cluster, TopicPartition(topic, number), [b"value"] * RECORDS)
    config = settings_for(cluster, group, auto_commit_enable=False)
    history = History()
    with reading(cluster) as reader, ZookeeperConsumerConnector(config) as connector:
        [stream] = connector.create_message_streams({topic: 1})[topic]
        for _ in range(RECORDS + READ):
            next(stream)
        assert connector.commit_offsets() == 2

        def seen() -> Samples:
            snapshot = reader.read()
            history.record(snapshot)
            return page(snapshot, history)

        samples: Samples = {}

        def shown() -> bool:
            samples.update(seen())
            return len(values_of(samples, "kafka_consumergroup_lag", consumergroup=group)) == 2

        wait_until(shown, what="the group's lag")
        write(cluster, TopicPartition(topic, 0), [b"more"])
        wait_until(
            lambda: (
                values_of(
                    seen(),
                    "kafka_topic_partition_current_offset",
                    topic=topic,
                    partition="0",
                )
                == [RECORDS + 1]
            ),
            what="a longer log",
        )
        samples = seen()
    check_samples(samples, topic, group, connector.consumer_id)


def check_samples(samples: Samples, topic: str, group: str, consumer_id: str) -> None:
    """Check the samples for ``test_a_zookeeper_group_has_all_metrics``."""
    mine = {"consumergroup": group, "kind": "zookeeper"}
    assert sum(values_of(samples, "kafka_consumergroup_lag", **mine)) == RECORDS - READ + 1
    alone = values_of(samples, "kafka_consumergroupzookeeper_lag_zookeeper", consumergroup=group)
    assert sum(alone) == RECORDS - READ + 1
    [status] = values_of(samples, "burrow_kafka_consumer_status", consumer_group=group)
    partitions = values_of(samples, "burrow_kafka_topic_partition_status", consumer_group=group)
    assert status == min(3, max(partitions))
    assert len(partitions) == 2
    seconds = values_of(samples, "kafka_consumergroup_group_max_lag_seconds", group=group)
    assert len(seconds) == 1
    assert 0 < seconds[0] < 600
    who = {"group": group, "consumer_id": consumer_id}
    assert len(values_of(samples, "kafka_consumergroup_group_lag_seconds", **who)) >= 1
    for name, labels, values in (
        ("kafka_consumergroup_lag_sum", mine, [RECORDS - READ + 1]),
        ("kafka_consumergroup_current_offset_sum", mine, [RECORDS + READ]),
        ("kafka_consumergroup_members", mine, [1]),
        ("zkconsumer_group_state", {**mine, "state": "stable"}, [1]),
        ("zkconsumer_group_orphan_partitions", mine, [0]),
        ("kafka_topic_partitions", {"topic": topic}, [2]),
        ("kafka_topic_partition_oldest_offset", {"topic": topic}, [0, 0]),
        ("zkconsumer_up", {}, [1]),
    ):
        assert values_of(samples, name, **labels) == values, name
    ages = samples["zkconsumer_snapshot_age_seconds"]
    assert {dict(labels)["part"] for labels in ages} >= {"snapshot", "topics", "groups", "offsets"}
