"""The settings of a ``KafkaProducer``: read and checked once, and frozen."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from zkconsumer.config_security import JAVA_KEYS, by_our_names
from zkconsumer.config_spec import INT_MAX, ConfigKey
from zkconsumer.config_values import gathered, read_table
from zkconsumer.errors import ConfigError
from zkconsumer.net.bootstrap_servers import parse_bootstrap
from zkconsumer.net.client_settings import ClientSettings
from zkconsumer.net.security import security_in
from zkconsumer.printable import shown
from zkconsumer.produce.producer_keys import BY_KEY, INERT, KEYS, OBJECTS, REFUSED
from zkconsumer.produce.send_queue import QueueLimits
from zkconsumer.produce.settings import ACKS_ALL, ACKS_LEADER, BatchSettings
from zkconsumer.records.codecs import Codec, compress
from zkconsumer.serializer import Headers

Serialize = Callable[[str, Headers, object], bytes | None]
"""Serializes a key or a value; called with the topic and the headers, too."""

Partitioner = Callable[[bytes | None, list[int], list[int]], int]
"""Chooses a partition; called with a key's bytes, all partitions, and those with a leader."""

_KNOWN: Final = frozenset((*BY_KEY, *OBJECTS, *JAVA_KEYS, *INERT))
_ACKS: Final = {"all": ACKS_ALL, "1": ACKS_LEADER}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerConfig:
    """The settings of one producer.

    Attributes:
        client: the settings of connections.
        batches: the settings of batches and retries.
        limits: the limits of the queue.
        serialize_key: serializes keys.
        serialize_value: serializes values.
        partitioner: chooses partitions; None: as the Java client does.
        max_block_ms: how long ``send`` may wait.
        bootstrap_timeout_ms: how long to look for a first broker; 0: not at all.
        metadata_max_age_ms: how long the partitions of a topic are cached.
        creates_topics: whether brokers may create missing topics.
        serializers: the given serializers, to be closed with the producer.
    """

    client: ClientSettings
    batches: BatchSettings
    limits: QueueLimits
    serialize_key: Serialize
    serialize_value: Serialize
    partitioner: Partitioner | None
    max_block_ms: int
    bootstrap_timeout_ms: int
    metadata_max_age_ms: int
    creates_topics: bool
    serializers: tuple[object, ...]


def read_producer_config(
    config: Mapping[str, object] | None, settings: Mapping[str, object]
) -> ProducerConfig:
    """Read the settings of a producer.

    Args:
        config: settings by their keys, with dots or underscores; None: none.
        settings: the same as keyword arguments, which take precedence. None counts as not given.

    Raises:
        ConfigError: a setting is unknown, invalid, or contradicts another one.
    """
    given = by_our_names(gathered(config, settings, _KNOWN, refused=REFUSED))
    values = _Values(given)
    idempotent = values.flag("enable.idempotence")
    acks = _ACKS[values.text("acks")]
    if idempotent and acks != ACKS_ALL and given.get("enable.idempotence"):
        raise ConfigError("enable_idempotence needs acks='all'")
    key, value = given.get("key.serializer"), given.get("value.serializer")
    client = values.client(given)
    return ProducerConfig(
        client=client,
        batches=BatchSettings(
            acks=acks,
            timeout_ms=client.timeout_ms,
            retries=values.number("retries"),
            backoff_ms=values.number("retry.backoff.ms"),
            codec=_codec(values),
            set_bytes=max(1, values.number("batch.size")),
            request_bytes=values.number("max.request.size"),
            idempotent=idempotent,
        ),
        limits=_queue_limits(values),
        serialize_key=_serializer("key_serializer", key),
        serialize_value=_serializer("value_serializer", value),
        partitioner=_partitioner(given.get("partitioner")),
        max_block_ms=values.number("max.block.ms"),
        bootstrap_timeout_ms=values.number("bootstrap.timeout.ms"),
        metadata_max_age_ms=values.number("metadata.max.age.ms"),
        creates_topics=values.flag("allow.auto.create.topics"),
        serializers=(key, value),
    )


class _Values:
    """Holds the values of the table's settings, including defaults."""

    def __init__(self, given: Mapping[str, object]) -> None:
        self._values = read_table(KEYS, given, _plain)

    def text(self, key: str) -> str:
        return str(self._values[key])

    def number(self, key: str) -> int:
        value = self._values[key]
        assert isinstance(value, int)
        return value

    def flag(self, key: str) -> bool:
        return self._values[key] is True

    def client(self, given: Mapping[str, object]) -> ClientSettings:
        context: Any = given.get("ssl.context")
        return ClientSettings(
            client_id=self.text("client.id"),
            timeout_ms=self.number("request.timeout.ms"),
            bootstrap=parse_bootstrap("bootstrap_servers", self.text("bootstrap.servers")),
            security=security_in(
                self._values,
                ssl_context=context,
                token_provider=given.get("sasl.oauth.token.provider"),
            ),
        )


def _queue_limits(values: _Values) -> QueueLimits:
    linger_ms, timeout_ms = values.number("linger.ms"), values.number("delivery.timeout.ms")
    if linger_ms >= timeout_ms:
        raise ConfigError(
            "linger_ms must be less than delivery_timeout_ms, or records would fail before the "
            "first attempt"
        )
    return QueueLimits(
        batch_size=values.number("batch.size"),
        linger_ms=linger_ms,
        buffer_memory=values.number("buffer.memory"),
        delivery_timeout_ms=timeout_ms,
    )


def _codec(values: _Values) -> Codec:
    """Return the codec of batches; if its library is missing, raise now, not when sending."""
    codec = Codec[values.text("compression.type").upper()]
    if codec is not Codec.NONE:
        compress(codec, b"", magic=1 if codec is not Codec.ZSTD else 2)
    return codec


def _plain(spec: ConfigKey, raw: object) -> object:
    """Return a value in the table's form, from other forms that kafka-python accepts."""
    if spec.key == "bootstrap.servers" and isinstance(raw, list | tuple):
        return ",".join(map(str, raw))
    if spec.key == "acks":
        if str(raw) == "0":
            raise ConfigError("acks=0: a record that is lost would go unnoticed; give 1 or 'all'")
        return str(raw)
    if spec.kind == "int" and isinstance(raw, float):
        return INT_MAX if raw == math.inf else math.ceil(raw) if math.isfinite(raw) else raw
    return raw


def _serializer(name: str, given: Any) -> Serialize:
    """Return a serializer as a function; None passes bytes through."""
    if given is None:
        return lambda _topic, _headers, data: data  # type: ignore[return-value]  # checked later
    method = getattr(given, "serialize", None)
    if callable(method):
        return _null_stays_null(method)
    if not callable(given):
        raise ConfigError(f"{name} is {shown(given)}: give a function or a Serializer")
    return _null_stays_null(lambda _topic, _headers, data: given(data))


def _null_stays_null(serialize: Serialize) -> Serialize:
    """Wrap a serializer so that null stays null, as with a consumer's deserializers."""

    def serialized(topic: str, headers: Headers, data: object) -> bytes | None:
        try:
            return serialize(topic, headers, data)
        except (TypeError, AttributeError):
            if data is None:
                return None
            raise

    return serialized


def _partitioner(given: Any) -> Partitioner | None:
    if given is None or callable(given):
        chosen: Partitioner | None = given
        return chosen
    raise ConfigError(
        f"partitioner is {shown(given)}: give a function of the key's bytes, of all partitions and "
        "of those that have a leader"
    )
