"""Three brokers, one of which stores unreplicated offsets, so that tests can take it away."""

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.support.clusters import fresh_name
from tests.support.traffic import partitions_of
from zkconsumer.assignment.java_order import string_hash
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox

COORDINATOR_ID = 1
"""The broker that stores the offsets that are not replicated."""
OFFSET_PARTITIONS = 8
QUICK = {
    "zookeeper.session.timeout.ms": "2000",
    "replica.lag.time.max.ms": "2000",
    "offset.metadata.max.bytes": "100",
}
IN_KAFKA: Mapping[str, object] = {
    "offsets_storage": "kafka",
    "dual_commit_enabled": False,
    "offsets_channel_backoff_ms": 100,
}
"""Settings of a member that stores its offsets in Kafka only."""


@contextmanager
def coordinator_cluster() -> Iterator[Sandbox]:
    """Three brokers; the first half of the groups' offsets is replicated, the second is not."""
    with Sandbox(brokers=3, zookeeper_tick_ms=200, broker_properties=QUICK) as sandbox:
        half = OFFSET_PARTITIONS // 2
        sandbox.create_topic(
            "__consumer_offsets",
            assignment={
                number: [COORDINATOR_ID, 0, 2] if number < half else [COORDINATOR_ID]
                for number in range(OFFSET_PARTITIONS)
            },
        )
        yield sandbox


def fresh_group(*, replicated: bool) -> str:
    """Return a group whose offsets are in the replicated or in the unreplicated half."""
    names = (f"{fresh_name('group')}-{number}" for number in itertools.count())
    return next(
        name
        for name in names
        if (abs(string_hash(name)) % OFFSET_PARTITIONS < OFFSET_PARTITIONS // 2) is replicated
    )


def topic_elsewhere(three: Sandbox, coordinator_id: int = COORDINATOR_ID) -> list[TopicPartition]:
    """Create a topic without replicas on the broker with the offsets; return its partitions."""
    topic = fresh_name("elsewhere")
    others = [broker.id for broker in three.brokers if broker.id != coordinator_id]
    three.create_topic(
        topic, assignment={number: [broker_id] for number, broker_id in enumerate(others)}
    )
    return partitions_of(topic, len(others))
