"""Who may change what is created in ZooKeeper, and how a client is told to say who it is. Pure.

Source: Kafka 3.9 ``ZkData.defaultAcls``.
"""

from collections.abc import Mapping
from typing import Final

from zkconsumer.config_spec import Value
from zkconsumer.config_values import read_value
from zkconsumer.config_zookeeper import SECURITY_KEYS, ZookeeperSecurity, security_in

SECURITY_NAMES: Final = frozenset(spec.key for spec in SECURITY_KEYS)
"""The settings of a secured ZooKeeper, by their keys with dots."""


def read_security(given: Mapping[str, object]) -> ZookeeperSecurity:
    """Read the settings of a secured ZooKeeper out of whatever else was given with them.

    Args:
        given: settings by their keys with dots; others are passed over.

    Raises:
        ConfigError: one makes no sense, or parts are missing; names it.
    """
    values: dict[str, Value] = {}
    for spec in SECURITY_KEYS:
        raw = given.get(spec.key)
        if raw is not None:
            values[spec.key] = read_value(spec, raw)
        else:
            values[spec.key] = spec.derive(values) if spec.derive else spec.default
    return security_in(values)


def is_open_to_all(path: str, security: ZookeeperSecurity) -> bool:
    """Return whether anybody may change the node that is created at this path.

    Args:
        path: below the chroot.
        security: whose node it is to be.
    """
    # Every group writes below it, whatever it is called.
    return not security.set_acl or path == "/consumers"
