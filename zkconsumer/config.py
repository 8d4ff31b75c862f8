"""The settings of a consumer, read once, checked once, and frozen.

Kafka's own keys with their own defaults; the table is ``zkconsumer.config_keys``.
"""

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Self, Unpack

from zkconsumer.config_keys import BY_KEY, KEYS
from zkconsumer.config_security import JAVA_KEYS, SecurityFields, by_our_names
from zkconsumer.config_spec import Value
from zkconsumer.config_values import gathered, read_table
from zkconsumer.config_zookeeper import SECURITY_KEYS, ZookeeperSecurity, security_in
from zkconsumer.errors import ConfigError
from zkconsumer.nearest import did_you_mean
from zkconsumer.printable import shown
from zkconsumer.properties_file import load_properties

if TYPE_CHECKING:
    from zkconsumer.config_typed import ConsumerSettings

log = logging.getLogger(__name__)

_OTHERS = ("external",)
_NAMES = frozenset((*BY_KEY, *JAVA_KEYS))


@dataclass(frozen=True, init=False, slots=True)
class ConsumerConfig(SecurityFields):
    """All settings of one consumer; every attribute is its key with underscores.

    Values may be text, as in a ``.properties`` file, or Python's own ints and bools. None counts as
    not given. Keyword arguments win over ``props``. An unknown key is an error that names the most
    similar known one, unless it starts with ``external``; in a file it is only logged as a warning,
    as in the original (``from_file``, ``from_properties``).

    Args:
        props: settings by their keys, ``{"group.id": "g"}``.
        **settings: settings by their keys with underscores, ``group_id="g"``.

    Raises:
        ConfigError: names the key, its value and what is allowed; or the unknown key.

    Thread: any.
    Source: Kafka 0.8.2.2 ``ConsumerConfig``, ``ZKConfig``, ``VerifiableProperties``.

    Example:
        >>> config = ConsumerConfig(zookeeper_connect="zk1:2181/kafka", group_id="billing")
        >>> config.auto_offset_reset, config.fetch_message_max_bytes
        ('largest', 1048576)
        >>> ConsumerConfig({"zookeeper.connect": "zk1:2181"}, group_id="g").group_id
        'g'
    """

    zookeeper_connect: str
    group_id: str
    zookeeper_session_timeout_ms: int
    zookeeper_connection_timeout_ms: int
    zookeeper_sync_time_ms: int
    zookeeper_auth_scheme: Literal["none", "digest", "sasl"]
    zookeeper_auth_username: str | None
    zookeeper_auth_password: str | None = field(repr=False)
    zookeeper_set_acl: bool
    zookeeper_ssl_client_enable: bool
    zookeeper_ssl_truststore_location: str | None
    zookeeper_ssl_keystore_location: str | None
    zookeeper_ssl_keystore_password: str | None = field(repr=False)
    zookeeper_ssl_endpoint_identification_algorithm: Literal["HTTPS", ""]
    consumer_id: str | None
    client_id: str
    fetch_wait_max_ms: int
    socket_timeout_ms: int
    socket_receive_buffer_bytes: int
    fetch_message_max_bytes: int
    fetch_message_catch_up_max_bytes: int
    fetch_message_growth_max_bytes: int
    fetch_max_decompressed_bytes: int
    num_consumer_fetchers: int
    fetch_min_bytes: int
    queued_max_message_chunks: int
    queued_max_bytes: int
    fetch_max_bytes: int
    delivery: Literal["at_least_once", "at_most_once", "scala"]
    poison_policy: Literal["raise", "skip", "dead_letter"]
    poison_dead_letter_file: str
    auto_commit_enable: bool
    auto_commit_interval_ms: int
    rebalance_max_retries: int
    rebalance_backoff_ms: int
    owner_audit_interval_ms: int
    zookeeper_silence_percent: int
    refresh_leader_backoff_ms: int
    auto_offset_reset: Literal["smallest", "largest"]
    consumer_timeout_ms: int
    exclude_internal_topics: bool
    partition_assignment_strategy: Literal["range", "roundrobin"]
    offsets_storage: Literal["zookeeper", "kafka"]
    dual_commit_enabled: bool
    offsets_channel_backoff_ms: int
    offsets_channel_socket_timeout_ms: int
    offsets_commit_max_retries: int
    shutdown_timeout_ms: int
    serializer_encoding: str
    kafka_metrics_reporters: str
    kafka_metrics_polling_interval_secs: int
    kafka_csv_metrics_dir: str
    kafka_csv_metrics_reporter_enabled: bool
    mirror_topics_whitelist: str
    mirror_topics_blacklist: str
    mirror_consumer_numthreads: int

    def __init__(
        self, props: Mapping[str, object] | None = None, **settings: "Unpack[ConsumerSettings]"
    ) -> None:
        values = read_settings(by_our_names(gathered(props, settings, _NAMES, prefixes=_OTHERS)))
        for spec in KEYS:
            object.__setattr__(self, spec.attribute, values[spec.key])

    @property
    def zookeeper_security(self) -> ZookeeperSecurity:
        """How to authenticate to ZooKeeper, and who may change the nodes created there."""
        return security_in({spec.key: getattr(self, spec.attribute) for spec in SECURITY_KEYS})

    @classmethod
    def from_file(
        cls, path: str | os.PathLike[str], **settings: "Unpack[ConsumerSettings]"
    ) -> Self:
        """Read a Java ``.properties`` file; keyword arguments win over its settings.

        Args:
            path: a Java ``.properties`` file.
            **settings: settings by their keys with underscores; they win, and must be known.

        Returns:
            The configuration; unknown keys in the file are logged as warnings.

        Raises:
            ConfigError: the file can't be read, or a setting is wrong.
        """
        return cls.from_properties(load_properties(path), **settings)

    @classmethod
    def from_properties(
        cls, props: Mapping[str, str], **settings: "Unpack[ConsumerSettings]"
    ) -> Self:
        """Return the configuration given by the content of a ``.properties`` file.

        Unknown keys are not an error here: files are shared with other clients and later releases,
        which have other settings.

        Args:
            props: settings by their keys with dots.
            **settings: settings by their keys with underscores; they win, and must be known.

        Returns:
            The configuration; unknown keys of ``props`` are logged as warnings.

        Raises:
            ConfigError: a setting is wrong.
        """
        known = {}
        for key, value in props.items():
            if key in _NAMES or key.startswith(_OTHERS):
                known[key] = value
            else:
                hint = did_you_mean(key.replace("_", "."), _NAMES)
                log.warning("setting %s is not known and is ignored%s", shown(key), hint)
        return cls(known, **settings)


