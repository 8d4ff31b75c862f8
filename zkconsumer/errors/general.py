"""The errors of both consumers, and of the layers that they share."""

from collections.abc import Collection, Mapping, Sequence
from typing import Self

from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors.broker_codes import CorruptRecordError
from zkconsumer.errors.roots import (
    BrokerResponseError,
    Coded,
    InvalidMetadataError,
    KafkaError,
    RetriableError,
)
from zkconsumer.model import TopicPartition
from zkconsumer.printable import listed

ZkConsumerError = KafkaError


class KafkaConfigurationError(ZkConsumerError, ValueError, AssertionError):
    """A setting is missing, malformed or out of its range; the message names the key.

    Its bases are the classes that versions of kafka-python raise for one setting or another.
    """


ConfigError = KafkaConfigurationError


class IllegalArgumentError(KafkaConfigurationError, TypeError):
    """An argument is invalid; the message shows it, and says what is allowed.

    kafka-python raises ``TypeError`` or ``ValueError`` here, and before 3.0 ``AssertionError``.
    """


class IllegalStateError(ZkConsumerError, AssertionError):
    """A call is not allowed in the present state; the message says which call is.

    It is an ``AssertionError`` as in kafka-python before 3.0.

    Source: Kafka's and kafka-python's ``IllegalStateException``/``IllegalStateError``.
    """


IllegalState = IllegalStateError


class KafkaProtocolError(ZkConsumerError):
    """The bytes or the order of messages violate the protocol."""


ProtocolError = KafkaProtocolError


class LocalProtocolError(ProtocolError):
    """A request can't be expressed in the protocol: our fault, or the caller's."""


class RemoteProtocolError(ProtocolError):
    """The peer sent bytes that violate the protocol."""


class DecodeError(RemoteProtocolError):
    """The bytes received can't be decoded as the expected message.

    Attributes:
        message: the name of the message that was read.
        field: the path of the field inside it, such as ``topics[0].partitions[3].error_code``.
        position: the byte at which decoding failed, counted from the message's first.
    """

    def __init__(self, message: str, field: str, position: int, reason: str) -> None:
        super().__init__(f"{message}: {reason} (field {field or '-'}, byte {position})")
        self.message = message
        self.field = field
        self.position = position
        self.reason = reason


class CorruptRecord(RemoteProtocolError, CorruptRecordError):
    """A record fails its checksum, or its fields contradict each other.

    Attributes:
        offset: the offset of the entry in the log.
        position: the position in the record set at which the entry starts, in bytes.
        next_offset: the offset after the entry, where reading could go on; None if unknown.
        raw: the entry's own bytes (offset, size, message), as far as they were received.
    """

    def __init__(
        self, reason: str, *, offset: int, position: int, next_offset: int | None, raw: bytes = b""
    ) -> None:
        super().__init__(f"{reason} (offset {offset}, byte {position} of the message set)")
        self.reason = reason
        self.offset = offset
        self.position = position
        self.next_offset = next_offset
        self.raw = raw


class UnsupportedCodecError(CorruptRecord):
    """A record set is compressed with a codec that is unknown or not installed."""


UnsupportedCodec = UnsupportedCodecError


class UnsupportedVersionError(BrokerResponseError, code=ErrorCode.UNSUPPORTED_VERSION):
    """The broker lacks a required request version; the message names broker, API and version."""


UnsupportedVersion = UnsupportedVersionError


class TransportError(ZkConsumerError):
    """The network failed; the message names the address."""


class KafkaConnectionError(TransportError, InvalidMetadataError):
    """There is no connection to the broker."""


class ConnectFailed(KafkaConnectionError):
    """No connection could be established."""


class ConnectionLost(KafkaConnectionError):
    """The peer closed the connection, or it broke."""


class KafkaTimeoutError(TransportError, RetriableError):
    """The peer did not respond in time."""


RequestTimedOut = KafkaTimeoutError


