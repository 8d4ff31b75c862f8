"""Selects the listener of a broker to connect to, from its registration in ZooKeeper (pure).

Source: Kafka 0.8.2.2 ``ZkUtils.registerBrokerInZk``, 0.9 and 0.10.2 ``Broker.createBroker``, 3.9
``BrokerIdZNode``. Version 1 has a host and a port; 2 and 3 add endpoints, whose schemes are the
security protocols; from 4 on they are listeners' names, and a map gives the protocol of each. Host
and port stay those of the listener named PLAINTEXT, null and -1 where there is none.
"""

import re
from collections.abc import Mapping

from zkconsumer.net.security import SecurityProtocol
from zkconsumer.zk.json_dialect import JsonValue

_ENDPOINT = re.compile(r"([^:/]+)://\[?([^\[\]/]*)\]?:(-?[0-9]{1,5})")
_MAX_PORT = 65535


def listener_address(
    registration: Mapping[str, JsonValue], protocol: SecurityProtocol
) -> tuple[str, int] | None:
    """Return host and port at which a broker speaks a protocol, or None.

    If several listeners speak it, the first one in the registration counts.

    Args:
        registration: the fields of the broker's node, of any version.
        protocol: the protocol to speak.
    """
    if protocol == "PLAINTEXT":
        host, port = registration.get("host"), _port(registration.get("port"))
        if isinstance(host, str) and host and port is not None:
            return host, port
    endpoints = registration.get("endpoints")
    protocols = registration.get("listener_security_protocol_map")
    for endpoint in endpoints if isinstance(endpoints, list) else ():
        match = _ENDPOINT.fullmatch(endpoint) if isinstance(endpoint, str) else None
        if match is None:
            continue
        listener, host, port = match[1], match[2], _port(int(match[3]))
        spoken = protocols.get(listener) if isinstance(protocols, dict) else listener
        if spoken == protocol and host and port is not None:
            return host, port
    return None


def _port(value: JsonValue) -> int | None:
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 < value <= _MAX_PORT else None
