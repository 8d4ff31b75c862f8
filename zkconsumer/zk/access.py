"""Reads ZooKeeper's security settings. Pure."""

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
