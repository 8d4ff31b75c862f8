"""What a ``KafkaConsumer`` was told, read once, checked once, and frozen."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from zkconsumer.consumer.settings.keys import KEYS, split_list
from zkconsumer.consumer.settings.objects import GivenObjects, read_objects
from zkconsumer.consumer.settings.reading import merged, plain_values, zookeeper_values
from zkconsumer.errors import ConfigError
from zkconsumer.model import Broker

log = logging.getLogger(__name__)

DEFAULT_PORT = 9092


@dataclass(frozen=True, init=False, slots=True)
class PollConfig:
    """All settings of one ``KafkaConsumer``; attributes are the names of its keyword arguments.

    Args:
        config: settings by their keys, with dots or underscores.
        **settings: the same as keyword arguments, which win. None counts as not given.

    Attributes:
        objects: deserialisers and whatever else is no text, number, or yes or no.
        zookeeper: settings of ``ConsumerConfig`` that were given for a ZooKeeper group.
        given: the keys that were given, with dots.

    Raises:
        ConfigError: names the setting, its value and what is allowed.
    """

    bootstrap_servers: str
    zookeeper_connect: str | None
    client_id: str
    client_rack: str
    group_id: str | None
    group_instance_id: str | None
    session_timeout_ms: int
    heartbeat_interval_ms: int
    max_poll_interval_ms: int
    partition_assignment_strategy: str
    auto_offset_reset: Literal["earliest", "latest", "none"]
    auto_offset_reset_new_partitions: Literal["earliest", "latest"]
    enable_auto_commit: bool
    auto_commit_interval_ms: int
    isolation_level: Literal["read_uncommitted", "read_committed"]
    max_poll_records: int
    consumer_timeout_ms: int
    exclude_internal_topics: bool
    allow_auto_create_topics: bool
    default_api_timeout_ms: int
    fetch_min_bytes: int
    fetch_max_wait_ms: int
    fetch_max_bytes: int
    max_partition_fetch_bytes: int
    fetch_message_growth_max_bytes: int
    fetch_max_decompressed_bytes: int
    enable_incremental_fetch_sessions: bool
    check_crcs: bool
    request_timeout_ms: int
    socket_connection_setup_timeout_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    metadata_max_age_ms: int
    receive_buffer_bytes: int
    receive_message_max_bytes: int
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
    ssl_cafile: str | None
    ssl_certfile: str | None
    ssl_keyfile: str | None
    ssl_password: str | None = field(repr=False)
    ssl_check_hostname: bool
    ssl_ciphers: str | None
    ssl_crlfile: str | None
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"] | None
    sasl_plain_username: str | None
    sasl_plain_password: str | None = field(repr=False)
    sasl_oauthbearer_token_endpoint_url: str | None
    sasl_oauthbearer_client_credentials_client_id: str | None
    sasl_oauthbearer_client_credentials_client_secret: str | None = field(repr=False)
    sasl_oauthbearer_scope: str | None
    objects: GivenObjects
    zookeeper: Mapping[str, object]
    given: frozenset[str]

    def __init__(self, config: Mapping[str, object] | None = None, /, **settings: object) -> None:
        given = merged(config, settings)
        values = plain_values(given)
        for spec in KEYS:
            if not spec.inert:
                object.__setattr__(self, spec.attribute, values[spec.key])
        object.__setattr__(self, "objects", read_objects(given))
        object.__setattr__(self, "zookeeper", zookeeper_values(given))
        object.__setattr__(self, "given", frozenset(given))
        _check(self)

    def __getitem__(self, name: str) -> object:
        """By its name, since kafka-python's ``consumer.config`` is a dict."""
        if name not in self.__dataclass_fields__:
            raise KeyError(name)
        value: object = getattr(self, name)
        return value

    @property
    def strategies(self) -> tuple[str, ...]:
        """The names of ``partition_assignment_strategy``, the preferred one first."""
        return split_list(self.partition_assignment_strategy)

    def bootstrap_brokers(self) -> tuple[Broker, ...]:
        """The brokers to start from; what is known of them is the address, so their ids are < 0."""
        return tuple(
            Broker(-1 - number, *_address(one))
            for number, one in enumerate(split_list(self.bootstrap_servers))
        )


def _address(text: str) -> tuple[str, int]:
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        port = rest[1:]
    else:
        host, _, port = text.partition(":")
    number = int(port) if port else DEFAULT_PORT
    if not 0 < number < 65_536:
        raise ConfigError(f"bootstrap_servers has {text}: a port is a number from 1 to 65535")
    return host, number


def _check(config: PollConfig) -> None:
    """Settings that don't fit together.

    Raises:
        ConfigError: names both.
    """
    config.bootstrap_brokers()
    _check_order(config, "heartbeat_interval_ms", "session_timeout_ms")
    _check_order(config, "fetch_max_wait_ms", "request_timeout_ms")
    _check_order(config, "max_partition_fetch_bytes", "fetch_message_growth_max_bytes", equal=True)
    for name in ("group_instance_id", "zookeeper_connect"):
        if getattr(config, name) is not None and config.group_id is None:
            raise ConfigError(f"{name} needs group_id: it says which group the member is of")
    if config.zookeeper_connect is not None:
        for name in ("group.instance.id", "bootstrap.servers"):
            if name in config.given:
                raise ConfigError(
                    f"{name.replace('.', '_')} can't be used with zookeeper_connect: ZooKeeper "
                    "keeps the group, and knows the brokers"
                )
    if not config.check_crcs:
        log.info("check_crcs=False has no effect: checksums are always checked")


def _check_order(config: PollConfig, smaller: str, larger: str, *, equal: bool = False) -> None:
    low: int = getattr(config, smaller)
    high: int = getattr(config, larger)
    if low > high or (low == high and not equal):
        word = "at most" if equal else "less than"
        raise ConfigError(f"{smaller} is {low}: it must be {word} {larger} ({high})")
