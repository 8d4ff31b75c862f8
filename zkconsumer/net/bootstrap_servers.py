"""Parses lists of bootstrap servers. Pure."""

import re
from collections.abc import Iterable
from typing import Final

from zkconsumer.errors import ConfigError
from zkconsumer.model import Broker
from zkconsumer.printable import shown

DEFAULT_PORT: Final = 9092

_SERVER: Final = re.compile(
    r"(?:[A-Za-z0-9_.+-]+://)?(\[[^\s,\[\]]+\]|[^\s,:\[\]]+)(?::([0-9]{1,5}))?"
)


def parse_bootstrap(setting: str, servers: str | Iterable[str]) -> tuple[Broker, ...]:
    """Parse ``host1:port1,host2:port2``; duplicates are dropped, the order is kept.

    Args:
        setting: the setting's name, for errors.
        servers: one text, or a list of servers. The port defaults to 9092, IPv6 addresses are in
            brackets, a protocol and ``://`` in front are ignored.

    Returns:
        Brokers known by their address only, so their ids are negative.

    Raises:
        ConfigError: names the setting and the part that is wrong.

    Example:
        >>> parse_bootstrap("bootstrap.servers", "kafka1,[::1]:9093")
        (Broker(id=-1, host='kafka1', port=9092), Broker(id=-2, host='::1', port=9093))
    """
    parts = servers.split(",") if isinstance(servers, str) else list(servers)
    found: dict[tuple[str, int], None] = {}
    for part in (server.strip() for server in parts):
        if not part:
            continue
        match = _SERVER.fullmatch(part)
        port = int(match[2] or DEFAULT_PORT) if match else 0
        if match is None or not 0 < port < 65_536:
            raise ConfigError(
                f"{setting} has {shown(part)}: expected host1:port1,host2:port2, and a port is a "
                "number from 1 to 65535"
            )
        found[match[1].strip("[]"), port] = None
    if not found:
        raise ConfigError(f"{setting} is empty: give host1:port1,host2:port2")
    return tuple(Broker(-1 - place, *address) for place, address in enumerate(found))
