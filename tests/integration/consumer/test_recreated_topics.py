"""Topics that are deleted and created again while a consumer polls, or while it is away.

The new log is longer than what was read of the former one, so no offset is out of range.
"""

import logging
from contextlib import closing
from typing import Any

import pytest

from tests.support.clusters import BrokerOf, fresh_name
from tests.support.kraft_topics import create_topic
from tests.support.matrix import in_matrix
from tests.support.waiting import wait_until
from zkconsumer import KafkaConsumer, TopicPartition
from zkconsumer.errors import LogTruncated
from zkconsumer.model import Record
from zkconsumer.produce.batch_producer import BatchProducer
from zkconsumer.sandbox import Sandbox
from zkconsumer.sandbox.broker_probe import request_view, response_to
from zkconsumer.sandbox.kraft import KraftNode
from zkconsumer.wire.messages.topic_admin import DeleteTopicsRequest

pytestmark = pytest.mark.sandbox
OLD = [b"old %d" % number for number in range(200)]
NEW = [b"new %d" % number for number in range(500)]
Settings = dict[str, Any]
_POLL_MS = 200
_DELETED_MS = 15_000


def settings_for(cluster: Sandbox | KraftNode, group: str, *, in_zookeeper: bool) -> Settings:
    """Return settings that read everything from the start, with automatic commits."""
    where: Settings = {"bootstrap_servers": cluster.bootstrap_servers}
    if in_zookeeper:
        assert isinstance(cluster, Sandbox)
        where = {"zookeeper_connect": cluster.zookeeper_connect}
    return {
        **where,
        "group_id": group,
        "auto_offset_reset": "earliest",
        "metadata_max_age_ms": 60_000,
        "auto_commit_interval_ms": 100,
    }


def fill(cluster: Sandbox | KraftNode, topic: str, values: list[bytes]) -> None:
    """Write values to the topic's only partition."""
    with closing(BatchProducer(_brokers(cluster))) as producer:
        tp = TopicPartition(topic, 0)
        producer.write({tp: [Record(0, None, value) for value in values]})


def _brokers(cluster: Sandbox | KraftNode) -> Any:
    return [cluster._node] if isinstance(cluster, KraftNode) else cluster.brokers


def create(cluster: Sandbox | KraftNode, topic: str) -> None:
    """Create a topic with one partition."""
    if isinstance(cluster, KraftNode):
        create_topic(cluster, topic)
    else:
        cluster.create_topic(topic)


def recreate(cluster: Sandbox | KraftNode, topic: str) -> None:
    """Delete the topic, create it again, and write ``NEW`` to it."""
    if isinstance(cluster, KraftNode):
        deletion = DeleteTopicsRequest(topic_names=(topic,), timeout_ms=_DELETED_MS)
        response = response_to(deletion, cluster._node, _DELETED_MS, version=1)
        assert response is not None
        assert [deleted_topic.error_code for deleted_topic in response.topics] == [0]

        def gone() -> bool:
            known = request_view(cluster._node)
            return known is not None and topic not in known.topics

        wait_until(gone, what="the deletion")
    else:
        cluster.delete_topic(topic)
    create(cluster, topic)
    fill(cluster, topic, NEW)


def former_topic(cluster: Any) -> str:
    """Create a topic with the values ``OLD``; return its name."""
    topic = fresh_name("again")
    create(cluster, topic)
    fill(cluster, topic, OLD)
    return topic


def read(consumer: KafkaConsumer, until: int) -> list[bytes | None]:
    """Poll until this many values came, and for a moment longer."""
    found: list[bytes | None] = []

    def poll() -> bool:
        for records in consumer.poll(_POLL_MS).values():
            found.extend(record.value for record in records)
        return len(found) >= until

    wait_until(poll, what=f"{until} records", timeout_s=40)
    for _ in range(5):
        poll()
    return found


def warnings_of(caplog: pytest.LogCaptureFixture, topic: str) -> list[str]:
    """Return the warnings about a topic that was created again."""
    return [
        record.getMessage()
        for record in caplog.records
        if record.levelno == logging.WARNING
        and f"topic {topic} was deleted" in record.getMessage()
        and "these offsets are those of the former topic" in record.getMessage()
    ]


def of_version(broker_of: BrokerOf, request: pytest.FixtureRequest, version: str) -> Any:
    """Give a broker of this version; ``4`` is the one without ZooKeeper."""
    return request.getfixturevalue("kraft") if version == "4" else broker_of(version)


@pytest.mark.parametrize("version", ["0.8.2.2", "2.8.2"])
def test_a_zookeeper_group_that_was_away_reads_the_new_topic(
    broker_of: BrokerOf, caplog: pytest.LogCaptureFixture, version: str
) -> None:
    """One warning names the group, topic, partition and former offset."""
    cluster, group = broker_of(version), fresh_name("group")
    topic = former_topic(cluster)
    settings = settings_for(cluster, group, in_zookeeper=True)
    with KafkaConsumer(topic, **settings) as consumer:
        assert read(consumer, 200) == OLD
    recreate(cluster, topic)
    with KafkaConsumer(topic, **settings) as consumer:
        assert read(consumer, 500) == NEW
    (warning,) = warnings_of(caplog, topic)
    assert f"group {group}: topic {topic}" in warning
    assert "partition 0: 200" in warning
    with KafkaConsumer(topic, **settings) as consumer:
        fill(cluster, topic, [b"next"])
        assert read(consumer, 1) == [b"next"]


