"""The settings of a ``KafkaConsumer``: read and checked once, then frozen."""

import copy
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Unpack

from zkconsumer.config_security import SecurityFields
from zkconsumer.consumer.settings.inert_keys import REFUSED
from zkconsumer.consumer.settings.keys import BY_KEY, KEYS, split_list
from zkconsumer.consumer.settings.objects import OBJECTS, GivenObjects, read_objects
from zkconsumer.consumer.settings.reading import (
    inert_values,
    merged,
    plain_values,
    zookeeper_values,
)
from zkconsumer.errors import ConfigError
from zkconsumer.model import Broker
from zkconsumer.net.bootstrap_servers import parse_bootstrap
from zkconsumer.wire.releases import Release

if TYPE_CHECKING:
    from zkconsumer.consumer.settings.typed import KafkaConsumerSettings

log = logging.getLogger(__name__)

_FOLLOWING = {spec.attribute: spec.key for spec in KEYS if spec.follows}
_INERT = {spec.attribute: spec.default for spec in KEYS if spec.inert}
_WORKING = tuple(spec.attribute for spec in KEYS if not spec.inert)
_OBJECTS = tuple(key.replace(".", "_") for key in OBJECTS)
_REFUSED = tuple(key.replace(".", "_") for key in REFUSED)
_NAMES = dict.fromkeys((*_WORKING, *_OBJECTS, *_INERT, *_REFUSED))


