"""Converts a caller's arguments to plain settings by key. Pure.

Keyword arguments have underscores, as in kafka-python; the keys of a map may have dots, as in
Kafka's files. Lists, classes and ``float('inf')``, which kafka-python accepts, become texts and
numbers here.
"""

import ipaddress
import logging
import math
import re
from collections.abc import Iterable, Mapping
from enum import IntEnum

from zkconsumer.config_keys import BY_KEY as ZOOKEEPER_KEYS
from zkconsumer.config_security import JAVA_KEYS, by_our_names
from zkconsumer.config_spec import INT_MAX, ConfigKey, Value
from zkconsumer.config_values import gathered, read_table
from zkconsumer.consumer.settings.confluent_names import KEYS as CONFLUENT_KEYS
from zkconsumer.consumer.settings.confluent_names import advice_on_key
from zkconsumer.consumer.settings.inert_keys import REFUSED
from zkconsumer.consumer.settings.keys import BY_KEY, KEYS
from zkconsumer.consumer.settings.objects import OBJECTS
from zkconsumer.errors import ConfigError

log = logging.getLogger(__name__)

_NAMES = frozenset((*BY_KEY, *OBJECTS, *JAVA_KEYS, *ZOOKEEPER_KEYS))
_PROTOCOL = re.compile(r"[A-Za-z0-9_.+-]+://")


def merged(
    config: Mapping[str, object] | None, settings: Mapping[str, object]
) -> dict[str, object]:
    """Return all given settings by keys with dots; keyword arguments win, None counts as not given.

    Raises:
        ConfigError: ``config`` is no map; a key is no text, or is unknown (the nearest one is
            named); or a keyword argument has dots, as in confluent-kafka.
    """
    for name in settings:
        if "." in name:
            raise ConfigError(advice_on_key(name))
    given = gathered(config, settings, _NAMES, refused=REFUSED, renamed=CONFLUENT_KEYS)
    return by_our_names(given)


def plain_values(given: Mapping[str, object]) -> dict[str, Value]:
    """Return the value of each key of the table, by attribute name, with defaults.

    Raises:
        ConfigError: names the key, its value and what is allowed.
    """
    return read_table((spec for spec in KEYS if not spec.inert), given, _plain)


def inert_values(given: Mapping[str, object]) -> dict[str, object]:
    """Return the given settings that have no effect, by attribute name; log their names."""
    found = {spec.attribute: given[spec.key] for spec in KEYS if spec.inert and spec.key in given}
    if found:
        log.debug("settings that are accepted but have no effect here: %s", ", ".join(found))
    return found


def zookeeper_values(given: Mapping[str, object]) -> dict[str, object]:
    """Return the given settings that only consumers in a ZooKeeper group have.

    Raises:
        ConfigError: such settings are given without ``zookeeper.connect``.
    """
    found = {key: value for key, value in given.items() if key in ZOOKEEPER_KEYS.keys() - BY_KEY}
    if found and "zookeeper.connect" not in given:
        one = min(found).replace(".", "_")
        raise ConfigError(f"{one} is a setting of ZooKeeper groups: give zookeeper_connect, too")
    return found


def _plain(spec: ConfigKey, raw: object) -> object:
    """Convert lists, classes, infinity and numbers to a setting's kind; leave other values."""
    match spec.key:
        case "bootstrap.servers":
            return _addresses(_joined(raw))
        case "partition.assignment.strategy":
            if isinstance(raw, str):
                return raw
            parts = raw if isinstance(raw, list | tuple) else [raw]
            names = [
                part if isinstance(part, str) else getattr(part, "name", part) for part in parts
            ]
            return _joined(names)
        case "isolation.level" if isinstance(raw, IntEnum):
            return raw.name  # kafka-python's
        case "consumer.timeout.ms" if raw == float("inf"):
            return -1
        case _ if spec.kind == "bool" and isinstance(raw, int | float):
            return bool(raw)
        case _ if isinstance(raw, float):
            return _whole(spec, raw)
        case _:
            return raw


def _whole(spec: ConfigKey, raw: float) -> object:
    """Return an integer setting given as a float; times are rounded up, so that none ends early."""
    if raw.is_integer():
        return int(raw)
    if not spec.key.endswith(".ms") or math.isnan(raw) or raw < 0:
        return raw
    return INT_MAX if math.isinf(raw) else math.ceil(raw)


def _addresses(raw: object) -> object:
    """Return servers without protocols; put bare IPv6 addresses (kafka-python's) in brackets."""
    if not isinstance(raw, str):
        return raw
    parts = [_PROTOCOL.sub("", part.strip(), count=1) for part in raw.split(",")]
    return ",".join(f"[{part}]" if _is_ipv6(part) else part for part in parts)


def _is_ipv6(text: str) -> bool:
    try:
        return ipaddress.ip_address(text).version == 6
    except ValueError:
        return False


def _joined(raw: object) -> object:
    if isinstance(raw, Iterable) and not isinstance(raw, str):
        parts = list(raw)
        if parts and all(isinstance(part, str) and "," not in part for part in parts):
            return ",".join(parts)
    return raw
