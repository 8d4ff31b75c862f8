"""Selects several clusters of the configuration file, for commands that show them together."""

import argparse
import re
from typing import Final

from zkconsumer.cli.cluster_arguments import DEFAULT_TIMEOUT_MS, milliseconds
from zkconsumer.cli.configuration import Configuration, user_configuration
from zkconsumer.errors import ConfigError

_ALL: Final = "all"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def clusters_of(args: argparse.Namespace) -> dict[str, argparse.Namespace]:
    """Return the arguments of each cluster that ``--clusters`` names.

    Args:
        args: the parsed command line, with ``clusters`` and without an address.

    Raises:
        ConfigError: there is no file, it has no such cluster, or an address is also given.
    """
    for option in ("zookeeper", "bootstrap_servers"):
        if getattr(args, option):
            raise ConfigError(
                f"--{option.replace('_', '-')} is one cluster, and --clusters names several: give "
                "only one of them"
            )
    configuration = user_configuration()
    if configuration is None:
        raise ConfigError("--clusters: there is no configuration file to define them")
    names = [name.strip() for name in args.clusters.split(",") if name.strip()]
    if names == [_ALL]:
        names = list(configuration.clusters)
    if not names:
        raise ConfigError(f"--clusters: {configuration.name} names no clusters")
    return {name: _arguments(args, configuration, name) for name in names}


def _arguments(
    args: argparse.Namespace, configuration: Configuration, name: str
) -> argparse.Namespace:
    shared = configuration.shared(name)
    if _NAME.fullmatch(name) is None:
        raise ConfigError(f"{name!r} can't be part of an address: use letters, digits, . _ -")
    return argparse.Namespace(
        **{
            **vars(args),
            "cluster_name": name,
            "zookeeper": shared.get("zookeeper"),
            "bootstrap_servers": shared.get("bootstrap-server"),
            "command_config": shared.get("command-config"),
            "timeout_ms": _timeout_ms(configuration, name),
        }
    )


def _timeout_ms(configuration: Configuration, name: str) -> int:
    text = str(configuration.shared(name).get("timeout-ms", DEFAULT_TIMEOUT_MS))
    try:
        return milliseconds(text)
    except argparse.ArgumentTypeError as error:
        raise ConfigError(f"{configuration.name}: timeout-ms of {name}: {error}") from error
