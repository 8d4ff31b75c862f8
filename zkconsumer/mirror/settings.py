"""Reads the settings of a mirror, also from the original's configuration files. Pure.

Source: Kafka 0.8.2.2 and 0.9 ``MirrorMaker``; ``ConsumerConfig`` and ``ProducerConfig``.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from zkconsumer.assignment.filters import Blacklist, Whitelist
from zkconsumer.config_keys import BY_KEY as STREAM_KEYS
from zkconsumer.config_security import SECURITY_PREFIXES
from zkconsumer.consumer.settings.keys import BY_KEY as POLL_KEYS
from zkconsumer.errors import ConfigError
from zkconsumer.mirror.routing import Partitioning
from zkconsumer.net.client_settings import ClientSettings, read_client_settings
from zkconsumer.produce.settings import BatchSettings
from zkconsumer.records.codecs import Codec

log = logging.getLogger(__name__)

DEFAULT_COMMIT_INTERVAL_MS: Final = 10_000
CLIENT_ID: Final = "zkconsumer-mirror"
BATCH_RECORDS: Final = 50_000

_RENAMED: Final = {
    "fetch.wait.max.ms": "fetch.max.wait.ms",
    "fetch.message.max.bytes": "max.partition.fetch.bytes",
    "socket.timeout.ms": "request.timeout.ms",
    "socket.receive.buffer.bytes": "receive.buffer.bytes",
}
"""Settings of the original's consumer with another name in the poll API."""

_OURS: Final = frozenset(
    {"auto.commit.enable", "enable.auto.commit", "auto.commit.interval.ms", "consumer.timeout.ms"}
)
"""Settings that the mirror itself determines."""

