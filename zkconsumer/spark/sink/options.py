"""The options of a query that writes, read and checked once, on the driver.

``topic`` and ``kafka.*`` work as in Spark's own Kafka sink; the names of Kafka 0.8's Scala producer
work as well. Case does not matter in names.

Source: Spark 4.2 ``KafkaSourceProvider`` (``kafkaParamsForProducer``), Kafka 0.8.2.2
``ProducerConfig`` of both producers.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from zkconsumer.errors import ConfigError
from zkconsumer.net.client_settings import ClientSettings
from zkconsumer.printable import shown
from zkconsumer.produce.partitioner import DEFAULT_PARTITIONER, PARTITIONER_OPTION, key_hash
from zkconsumer.produce.settings import ACKS_ALL, ACKS_LEADER, BatchSettings
from zkconsumer.records.codecs import Codec
from zkconsumer.spark.address import BOOTSTRAP, ClusterAddress, read_address
from zkconsumer.spark.kafka_options import ALIASES, CLIENT_ID, check_kafka
from zkconsumer.spark.option_values import first_given, read_choice, read_first_int
from zkconsumer.spark.options import by_lower_case
from zkconsumer.topic_name import is_topic_name

TOPIC = "topic"
ACKS = ("kafka.acks", "kafka.request.required.acks")
RETRIES = ("kafka.retries", "kafka.message.send.max.retries")
BACKOFF_MS = ("kafka.retry.backoff.ms",)
TIMEOUT_MS = ("kafka.request.timeout.ms", "kafka.timeout.ms")
COMPRESSION = ("kafka.compression.type", "kafka.compression.codec")
SET_BYTES = ("kafka.batch.size",)
DEFAULT_CLIENT_ID = "zkconsumer-spark-sink"

DEFAULT_RETRIES = 60
DEFAULT_BACKOFF_MS = 500
"""With all retries half a minute in total: a dead broker is replaced after its session (6 s)."""

_EFFECTIVE = frozenset(
    {
        BOOTSTRAP,
        CLIENT_ID,
        PARTITIONER_OPTION,
        *ALIASES,
        *ACKS,
        *RETRIES,
        *BACKOFF_MS,
        *TIMEOUT_MS,
        *COMPRESSION,
        *SET_BYTES,
    }
)
_BYTES = "it is not supported: key and value are written as they are, as bytes or as UTF-8"
_REFUSED = {
    "kafka.key.serializer": _BYTES,
    "kafka.value.serializer": _BYTES,
    "kafka.serializer.class": _BYTES,
    "kafka.key.serializer.class": _BYTES,
    "kafka.producer.type": "it is not supported: rows are always acknowledged before a task ends",
    "kafka.transactional.id": "it is not supported: brokers before 0.11 have no transactions",
    "kafka.interceptor.classes": "it is not supported: an interceptor could change messages",
}
_CODECS = {"none": Codec.NONE, "gzip": Codec.GZIP, "snappy": Codec.SNAPPY, "lz4": Codec.LZ4}


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkOptions:
    """All options of one query that writes.

    Attributes:
        address: where the cluster is.
        client: the settings of connections.
        topic: the topic of all rows; None: the ``topic`` column decides.
        partitioner: the class name of the original's partitioner.
        batch: the settings for writing.
        notes: notes for the user, which are logged once.
    """

    address: ClusterAddress
    client: ClientSettings
    topic: str | None
    partitioner: str
    batch: BatchSettings
    notes: tuple[str, ...] = ()


def sink_options(options: Mapping[str, str]) -> SinkOptions:
    """Read the options of a query that writes.

    Raises:
        ConfigError: an option is unsupported or invalid; names it.
    """
    given = by_lower_case(options)
    notes = check_kafka(given, _REFUSED, _EFFECTIVE, "when writing")
    topic = given.get(TOPIC)
    if topic is not None and not is_topic_name(topic):
        raise ConfigError(f"{TOPIC} is {shown(topic)}: that is no topic's name")
    partitioner = given.get(PARTITIONER_OPTION, DEFAULT_PARTITIONER).strip()
    key_hash(partitioner)
    address, batch = read_address(given), _batch_settings(given)
    return SinkOptions(
        address=address,
        client=ClientSettings(
            client_id=given.get(CLIENT_ID, DEFAULT_CLIENT_ID),
            timeout_ms=batch.timeout_ms,
            security=address.broker_security,
        ),
        topic=topic,
        partitioner=partitioner,
        batch=batch,
        notes=notes,
    )


def _batch_settings(given: Mapping[str, str]) -> BatchSettings:
    usual = BatchSettings()
    name, text = first_given(given, COMPRESSION, "none")
    return BatchSettings(
        acks=_acks(given),
        timeout_ms=read_first_int(given, TIMEOUT_MS, usual.timeout_ms, low=1),
        retries=read_first_int(given, RETRIES, DEFAULT_RETRIES, low=0),
        backoff_ms=read_first_int(given, BACKOFF_MS, DEFAULT_BACKOFF_MS, low=0),
        codec=_CODECS[read_choice(name, text, tuple(_CODECS))],
        set_bytes=read_first_int(given, SET_BYTES, usual.set_bytes, low=1),
    )


def _acks(given: Mapping[str, str]) -> int:
    name, text = first_given(given, ACKS, "all")
    match text.strip().lower():
        case "all" | "-1":
            return ACKS_ALL
        case "1":
            return ACKS_LEADER
        case _:
            raise ConfigError(
                f"{name} is {shown(text)}: it must be all, -1 or 1; without acknowledgements a row "
                "that is lost would go unnoticed"
            )
