"""Kerberos settings, keytabs, and the negotiation of security layers, without ``gssapi``. Pure.

Source: RFC 4752 (SASL's GSSAPI), MIT Kerberos' description of the keytab format, Kafka's KIP-12.
"""

import struct
from dataclasses import dataclass
from typing import Final

from zkconsumer.errors import AuthenticationFailed, ConfigError

NO_LAYER: Final = 1
"""The bit of RFC 4752 for no security layer, the only one that Kafka supports."""

_OFFER_BYTES: Final = 4
_KEYTAB_MAGIC: Final = b"\x05\x02"
_MOST_PARTS: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class KerberosSettings:
    """Our principal, and the brokers' service name.

    Attributes:
        service_name: the primary of the brokers' principal.
        domain_name: the host in the brokers' principal; None: the host that is connected to, which
            the broker advertises.
        keytab: the file with our key; None: use the default ticket cache, as filled by ``kinit``.
        principal: our principal; None: the first of the keytab, or the owner of the cache.

    Raises:
        ConfigError: a name is empty, or contains a character that would change its meaning.
    """

    service_name: str = "kafka"
    domain_name: str | None = None
    keytab: str | None = None
    principal: str | None = None

    def __post_init__(self) -> None:
        for option, name in (
            ("sasl_kerberos_service_name", self.service_name),
            ("sasl_kerberos_domain_name", self.domain_name),
        ):
            if name is not None and (not name or not name.isprintable() or set(name) & set("@/ ")):
                raise ConfigError(
                    f"{option}={name!r}: give one part of a principal, without '/' and '@'"
                )
        for option, name in (
            ("sasl_kerberos_principal", self.principal),
            ("sasl_kerberos_keytab", self.keytab),
        ):
            if name is not None and (not name or "\0" in name):
                raise ConfigError(f"{option}={name!r}: it is not a valid name")

    def service_at(self, host: str) -> str:
        """Return the host-based service name of a broker (RFC 2743), e.g. ``kafka@broker-1``."""
        return f"{self.service_name}@{self.domain_name or host}"


@dataclass(frozen=True, slots=True)
class KeytabEntry:
    """One entry of a keytab.

    Attributes:
        principal: the owner of the key, with the realm.
        record: the bytes of the entry in the file, with their length prefix.
    """

    principal: str
    record: bytes


def read_keytab(data: bytes) -> tuple[KeytabEntry, ...]:
    """Parse a keytab; deleted entries are skipped.

    Raises:
        ValueError: not a keytab of format 5.2, which all current Kerberos libraries write.
    """
    if data[:2] != _KEYTAB_MAGIC:
        raise ValueError("it is not a keytab")
    entries = []
    at = 2
    while at < len(data):
        if at + 4 > len(data):
            raise ValueError("it ends within an entry")
        (size,) = struct.unpack_from(">i", data, at)
        end = at + 4 + abs(size)
        if size == 0:
            break  #  the rest was never written
        if end > len(data):
            raise ValueError("it ends within an entry")
        if size > 0:
            entries.append(KeytabEntry(_principal(data[at + 4 : end]), data[at:end]))
        at = end
    return tuple(entries)


def write_keytab(entries: tuple[KeytabEntry, ...]) -> bytes:
    """Serialize a keytab of parsed entries."""
    return _KEYTAB_MAGIC + b"".join(entry.record for entry in entries)


def _principal(entry: bytes) -> str:
    try:
        (count,) = struct.unpack_from(">H", entry, 0)
        at, parts = 2, []
        if count > _MOST_PARTS:
            raise ValueError("an entry has no sensible name")
        for _ in range(count + 1):  # the realm comes first
            (size,) = struct.unpack_from(">H", entry, at)
            at += 2
            if at + size > len(entry):
                raise ValueError("a name is longer than its entry")
            parts.append(entry[at : at + size].decode("utf-8", "replace"))
            at += size
    except struct.error as error:
        raise ValueError("an entry ends within its name") from error
    return f"{'/'.join(parts[1:])}@{parts[0]}"


def is_of(principal: str, wanted: str) -> bool:
    """Return whether a principal matches ``wanted``, which may lack the realm."""
    return wanted in (principal, principal.rpartition("@")[0])


def layer_response(offer: bytes, authorization_id: str) -> bytes:
    """Return the reply to the broker's offer of security layers: no layer, and who we act as.

    Args:
        offer: the unwrapped offer: a bit mask of layers, and the largest message accepted.
        authorization_id: the principal to act as.

    Raises:
        AuthenticationFailed: the offer is malformed, or the broker requires a layer.
    """
    if len(offer) != _OFFER_BYTES:
        raise AuthenticationFailed(f"the broker's offer of security layers has {len(offer)} bytes")
    if not offer[0] & NO_LAYER:
        raise AuthenticationFailed(
            "the broker requires a security layer of SASL, which Kafka does not have: use TLS"
        )
    return bytes((NO_LAYER, 0, 0, 0)) + authorization_id.encode()