@dataclass(frozen=True, init=False, slots=True, eq=False)
class PollConfig(SecurityFields, Mapping[str, object]):
    """All settings of one ``KafkaConsumer``; attributes are named like its keyword arguments.

    It is also a map by those names, since kafka-python's ``consumer.config`` is a dict; it has all
    keys of kafka-python, and ours. A consumer created with ``dict(config)`` has the same settings.

    Args:
        config: settings by their keys, with dots or underscores.
        **settings: the same as keyword arguments, which take precedence. None counts as not given.

    Attributes:
        objects: deserialisers and other settings that are not a text, number or boolean.
        zookeeper: settings of ``ConsumerConfig`` given for a ZooKeeper group.
        inert: given settings that have no effect, by name.
        given: the keys that were given, with dots.
        found_version: the release of the first broker that responded, such as (2, 8); None until
            then, and always without ``connects_at_once``.

    Raises:
        ConfigError: names the setting, its value and what is allowed.

    Example:
        >>> config = PollConfig(group_id="billing")
        >>> config.group_id, config["group_id"], "max_poll_records" in config
        ('billing', 'billing', True)
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
    fetch_message_catch_up_max_bytes: int
    fetch_message_growth_max_bytes: int
    fetch_max_decompressed_bytes: int
    enable_incremental_fetch_sessions: bool
    check_crcs: bool
    request_timeout_ms: int
    bootstrap_timeout_ms: int
    socket_connection_setup_timeout_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    metadata_max_age_ms: int
    receive_buffer_bytes: int
    receive_message_max_bytes: int
    metrics_enabled: bool
    metric_group_prefix: str
    metrics_num_samples: int
    metrics_sample_window_ms: int
    objects: GivenObjects
    zookeeper: Mapping[str, object] = field(repr=False)
    inert: Mapping[str, object]
    given: frozenset[str]
    found_version: Release | None

    def __init__(
        self,
        config: Mapping[str, object] | None = None,
        /,
        **settings: "Unpack[KafkaConsumerSettings]",
    ) -> None:
        given = merged(config, settings)
        values = plain_values(given)
        for spec in KEYS:
            if not spec.inert:
                object.__setattr__(self, spec.attribute, values[spec.key])
        object.__setattr__(self, "objects", read_objects(given))
        object.__setattr__(self, "zookeeper", zookeeper_values(given))
        object.__setattr__(self, "inert", inert_values(given))
        object.__setattr__(self, "given", frozenset(given))
        object.__setattr__(self, "found_version", None)
        _check(self)

    def __getitem__(self, name: str) -> object:
        """Return a setting by name; one without effect has the given value, or kafka-python's."""
        if name not in _NAMES:
            raise KeyError(name)
        if name == "api_version" and self.found_version is not None:
            return self.found_version
        if name in _INERT:
            return self.inert.get(name, _INERT[name])
        if name in _REFUSED:
            return None
        if name in _FOLLOWING and _FOLLOWING[name] not in self.given:
            return None  # it follows another setting, which a copy may change
        value: object = getattr(self.objects if name in _OBJECTS else self, name)
        if name == "consumer_timeout_ms" and value == -1:
            return float("inf")  # as in kafka-python
        return value

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of all settings."""
        return iter(_NAMES)

    def __len__(self) -> int:
        """Return the number of settings."""
        return len(_NAMES)

    def with_found(self, release: Release | None) -> "PollConfig":
        """Return a copy with the release of the broker found as ``config["api_version"]``."""
        found = copy.copy(self)
        object.__setattr__(found, "found_version", release)
        return found

    @property
    def connects_at_once(self) -> bool:
        """Whether a consumer connects to a broker when it is created."""
        has_version = self.inert.get("api_version") not in (None, "auto")
        return self.bootstrap_timeout_ms > 0 and self.zookeeper_connect is None and not has_version

    @property
    def strategies(self) -> tuple[str, ...]:
        """The names of ``partition_assignment_strategy``, the preferred one first."""
        return split_list(self.partition_assignment_strategy)

    def bootstrap_brokers(self) -> tuple[Broker, ...]:
        """Return the bootstrap brokers; their ids are unknown, and so below 0."""
        return parse_bootstrap("bootstrap_servers", self.bootstrap_servers)


def _check(config: PollConfig) -> None:
    """Check that settings fit together.

    Raises:
        ConfigError: names both settings.
    """
    config.bootstrap_brokers()
    _check_order(config, "heartbeat_interval_ms", "session_timeout_ms")
    _check_order(config, "fetch_max_wait_ms", "request_timeout_ms")
    _check_order_like_kafka_python(config)
    for larger in ("fetch_message_catch_up_max_bytes", "fetch_message_growth_max_bytes"):
        _check_order(config, "max_partition_fetch_bytes", larger, equal=True)
    for name in ("group_instance_id", "zookeeper_connect"):
        if getattr(config, name) is not None and config.group_id is None:
            raise ConfigError(f"{name} needs group_id: it says which group the member is of")
    if config.zookeeper_connect is not None and not config.group_id:
        raise ConfigError("group_id is '': a group in ZooKeeper needs a name")
    if config.zookeeper_connect is not None:
        for name in ("group.instance.id", "bootstrap.servers"):
            if name in config.given:
                raise ConfigError(
                    f"{name.replace('.', '_')} can't be used with zookeeper_connect: ZooKeeper "
                    "keeps the group, and knows the brokers"
                )
    if not config.check_crcs:
        log.debug("check_crcs=False has no effect: checksums are always checked")


def _check_order_like_kafka_python(config: PollConfig) -> None:
    """Refuse the combinations of given settings that kafka-python refuses."""
    idle_ms = config.inert.get("connections_max_idle_ms")
    if (
        isinstance(idle_ms, int | float)
        and "request.timeout.ms" in config.given
        and idle_ms <= config.request_timeout_ms
    ):
        raise ConfigError(
            f"connections_max_idle_ms is {idle_ms}: it must be more than request_timeout_ms "
            f"({config.request_timeout_ms})"
        )
    both = {"session.timeout.ms", "request.timeout.ms"} <= config.given
    # A copy of all settings contains the version found, and our default session time-out, which
    # the member lowers by itself for brokers that accept less.
    is_ours = config.session_timeout_ms == BY_KEY["session.timeout.ms"].default
    if (
        both
        and not is_ours
        and config.group_id is not None
        and _is_old(config.inert.get("api_version"))
    ):
        # Such a broker may respond to a JoinGroup only after the session time-out.
        _check_order(config, "session_timeout_ms", "request_timeout_ms")


def _is_old(version: object) -> bool:
    return (
        isinstance(version, tuple)
        and all(isinstance(part, int) for part in version)
        and version < (0, 10, 1)
    )


def _check_order(config: PollConfig, smaller: str, larger: str, *, equal: bool = False) -> None:
    low: int = getattr(config, smaller)
    high: int = getattr(config, larger)
    if low > high or (low == high and not equal):
        word = "at most" if equal else "less than"
        raise ConfigError(f"{smaller} is {low}: it must be {word} {larger} ({high})")