class NoBrokersAvailable(ConnectFailed, KafkaTimeoutError):
    """No broker responds, for reasons that may be temporary; the message names all of them.

    kafka-python 3 raises ``KafkaTimeoutError`` in its place; earlier versions raise this one.
    """


class BrokerError(Coded, BrokerResponseError):
    """The broker responded with an error code; it can be caught as the class of that code, too.

    Attributes:
        code: the number of the error code.
        api: the API that was called.
        topic_partition: the partition that the error is about; None: no single one.
    """

    code: int

    def __new__(cls, code: int, *_args: object, **_named: object) -> Self:
        """Create an instance of the code's class, too."""
        return super().__new__(cls, code=code)

    def __init__(
        self, code: int, api: str, message: str, topic_partition: TopicPartition | None = None
    ) -> None:
        super().__init__(message, code=code)
        self.api = api
        self.topic_partition = topic_partition


class BrokerTimedOut(KafkaTimeoutError, BrokerError):
    """The time ran out; the last response of a broker was a retriable error code."""


class RegistryError(ZkConsumerError):
    """ZooKeeper is unreachable, rejected a request, or has invalid data; the message says where."""


class SessionLost(RegistryError):
    """The ZooKeeper session ended: its ephemeral nodes are gone, so nothing is owned any more."""


class RebalanceFailed(ZkConsumerError):
    """The member could not claim its share of the partitions in any of its attempts."""


class MessageStreamsExist(ZkConsumerError):
    """The streams of a connector were created before (Kafka ``MessageStreamsExistException``)."""


class OffsetCommitFailed(Coded):
    """Some partitions' offsets were not committed; the others were.

    Attributes:
        failed: the reason for each partition that failed.
        code: the error code with which a broker refused all of them; None if there is no single
            one.
    """

    def __init__(
        self, group_id: str, failed: Mapping[TopicPartition, str], *, code: int | None = None
    ) -> None:
        text = f"group {group_id}: offsets not committed for {_by_reason(failed)}"
        super().__init__(text, code=code)
        self.failed = dict(failed)


class OffsetCommitTimedOut(OffsetCommitFailed, KafkaTimeoutError):
    """The time for a commit ran out before the offsets of all partitions were committed."""


class WriteFailed(ZkConsumerError):
    """Some records were not acknowledged; the acknowledged ones are in the log.

    Attributes:
        failed: the reason for each partition that failed.
        unwritten: the number of records of each partition that were not acknowledged, including
            partitions that did not fail themselves but were unfinished when others did.
        written_count: the number of records of the same call that were acknowledged before.
        written: where they are in the log, by partition: the first offset and the number of records
            of each record set, in the order of the records.
        may_pass: whether every reason is retriable, so that only the attempts were used up.
        refused: the partitions of ``failed`` whose next record alone is refused for good, for its
            size or content; the records after it may be accepted.
    """

    def __init__(
        self,
        failed: Mapping[TopicPartition, str],
        *,
        unwritten: Mapping[TopicPartition, int],
        written_count: int,
        written: Mapping[TopicPartition, Sequence[tuple[int, int]]] | None = None,
        may_pass: bool = False,
        refused: Collection[TopicPartition] = (),
    ) -> None:
        count = sum(unwritten.values())
        super().__init__(
            f"{count} record{'' if count == 1 else 's'} not acknowledged, {written_count} were: "
            f"{_by_reason(failed)}"
        )
        self.failed = dict(failed)
        self.unwritten = dict(unwritten)
        self.written_count = written_count
        self.written = {tp: tuple(sets) for tp, sets in (written or {}).items()}
        self.may_pass = may_pass
        self.refused = frozenset(refused)


class MirrorError(ZkConsumerError):
    """A mirror can't continue, or its files can't be used; no message that it read was skipped."""


class RowRefused(ZkConsumerError):
    """A row of a Spark query can't be written; the message says which one, and why."""


