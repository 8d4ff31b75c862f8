"""The values of ``pyspark.streaming.kafka``, under the names that old programs use. Pure.

Source: Spark 2.4 ``pyspark.streaming.kafka`` (the 0-8 module, gone since Spark 3.0).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from zkconsumer.errors import ConfigError
from zkconsumer.fetch.range_settings import RangeSettings
from zkconsumer.net.security import PLAINTEXT
from zkconsumer.spark.address import BOOTSTRAP, ZOOKEEPER, ClusterAddress, read_address
from zkconsumer.spark.kafka_options import PREFIX, read_range_settings
from zkconsumer.spark.option_values import read_choice

Decoder = Callable[[bytes | None], Any]

BROKER_LIST = "metadata.broker.list"
OFFSET_RESET = "auto.offset.reset"
_POLL_TIMEOUT_MS = 120_000


def utf8_decoder(data: bytes | None) -> str | None:
    """Return a key or value as text; invalid UTF-8 fails the task, as in Spark 2."""
    return None if data is None else data.decode("utf-8")


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """A range of offsets of one partition, from ``fromOffset`` up to ``untilOffset``, exclusive."""

    topic: str
    partition: int
    fromOffset: int  # noqa: N815 - Spark's name
    untilOffset: int  # noqa: N815 - Spark's name

    def count(self) -> int:
        """Return the number of its offsets."""
        return self.untilOffset - self.fromOffset


@dataclass(frozen=True, slots=True)
class TopicAndPartition:
    """One partition of one topic."""

    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class Broker:
    """The address of a broker."""

    host: str
    port: int


class KafkaMessageAndMetadata:
    """A message with its position; key and value are decoded on access.

    Attributes:
        topic: its topic.
        partition: its partition.
        offset: its offset.
    """

    __slots__ = (
        "_key",
        "_key_decoder",
        "_message",
        "_value_decoder",
        "offset",
        "partition",
        "topic",
    )

    def __init__(  # noqa: PLR0913 - one argument a field; the decoders are ours
        self,
        topic: str,
        partition: int,
        offset: int,
        key: bytes | None,
        message: bytes | None,
        *,
        key_decoder: Decoder = utf8_decoder,
        value_decoder: Decoder = utf8_decoder,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self._key = key
        self._message = message
        self._key_decoder = key_decoder
        self._value_decoder = value_decoder

    @property
    def key(self) -> Any:
        """The key, decoded."""
        return self._key_decoder(self._key)

    @property
    def message(self) -> Any:
        """The value, decoded."""
        return self._value_decoder(self._message)

    def __repr__(self) -> str:
        return f"KafkaMessageAndMetadata({self.topic}-{self.partition} offset {self.offset})"


@dataclass(frozen=True, slots=True, kw_only=True)
class LegacyParams:
    """Settings parsed from ``kafkaParams``.

    Attributes:
        address: where the cluster is.
        settings: the settings for reading.
        from_smallest: whether a stream without offsets starts at the oldest message.
        lacks_security: whether security settings were removed; see ``without_secrets``.
    """

    address: ClusterAddress
    settings: RangeSettings
    from_smallest: bool
    lacks_security: bool = False

    def without_secrets(self) -> "LegacyParams":
        """Return a copy without security settings."""
        if self.address.broker_security == PLAINTEXT:
            return self
        address = replace(self.address, broker_security=PLAINTEXT)
        return replace(self, address=address, lacks_security=True)


def legacy_params(given: Mapping[str, str]) -> LegacyParams:
    """Read ``kafkaParams``: keys of Kafka 0.8, of which only those for reading have an effect.

    Raises:
        ConfigError: a parameter is missing or invalid; names the key.
    """
    params = {str(name): str(text) for name, text in given.items()}
    brokers = params.get(BROKER_LIST, params.get("bootstrap.servers"))
    if brokers is None and ZOOKEEPER not in params:
        raise ConfigError(
            f"kafkaParams name no cluster: set {BROKER_LIST} or bootstrap.servers to "
            f"host1:port1,host2:port2, or {ZOOKEEPER}"
        )
    options = {PREFIX + name: text for name, text in params.items()}
    if brokers is not None:
        options[BOOTSTRAP] = brokers
    if ZOOKEEPER in params:
        options[ZOOKEEPER] = params[ZOOKEEPER]
    reset = read_choice(OFFSET_RESET, params.get(OFFSET_RESET, "largest"), ("largest", "smallest"))
    return LegacyParams(
        address=read_address(options),
        settings=read_range_settings(
            options, poll_timeout_ms=_POLL_TIMEOUT_MS, fail_on_data_loss=True
        ),
        from_smallest=reset == "smallest",
    )
