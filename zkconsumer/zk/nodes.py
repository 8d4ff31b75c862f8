"""Converts contents of nodes: writes exactly Scala's bytes, reads all that Scala reads. Pure.

Every ``parse_`` function accepts any bytes and returns a value or ``Malformed``; none raises.
Sources: Kafka 0.8.2.2 ``TopicCount``, ``ZookeeperConsumerConnector``, ``ZkUtils``; Kafka 3.9
``BrokerIdZNode``, ``TopicZNode`` for the later versions of what brokers write.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from zkconsumer.errors import LocalProtocolError
from zkconsumer.model import Broker
from zkconsumer.net.security import SecurityProtocol
from zkconsumer.printable import shown
from zkconsumer.topic_name import is_topic_name
from zkconsumer.zk.json_dialect import JsonValue, Malformed, escape, is_int, parse_object

_DECIMAL = re.compile(r"[+-]?[0-9]{1,19}")
_PARTITION = re.compile(r"[0-9]{1,10}")
_MAX_INT = 2**31 - 1
_MIN_LONG, _MAX_LONG = -(2**63), 2**63 - 1


_ENDPOINT = re.compile(r"([^:/]+)://\[?([^\[\]/]*)\]?:(-?[0-9]{1,5})")
_MAX_PORT = 65535


class Pattern(StrEnum):
    """The kind of a member's subscription; the values are those written."""

    STATIC = "static"
    WHITE_LIST = "white_list"
    BLACK_LIST = "black_list"


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """A member's registration in ``/consumers/<group>/ids/<consumer id>``.

    Attributes:
        subscription: stream counts (at least 1) by topic in written order; of a wildcard member
            exactly one entry, its regex as text.
        pattern: whether the keys are topics or a regex.
        timestamp_ms: when it registered; None if missing.
        scala_problem: why Scala members of the group fail to read this registration, and so fail
            every rebalance while it exists; or None. Not part of what is written.
    """

    subscription: Mapping[str, int]
    pattern: Pattern = Pattern.STATIC
    timestamp_ms: int | None = None
    scala_problem: str | None = field(default=None, compare=False)


def encode_registration(registration: Registration) -> bytes:
    """Return the bytes that Scala 0.8.2 writes for this registration.

    Raises:
        LocalProtocolError: Scala members could not read it: no timestamp, a stream count below 1,
            an invalid topic name, a wildcard without exactly one regex.
    """
    wildcard = registration.pattern is not Pattern.STATIC
    if wildcard and len(registration.subscription) != 1:
        raise LocalProtocolError("a wildcard registration holds exactly one regex")
    if registration.timestamp_ms is None:
        raise LocalProtocolError("a registration needs the time at which it is made")
    entries = []
    for name, count in registration.subscription.items():
        if not 1 <= count <= _MAX_INT:
            raise LocalProtocolError(f"subscription {name!r}: {count} streams; at least 1 needed")
        if not wildcard and not is_topic_name(name):
            raise LocalProtocolError(f"subscription {name!r} is not the name of a topic")
        entries.append(f'"{escape(name)}":{count}')
    text = (
        f'{{"version":1,"subscription":{{{",".join(entries)}}},'
        f'"pattern":"{registration.pattern}","timestamp":"{registration.timestamp_ms}"}}'
    )
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise LocalProtocolError(f"the regex is not valid Unicode: {error}") from error


def parse_registration(data: bytes) -> Registration | Malformed:
    """Read a member's registration, written by any client.

    As in Scala, any pattern but the two wildcards means static; so does an empty subscription,
    and of a wildcard's entries only the first counts.
    """
    parsed = parse_object(data)
    if isinstance(parsed, Malformed):
        return parsed
    fields = parsed.fields
    if "pattern" not in fields or not isinstance(fields["pattern"], str | None):
        return Malformed(f"its field 'pattern' is not a string: {shown(fields.get('pattern'))}")
    counts = _stream_counts(fields.get("subscription"))
    if isinstance(counts, Malformed):
        return counts
    pattern = Pattern.STATIC
    if counts and fields["pattern"] in {Pattern.WHITE_LIST, Pattern.BLACK_LIST}:
        pattern = Pattern(str(fields["pattern"]))
        counts = dict([next(iter(counts.items()))])
    return Registration(
        subscription=counts,
        pattern=pattern,
        timestamp_ms=_timestamp(fields.get("timestamp")),
        scala_problem=parsed.scala_problem,
    )