@pytest.mark.parametrize("version", ["0.8.2.2", "2.8.2"])
def test_a_zookeeper_group_that_polls_reads_the_new_topic(
    broker_of: BrokerOf, caplog: pytest.LogCaptureFixture, version: str
) -> None:
    """Either the ZooKeeper watch or the topic's id may show the change first."""
    cluster, group = broker_of(version), fresh_name("group")
    topic = former_topic(cluster)
    with KafkaConsumer(topic, **settings_for(cluster, group, in_zookeeper=True)) as consumer:
        assert read(consumer, 200) == OLD
        recreate(cluster, topic)
        found = read(consumer, 500)
        # Brokers with topic ids show the change, too, and perhaps after ZooKeeper.
        assert found[-500:] == NEW
        assert version == "2.8.2" or found == NEW
    warnings = warnings_of(caplog, topic)
    assert all(f"group {group}: topic {topic}" in warning for warning in warnings)
    assert len(warnings) == 1 or version == "2.8.2"


def test_assigned_partitions_with_zookeeper_offsets_read_the_new_topic(
    broker_of: BrokerOf, caplog: pytest.LogCaptureFixture
) -> None:
    """The former topic's committed offset is ignored with a warning."""
    cluster, group = broker_of("0.8.2.2"), fresh_name("group")
    topic = former_topic(cluster)
    settings = settings_for(cluster, group, in_zookeeper=True)
    with KafkaConsumer(**settings) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        assert read(consumer, 200) == OLD
    recreate(cluster, topic)
    with KafkaConsumer(**settings) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        assert read(consumer, 500) == NEW
    assert len(warnings_of(caplog, topic)) == 1


@in_matrix("version", ["0.10.2.2", "1.1.1", "2.8.2", "3.9.1", "4"], ["0.10.2.2", "2.8.2", "4"])
def test_a_coordinators_group_that_was_away_reads_the_new_topic(
    broker_of: BrokerOf, request: pytest.FixtureRequest, version: str
) -> None:
    """The brokers delete the committed offsets of a topic that is deleted."""
    cluster = of_version(broker_of, request, version)
    topic, group = former_topic(cluster), fresh_name("group")
    settings = settings_for(cluster, group, in_zookeeper=False)
    with KafkaConsumer(topic, **settings) as consumer:
        assert read(consumer, 200) == OLD
    recreate(cluster, topic)
    with KafkaConsumer(topic, **settings) as consumer:
        assert read(consumer, 500) == NEW


@in_matrix("version", ["2.8.2", "3.9.1", "4"], ["2.8.2", "3.9.1"])
def test_a_coordinators_group_that_polls_reads_the_new_topic(
    broker_of: BrokerOf,
    request: pytest.FixtureRequest,
    caplog: pytest.LogCaptureFixture,
    version: str,
) -> None:
    """The topic's id shows the change; one warning names the group, topic, partition and offset."""
    cluster = of_version(broker_of, request, version)
    topic, group = former_topic(cluster), fresh_name("group")
    with KafkaConsumer(topic, **settings_for(cluster, group, in_zookeeper=False)) as consumer:
        assert read(consumer, 200) == OLD
        recreate(cluster, topic)
        found = read(consumer, 500)
        # Fetch 13 has the topic's id; 2.8 lacks it, so some of the log's tail may come first.
        assert found[-500:] == NEW
        assert version == "2.8.2" or found == NEW
    (warning,) = warnings_of(caplog, topic)
    assert f"group {group}: topic {topic}" in warning
    # Without ids in requests, an offset that is out of the new log's range may be reset before.
    assert version == "2.8.2" or "partition 0: 200" in warning


def test_without_a_reset_policy_a_recreated_topic_is_an_error(
    broker_of: BrokerOf, caplog: pytest.LogCaptureFixture
) -> None:
    """With ``none`` the caller decides where to continue."""
    cluster = broker_of("3.9.1")
    topic = former_topic(cluster)
    tp = TopicPartition(topic, 0)
    settings = {
        **settings_for(cluster, fresh_name("group"), in_zookeeper=False),
        "auto_offset_reset": "none",
        "enable_auto_commit": False,
    }
    with KafkaConsumer(**settings) as consumer:
        consumer.assign([tp])
        consumer.seek(tp, 0)
        assert read(consumer, 200) == OLD
        recreate(cluster, topic)
        with pytest.raises(LogTruncated):
            read(consumer, 1)
        consumer.seek_to_beginning(tp)
        assert read(consumer, 500) == NEW
    assert len(warnings_of(caplog, topic)) == 1
