"""Reads ZooKeeper's security settings, and decides which nodes everybody may change. Pure.

Source: Kafka 3.9 ``ZkData.defaultAcls``.
"""

from collections.abc import Mapping
from typing import Final

from zkconsumer.config_values import read_table
from zkconsumer.config_zookeeper import SECURITY_KEYS, ZookeeperSecurity, security_in

SECURITY_NAMES: Final = frozenset(spec.key for spec in SECURITY_KEYS)
"""The settings of a secured ZooKeeper, by their keys with dots."""


def read_security(given: Mapping[str, object]) -> ZookeeperSecurity:
    """Read the settings of a secured ZooKeeper from all settings given.

    Args:
        given: settings by their keys with dots; others are ignored.

    Raises:
        ConfigError: a setting is invalid or missing; names it.
    """
    return security_in(read_table(SECURITY_KEYS, given))


def is_open_to_all(path: str, security: ZookeeperSecurity) -> bool:
    """Return whether everybody may change the node that is created at this path.

    Args:
        path: the path below the chroot.
        security: the creator's settings.
    """
    # Members of every group create nodes below it.
    return not security.set_acl or path == "/consumers"