_STREAMS_ONLY: Final = frozenset(
    {"delivery", "poison.policy", "poison.dead.letter.file", "serializer.encoding"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSettings:
    """How messages are written to the target; always with ``acks=-1``.

    Attributes:
        client: bootstrap servers, security, and the time limit of an acknowledgement.
        batches: how they are written, except for the retries.
        retries: the maximum number of retries of a set after transient errors; None: unlimited.
    """

    client: ClientSettings
    batches: BatchSettings = field(default_factory=lambda: BatchSettings(idempotent=True))
    retries: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorSettings:
    """The settings of a mirror.

    Attributes:
        topics: selects the topics, existing and future ones.
        consumers: the settings of ``KafkaConsumer`` for each source cluster; ``repr`` hides them.
        streams: the number of members of the group for each source.
        target: the settings of the target.
        partitioning: how partitions are chosen.
        topic_prefix: prepended to the topics' names in the target.
        create_topics: whether to create topics that the target lacks.
        replication: the replication factor of created topics; None: the target's default, if it
            has one.
        with_headers: whether to keep headers.
        batch_records: the maximum number of messages pending per stream.
        commit_interval_ms: the interval between commits.
        abort_on_send_failure: whether to stop at a message that the target will never accept; else
            it is dropped, logged and counted.
        max_messages: the number of messages after which to end; None: no limit.
        stop_at_end: whether to end at the log ends that the source had at the start.
        offsets_file: records the offsets of messages in the target; None: there is none.
    """

    topics: Whitelist | Blacklist
    consumers: tuple[Mapping[str, object], ...] = field(repr=False)
    target: TargetSettings
    streams: int = 1
    partitioning: Partitioning = Partitioning.SAME
    topic_prefix: str = ""
    create_topics: bool = False
    replication: int | None = None
    with_headers: bool = True
    batch_records: int = BATCH_RECORDS
    commit_interval_ms: int = DEFAULT_COMMIT_INTERVAL_MS
    abort_on_send_failure: bool = True
    max_messages: int | None = None
    stop_at_end: bool = False
    offsets_file: Path | None = None

    def __post_init__(self) -> None:
        """Check that the settings fit together.

        Raises:
            ConfigError: the offsets file, or a limit, with several sources.
        """
        if len(self.consumers) > 1 and (self.offsets_file or self.max_messages is not None):
            raise ConfigError(
                "--offsets-file and --max-messages allow only one source: run a mirror for each"
            )


@dataclass(frozen=True, slots=True)
class ConsumerFile:
    """The settings in a consumer's configuration file.

    Attributes:
        settings: the settings of a ``KafkaConsumer``; ``repr`` hides them.
        commit_interval_ms: ``auto.commit.interval.ms``, if set.
    """

    settings: Mapping[str, object] = field(default_factory=dict, repr=False)
    commit_interval_ms: int | None = None


def consumer_settings(file: Mapping[str, str]) -> ConsumerFile:
    """Convert settings of the original's consumer, or of a ``KafkaConsumer``.

    Settings that the mirror determines are omitted; unknown ones are logged and omitted, as by
    Kafka. A new group begins at the oldest messages, and aborted transactions are skipped, unless
    the file says otherwise.

    Raises:
        ConfigError: a number is malformed.
    """
    settings: dict[str, object] = {
        "auto.offset.reset": "earliest",
        # Aborted messages would count as committed in the target: markers are not mirrored.
        "isolation.level": "read_committed",
        # Reading a deleted topic must not create it again.
        "allow.auto.create.topics": "false",
    }
    interval_ms: int | None = None
    for key, value in file.items():
        name = _RENAMED.get(key, key)
        if key == "auto.commit.interval.ms":
            interval_ms = _number(key, value)
        elif key in _OURS:
            log.info("%s=%s: a mirror commits by itself what the target acknowledged", key, value)
        elif key.startswith(SECURITY_PREFIXES):
            # In any spelling: the consumer validates security settings, since ignoring one might
            # disable protection.
            settings[key] = value
        elif key in _STREAMS_ONLY or name not in POLL_KEYS.keys() | STREAM_KEYS.keys():
            log.warning("setting %s of the consumer has no effect on a mirror", key)
        else:
            settings[name] = value
    settings["enable.auto.commit"] = "false"
    return ConsumerFile(settings, interval_ms)


_CODECS: Final = {text: codec for codec in Codec for text in (codec.name.lower(), str(codec.value))}

_IGNORED: Final = frozenset(
    {
        *("producer.type", "batch.num.messages", "queue.buffering.max.ms", "block.on.buffer.full"),
        *("queue.buffering.max.messages", "queue.enqueue.timeout.ms", "linger.ms"),
        *("serializer.class", "key.serializer.class", "key.serializer", "value.serializer"),
        *("max.in.flight.requests.per.connection", "buffer.memory"),
        *("send.buffer.bytes", "topic.metadata.refresh.interval.ms", "delivery.timeout.ms"),
    }
)
"""Settings of producers that do not affect a mirror's guarantees."""


def target_settings(file: Mapping[str, str], bootstrap_servers: str | None) -> TargetSettings:
    """Convert settings of the original's producers, old or new.

    Args:
        file: the settings of ``--producer.config`` and ``--target-config``.
        bootstrap_servers: from the command line; they take precedence.

    Raises:
        ConfigError: there are no servers, or a setting is invalid.
    """
    servers = bootstrap_servers or file.get("bootstrap.servers", file.get("metadata.broker.list"))
    if not servers:
        raise ConfigError(
            "no target is given: give --target-bootstrap-servers HOST:PORT, or "
            "metadata.broker.list in --producer.config"
        )
    given = {key: value for key, value in file.items() if key not in _SERVERS}
    numbers = {
        name: max(least, _number(key, given[key]))
        for key, (name, least) in _NUMBERS.items()
        if key in given
    }
    codecs = [_codec(key, given[key]) for key in _CODEC_KEYS if key in given]
    security = {key: value for key, value in given.items() if key.startswith(SECURITY_PREFIXES)}
    for key in _ACKS:
        if given.get(key, "-1").strip() not in ("-1", "all"):
            log.warning("%s=%s: a mirror always waits for all replicas (-1)", key, given[key])
    known = {*_NUMBERS, *_CODEC_KEYS, *_ACKS, *_IGNORED, *security, "client.id", _IDEMPOTENCE}
    for key in given.keys() - known:
        log.warning("setting %s of the producer has no effect on a mirror", key)
    retries = numbers.pop("retries", None)
    make: Callable[..., BatchSettings] = BatchSettings
    batches = make(
        codec=codecs[-1] if codecs else Codec.NONE, idempotent=_is_idempotent(given), **numbers
    )
    client = read_client_settings(
        security,
        client_id=given.get("client.id", CLIENT_ID),
        timeout_ms=batches.timeout_ms,
        servers=servers,
    )
    return TargetSettings(client=client, batches=batches, retries=retries)


_SERVERS: Final = ("metadata.broker.list", "bootstrap.servers")
_IDEMPOTENCE: Final = "enable.idempotence"
_ACKS: Final = ("request.required.acks", "acks")
_CODEC_KEYS: Final = ("compression.codec", "compression.type")

_NUMBERS: Final = {
    "message.send.max.retries": ("retries", 0),
    "retries": ("retries", 0),
    "retry.backoff.ms": ("backoff_ms", 1),
    "request.timeout.ms": ("timeout_ms", 1),
    "batch.size": ("set_bytes", 1 << 16),
    "max.request.size": ("request_bytes", 1 << 16),
}
"""The field for each setting of a producer, and its minimum.

It is of ``BatchSettings``, but for ``retries``: that is of ``TargetSettings``.
"""


def _is_idempotent(given: Mapping[str, str]) -> bool:
    value = given.get(_IDEMPOTENCE, "true").strip().lower()
    if value not in ("true", "false"):
        raise ConfigError(f"{_IDEMPOTENCE} is {value}: it must be true or false")
    return value == "true"


def _codec(key: str, value: str) -> Codec:
    found = _CODECS.get(value.strip().lower())
    if found is None:
        raise ConfigError(f"{key} is {value}: it must be none, gzip, snappy, lz4 or zstd")
    return found


def _number(key: str, value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise ConfigError(f"{key} is {value!r}: it must be a number") from None