_SHOWN = 10


def _by_reason(failed: Mapping[TopicPartition, str]) -> str:
    """Return each reason once, with its partitions; long lists are shortened."""
    partitions: dict[str, list[TopicPartition]] = {}
    for tp, reason in sorted(failed.items()):
        partitions.setdefault(reason, []).append(tp)
    parts = [
        f"{listed(of_reason, limit=_SHOWN)}: {reason}" for reason, of_reason in partitions.items()
    ]
    more = f"; and {len(parts) - _SHOWN} more reasons" if len(parts) > _SHOWN else ""
    return "; ".join(parts[:_SHOWN]) + more


class MessageTooLarge(ZkConsumerError):
    """A message is larger than the largest fetch allowed.

    Attributes:
        topic_partition: its partition.
        offset: its offset in the log.
        size_bytes: its whole size in the log (entry header included), -1 if unknown.
        limit_bytes: the largest fetch the configuration allows.
    """

    def __init__(
        self, topic_partition: TopicPartition, offset: int, size_bytes: int, limit_bytes: int
    ) -> None:
        size = f"{size_bytes} bytes" if size_bytes >= 0 else "an unknown number of bytes"
        super().__init__(
            f"message at {topic_partition} offset {offset} takes {size}, more than "
            f"the largest fetch of {limit_bytes}: raise fetch.message.growth.max.bytes"
        )
        self.topic_partition = topic_partition
        self.offset = offset
        self.size_bytes = size_bytes
        self.limit_bytes = limit_bytes


class PartitionFailed(Coded):
    """Reading of a partition can't continue at its position; ``__cause__`` has the reason.

    Attributes:
        topic_partition: the partition.
        offset: the offset that could not be read, -1 if unknown.
        code: the number of the error code that describes it, such as that of a damaged record;
            None if there is none.
    """

    def __init__(
        self,
        topic_partition: TopicPartition,
        offset: int,
        reason: str,
        *,
        code: int | None = None,
    ) -> None:
        where = f" at offset {offset}" if offset >= 0 else ""
        super().__init__(f"{topic_partition} stopped{where}: {reason}", code=code)
        self.topic_partition = topic_partition
        self.offset = offset


class DataLost(ZkConsumerError):
    """Requested offsets are not in the log, and the settings forbid skipping them.

    Attributes:
        topic_partition: the partition.
        from_offset: the first of them.
        until_offset: the offset after the last of them.
        reason: why they are not in the log.
    """

    def __init__(
        self, topic_partition: TopicPartition, from_offset: int, until_offset: int, reason: str
    ) -> None:
        super().__init__(
            f"{topic_partition}: the offsets [{from_offset}, {until_offset}) can't be read any "
            f"more: {reason}. To go on without them, set failOnDataLoss=false"
        )
        self.topic_partition = topic_partition
        self.from_offset = from_offset
        self.until_offset = until_offset
        self.reason = reason


class DeadLetterFailed(ZkConsumerError):
    """An unreadable message could not be written to the dead-letter file, which the message names.

    The position of the stream stays at that message, and the next iteration tries again.
    """


class ConsumerTimeout(ZkConsumerError):
    """No message came within ``consumer.timeout.ms``; the stream stays usable."""


class ConsumerClosed(IllegalStateError):
    """The consumer, connector or producer was closed, or is being closed by another thread."""


class ConsumerForked(ZkConsumerError):
    """A forked child used its parent's consumer; the message says what to do instead."""


class StreamInUse(ZkConsumerError):
    """Two callers read one stream at the same time; a stream has one reader at a time."""


class DrainError(ZkConsumerError):
    """A drain can't continue; landed batches stay complete, and the message says what to do."""


class SchemaError(ZkConsumerError):
    """A schema can't be fetched, or can't be used; the message says which, and why."""


class SandboxError(ZkConsumerError):
    """The sandbox could not do what was requested; one line says why and what to do."""
