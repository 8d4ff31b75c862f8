"""Parses ``zookeeper.connect``: ``host1:port1,host2:port2/chroot`` (pure)."""

import re
from dataclasses import dataclass

from zkconsumer.errors import ConfigError
from zkconsumer.zk.paths import is_path

DEFAULT_PORT = 2181
_HOST_PORT = re.compile(r"(?:\[([0-9a-fA-F:.%]+)\]|([^\s:/\[\],@]+))(?::([0-9]{1,5}))?")
_PORT_IN_CHROOT = re.compile(r",|:[0-9]")
_MAX_PORT = 65535


@dataclass(frozen=True, slots=True)
class ConnectString:
    """The servers, any of which will do, and the chroot ("" for none)."""

    servers: tuple[tuple[str, int], ...]
    chroot: str

    @property
    def hosts(self) -> str:
        """The servers in the form for ZooKeeper clients, without the chroot."""
        return ",".join(
            f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.servers
        )


def parse_connect_string(text: str) -> ConnectString:
    """Parse ``zookeeper.connect``; a missing port is 2181.

    Raises:
        ConfigError: the text is malformed; says how.
    """
    hosts, slash, rest = text.strip().partition("/")
    chroot = (slash + rest).rstrip("/")
    servers = tuple(_server(part.strip(), text) for part in hosts.split(","))
    if _PORT_IN_CHROOT.search(chroot):
        raise ConfigError(
            f"zookeeper.connect {text!r}: the chroot is given once, after the last server: "
            "host1:port1,host2:port2/chroot"
        )
    if chroot and not is_path(chroot):
        raise ConfigError(f"zookeeper.connect {text!r}: {chroot!r} is not a ZooKeeper path")
    return ConnectString(servers, chroot)


def _server(part: str, text: str) -> tuple[str, int]:
    match = _HOST_PORT.fullmatch(part)
    if match is None:
        raise ConfigError(
            f"zookeeper.connect {text!r}: {part!r} is not a server; "
            "expected host1:port1,host2:port2/chroot"
        )
    port = DEFAULT_PORT if match[3] is None else int(match[3])
    if not 0 < port <= _MAX_PORT:
        raise ConfigError(f"zookeeper.connect {text!r}: {port} is not a port")
    return match[1] or match[2], port