def parse_broker(
    broker_id: int, data: bytes, protocol: SecurityProtocol = "PLAINTEXT"
) -> Broker | Malformed:
    """Read a broker's registration of version 1 to 5 (or later with the same fields).

    Args:
        broker_id: the broker's id.
        data: the content of its node.
        protocol: the protocol to speak; see ``listener_address``.

    Returns:
        The broker, at the address of its listener for the protocol; or why there is none.
    """
    parsed = parse_object(data)
    if isinstance(parsed, Malformed):
        return parsed
    address = listener_address(parsed.fields, protocol)
    if address is not None:
        return Broker(broker_id, *address)
    endpoints = parsed.fields.get("endpoints")
    if isinstance(endpoints, list):
        return Malformed(
            f"no {protocol} listener among {shown(endpoints)}: give broker {broker_id} one, or "
            "set security.protocol to that of a listener"
        )
    if protocol != "PLAINTEXT":
        return Malformed(
            f"no list of endpoints in {shown(data)}, so broker {broker_id} is older than 0.9, "
            f"and does not support {protocol}: set security.protocol to PLAINTEXT"
        )
    return Malformed(
        f"no usable host and port in {shown(data)} and no list of endpoints: check "
        f"the listeners (or host.name and port) of broker {broker_id}"
    )


def registration_version(data: bytes) -> int | None:
    """Return the version of a broker's registration: 1 is 0.8, 2 is 0.9; None if unreadable."""
    parsed = parse_object(data)
    version = None if isinstance(parsed, Malformed) else parsed.fields.get("version")
    return version if is_int(version) else None


def parse_topic(data: bytes) -> tuple[int, ...] | Malformed:
    """Read the partition ids of a topic, sorted by number; version 1 to 3 of the node."""
    parsed = parse_object(data)
    if isinstance(parsed, Malformed):
        return parsed
    partitions = parsed.fields.get("partitions")
    if not isinstance(partitions, dict):
        return Malformed(f"its field 'partitions' is not an object: {shown(partitions)}")
    wrong = [key for key in partitions if not _PARTITION.fullmatch(key) or int(key) > _MAX_INT]
    if wrong:
        return Malformed(f"partition id {shown(wrong[0])} is not a number")
    return tuple(sorted({int(key) for key in partitions}))


def parse_offset(data: bytes) -> int | Malformed:
    """Read a committed offset: a signed 64-bit decimal number without anything around it."""
    text = data.decode("ascii", "replace")
    if _DECIMAL.fullmatch(text) is None or not _MIN_LONG <= int(text) <= _MAX_LONG:
        return Malformed(f"{shown(text)} is not an offset (bare decimal text)")
    return int(text)


def encode_offset(offset: int) -> bytes:
    """Return the bytes of a committed offset."""
    return b"%d" % offset


def parse_owner(data: bytes) -> str:
    """Return the thread id of an owner node; it is plain text, not JSON."""
    return data.decode("utf-8", "replace")


def _stream_counts(subscription: JsonValue) -> dict[str, int] | Malformed:
    if not isinstance(subscription, dict):
        return Malformed(f"its field 'subscription' is not an object: {shown(subscription)}")
    counts: dict[str, int] = {}
    for name, count in subscription.items():
        if not is_int(count) or not 1 <= count <= _MAX_INT:
            return Malformed(f"stream count of {shown(name)} is {shown(count)}")
        counts[name] = count
    return counts


def _timestamp(value: JsonValue) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return int(value) if abs(value) <= _MAX_LONG else None
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        return int(value)
    return None


def listener_address(
    registration: Mapping[str, JsonValue], protocol: SecurityProtocol
) -> tuple[str, int] | None:
    """Return host and port at which a broker speaks a protocol, or None.

    If several listeners speak it, the first one in the registration counts. Version 1 has a host
    and a port; 2 and 3 add endpoints, whose schemes are the security protocols; from 4 on they are
    listeners' names, and a map gives the protocol of each. Host and port stay those of the listener
    named PLAINTEXT; without such a listener they are null and -1.

    Args:
        registration: the fields of the broker's node, of any version.
        protocol: the protocol to speak.

    Source: Kafka 0.8.2.2 ``ZkUtils.registerBrokerInZk``, 0.9 and 0.10.2 ``Broker.createBroker``,
    3.9 ``BrokerIdZNode``.
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
    return value if is_int(value) and 0 < value <= _MAX_PORT else None
