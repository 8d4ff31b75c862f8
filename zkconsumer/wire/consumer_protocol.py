"""The embedded protocol of consumer groups: subscriptions of members, assignments by the leader.

The coordinator forwards these bytes without reading them. Both kinds start with their version; a
reader takes an unknown version for the newest that it knows, and skips trailing bytes. So members
of all versions can share a group. Never flexible.
Source: Kafka 0.9.0.1 and 3.9 ``ConsumerProtocol``; KIP-429, KIP-792, KIP-881.
"""

import struct
from typing import Annotated, Any, Final, TypeVar

from zkconsumer.errors import DecodeError, LocalProtocolError
from zkconsumer.wire.fault import Fault
from zkconsumer.wire.reader import reader_of
from zkconsumer.wire.schema import (
    ApiMessage,
    Hint,
    Int32,
    NullableBytes,
    NullableString,
    Since,
    String,
)
from zkconsumer.wire.tagged import Pieces
from zkconsumer.wire.writer import writer_of

SUBSCRIPTION_VERSION: Final = 3
"""The newest version of a subscription."""

ASSIGNMENT_VERSION: Final = 3
"""The newest version of an assignment: all have the same layout."""

NO_GENERATION: Final = -1
"""The generation of a member that has had none, or does not report it."""

_VERSION = struct.Struct(">h")
M = TypeVar("M", bound=ApiMessage)


class TopicPartitions(ApiMessage):
    """Partitions of one topic."""

    topic: String
    partitions: tuple[Int32, ...]


class ConsumerSubscription(ApiMessage):
    """The subscription of a member, as the leader receives it.

    Attributes:
        topics: the topics, in no particular order.
        user_data: opaque bytes of the assignment strategy.
        owned_partitions: the partitions that it owns now (cooperative strategies).
        generation_id: the generation that assigned them; -1: none.
        rack_id: the rack of the member; None if not reported.
    """

    topics: tuple[String, ...]
    user_data: NullableBytes = None
    owned_partitions: Annotated[tuple[TopicPartitions, ...], Since(1), Hint()] = ()
    generation_id: Annotated[Int32, Since(2), Hint()] = NO_GENERATION
    rack_id: Annotated[NullableString, Since(3), Hint()] = None

    def least_version(self) -> int:
        """Return the oldest version that has all the fields that are set."""
        if self.rack_id is not None:
            return 3
        if self.generation_id != NO_GENERATION:
            return 2
        return 1 if self.owned_partitions else 0


class ConsumerAssignment(ApiMessage):
    """The assignment of a member, as the leader computed it."""

    assigned_partitions: tuple[TopicPartitions, ...]
    user_data: NullableBytes = None


def encode_subscription(subscription: ConsumerSubscription, *, version: int | None = None) -> bytes:
    """Return the bytes of a subscription: metadata of a JoinGroup protocol.

    Args:
        subscription: the subscription; fields that the version lacks are omitted.
        version: the version; None: the oldest with all the fields that are set, since some clients
            can't read newer ones.

    Raises:
        LocalProtocolError: a value can't be sent, or there is no such version; names the field.
    """
    least = subscription.least_version()
    return _encode(subscription, least if version is None else version, SUBSCRIPTION_VERSION)


def encode_assignment(assignment: ConsumerAssignment, *, version: int = 0) -> bytes:
    """Return the bytes of an assignment, for SyncGroup.

    Raises:
        LocalProtocolError: a value can't be sent, or there is no such version; names the field.
    """
    return _encode(assignment, version, ASSIGNMENT_VERSION)


def decode_subscription(data: bytes | memoryview) -> tuple[int, ConsumerSubscription]:
    """Return a subscription, and the version that its member wrote, which may be unknown.

    Raises:
        DecodeError: the bytes are malformed; names field and position.
    """
    return _decode(ConsumerSubscription, data, SUBSCRIPTION_VERSION)


def decode_assignment(data: bytes | memoryview) -> tuple[int, ConsumerAssignment]:
    """Return an assignment, and the version that the leader wrote, which may be unknown.

    A coordinator sends no bytes to a member that the leader assigned nothing: this decodes to an
    empty assignment of version 0.

    Raises:
        DecodeError: the bytes are malformed; names field and position.
    """
    if not data:
        return 0, ConsumerAssignment(assigned_partitions=())
    return _decode(ConsumerAssignment, data, ASSIGNMENT_VERSION)


def _encode(message: ApiMessage, version: int, newest: int) -> bytes:
    name = type(message).__name__
    if not 0 <= version <= newest:
        raise LocalProtocolError(f"{name}: there is no version {version}, only 0 to {newest}")
    pieces: Pieces = [_VERSION.pack(version)]
    try:
        writer_of(type(message), version)(message, pieces)
    except Fault as fault:
        raise fault.unsendable(f"{name} v{version}") from None
    return b"".join(pieces)


def _decode(kind: type[M], data: bytes | memoryview, newest: int) -> tuple[int, M]:
    buffer = memoryview(data).cast("B")
    if len(buffer) < _VERSION.size:
        raise DecodeError(kind.__name__, "version", 0, "the bytes end in the middle of it")
    (version,) = _VERSION.unpack_from(buffer)
    if version < 0:
        raise DecodeError(kind.__name__, "version", 0, f"there is no version {version}")
    try:
        # No newer version: a reader is compiled for each version, and peers may send any number.
        # The readers' values are as untyped as the schema that they are compiled from.
        message: Any = reader_of(kind, min(version, newest))(buffer, _VERSION.size)[0]
    except Fault as fault:
        raise fault.unreadable(f"{kind.__name__} v{version}") from None
    return version, message