def read_settings(given: Mapping[str, object]) -> dict[str, Value]:
    """Return every key's value, with defaults, from settings by keys with dots.

    Raises:
        ConfigError: names the key, its value and what is allowed.
    """
    _note_ineffective(given)
    values = read_table(KEYS, given)
    _check_pair(values, "fetch.message.catch.up.max.bytes", "fetch.message.max.bytes")
    _check_pair(values, "socket.timeout.ms", "fetch.wait.max.ms")
    _check_pair(values, "fetch.message.growth.max.bytes", "fetch.message.max.bytes")
    _check_needs(values, "delivery", "at_most_once", "auto.commit.enable", "true")
    _check_needs(values, "poison.policy", "dead_letter", "poison.dead.letter.file", "a path")
    security_in(values)
    return values


def _note_ineffective(given: Mapping[str, object]) -> None:
    for key in given:
        spec = BY_KEY.get(key)
        if spec is not None and spec.inert:
            log.info("setting %s is accepted but has no effect here", key)


def _check_pair(values: Mapping[str, Value], larger: str, smaller: str) -> None:
    high, low = values[larger], values[smaller]
    if isinstance(high, int) and isinstance(low, int) and high < low:
        raise ConfigError(f"{larger} is {high}: it must be at least {smaller} ({low})")


def _check_needs(
    values: Mapping[str, Value], key: str, choice: str, needed: str, what: str
) -> None:
    if values[key] == choice and not values[needed]:
        raise ConfigError(f"{key}={choice} needs {needed}: set it to {what}")
