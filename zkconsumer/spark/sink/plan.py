"""Plans a writing query on the driver, before any task starts."""

import logging
from collections.abc import Mapping

from pyspark.sql.types import StructType

from zkconsumer.errors import ConfigError
from zkconsumer.spark.cluster_reader import ClusterReader
from zkconsumer.spark.sink.options import TOPIC, sink_options
from zkconsumer.spark.sink.rows import sink_columns
from zkconsumer.spark.sink.task import SinkPlan
from zkconsumer.spark.subscription import TopicPattern

log = logging.getLogger(__name__)


def sink_plan(options: Mapping[str, str], schema: StructType) -> SinkPlan:
    """Check all that can be checked without the rows, and find the brokers.

    Args:
        options: the options of the query.
        schema: the schema of the rows.

    Raises:
        ConfigError: an option or a column is wrong, or the topic of the option does not exist.
        TransportError: no broker responds.
        RegistryError: ZooKeeper is needed to find brokers, and does not respond.
    """
    chosen = sink_options(options)
    columns = sink_columns(schema, topic=chosen.topic)
    for note in chosen.notes:
        log.warning("%s", note)
    client = chosen.client
    with ClusterReader(
        chosen.address, client_id=client.client_id, timeout_ms=client.timeout_ms
    ) as reader:
        if chosen.topic is not None:
            _see_topic(reader, chosen.topic)
        brokers = reader.brokers()
    return SinkPlan(
        brokers=brokers,
        client=client,
        topic=chosen.topic,
        columns=columns,
        partitioner=chosen.partitioner,
        batch=chosen.batch,
    )


def _see_topic(reader: ClusterReader, topic: str) -> None:
    # A pattern of just the name: it never matches Kafka's internal topics, and the dot is the only
    # special character in a topic's name.
    if not reader.partitions(TopicPattern(topic.replace(".", "[.]"))):
        raise ConfigError(
            f"{TOPIC}: the cluster has no topic {topic} to write to: check the spelling, or create "
            "it first"
        )
