"""The errors of both consumers and of what they share, by whose fault they are."""

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

ZkConsumerError = KafkaError


class KafkaConfigurationError(ZkConsumerError, ValueError, AssertionError):
    """A setting is missing, malformed or out of its range; the message names the key.

    kafka-python raises each of its bases for some settings, of one version or another.
    """


ConfigError = KafkaConfigurationError


class IllegalArgumentError(KafkaConfigurationError, TypeError):
    """What a call was given can't be; the message shows it, and says what to give.

    kafka-python raises ``TypeError`` or ``ValueError`` here, and before 3.0 ``AssertionError``.
    """


class IllegalStateError(ZkConsumerError, AssertionError):
    """A call that does not fit what was called before; the message says which call would.

    It is an ``AssertionError`` as in kafka-python before 3.0.

    Source: Kafka's and kafka-python's ``IllegalStateException``/``IllegalStateError``.
    """


IllegalState = IllegalStateError


class KafkaProtocolError(ZkConsumerError):
    """Bytes or calls that break the protocol."""


ProtocolError = KafkaProtocolError


class LocalProtocolError(ProtocolError):
    """We tried to send something the protocol can't carry (our fault, or the caller's)."""


class RemoteProtocolError(ProtocolError):
    """The peer sent something that breaks the protocol."""


class DecodeError(RemoteProtocolError):
    """Bytes that are not the message they should be.

    Attributes:
        message: the name of the message that was read.
        field: the path of the field inside it, such as ``topics[0].partitions[3].error_code``.
        position: the byte, counted from the message's first, at which it failed.
    """

    def __init__(self, message: str, field: str, position: int, reason: str) -> None:
        super().__init__(f"{message}: {reason} (field {field or '-'}, byte {position})")
        self.message = message
        self.field = field
        self.position = position
        self.reason = reason


class CorruptRecord(RemoteProtocolError, CorruptRecordError):
    """A record that fails its checksum or whose fields contradict each other.

    Attributes:
        offset: the offset that the log gives the entry.
        position: the byte of the message set at which the entry starts.
        next_offset: where reading could go on behind the entry; None where that can't be known.
        raw: the entry's own bytes (offset, size, message), as far as they are there.
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
    """A record set compressed with a codec that is unknown or not installed."""


UnsupportedCodec = UnsupportedCodecError


class UnsupportedVersionError(BrokerResponseError, code=ErrorCode.UNSUPPORTED_VERSION):
    """The broker lacks a request version we need; the message names broker, API and version."""


UnsupportedVersion = UnsupportedVersionError


class TransportError(ZkConsumerError):
    """The network failed; the message names the address."""


class KafkaConnectionError(TransportError, InvalidMetadataError):
    """There is no connection to a broker."""


class ConnectFailed(KafkaConnectionError):
    """No connection could be made."""


class ConnectionLost(KafkaConnectionError):
    """The peer closed the connection, or it broke."""


class KafkaTimeoutError(TransportError, RetriableError):
    """The peer did not answer in time."""


RequestTimedOut = KafkaTimeoutError


class NoBrokersAvailable(ConnectFailed, KafkaTimeoutError):
    """No broker answers, for reasons that may pass; the message names each, and why it doesn't.

    kafka-python 3 raises ``KafkaTimeoutError`` in its place, and those before it this one.
    """


class BrokerError(Coded, BrokerResponseError):
    """The broker answered with an error code; it is caught as that one's error, too.

    Attributes:
        code: the number of the error code.
        api: the API that was called.
        topic_partition: what the answer was about, if about one partition.
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
    """The time was over, and the last that a broker said was an error code that may pass."""


class RegistryError(ZkConsumerError):
    """ZooKeeper can't be reached, refused, or holds what is invalid; names the path."""


class SessionLost(RegistryError):
    """The ZooKeeper session ended: ephemeral nodes are gone, ownership is void."""


class RebalanceFailed(ZkConsumerError):
    """The member could not get its share of the partitions after all its tries."""


class MessageStreamsExist(ZkConsumerError):
    """A connector creates its streams once only (Kafka ``MessageStreamsExistException``)."""


class OffsetCommitFailed(Coded):
    """Some partitions' offsets were not committed; the others were.

    Attributes:
        failed: the reason for each partition that failed.
        code: the error code that a broker refused all of them with; None where that is not so.
    """

    def __init__(
        self, group_id: str, failed: Mapping[TopicPartition, str], *, code: int | None = None
    ) -> None:
        text = f"group {group_id}: offsets not committed for {_by_reason(failed)}"
        super().__init__(text, code=code)
        self.failed = dict(failed)


class OffsetCommitTimedOut(OffsetCommitFailed, KafkaTimeoutError):
    """The time for a commit was over before all partitions' offsets were committed."""


class WriteFailed(ZkConsumerError):
    """Some records were not acknowledged; those that were are in the log.

    Attributes:
        failed: the reason for each partition that failed.
        unwritten: how many records of each partition were not acknowledged: also of partitions
            that did not fail themselves, but were not finished when others did.
        written_count: how many records of the same call were acknowledged before.
        written: where these are: the first offset and the number of records of each set, by
            partition, in the order of the records.
        may_pass: whether every reason is of the kind that passes, so that only the tries were used
            up.
        refused: those of ``failed`` whose next record alone, for its size or for what is in it,
            is refused for good; the records behind it may be taken.
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
    """A mirror can't go on, or can't be proven; nothing that it read was passed over."""


class RowRefused(ZkConsumerError):
    """A row of a Spark query can't be written as it is; the message says which one, and why."""


_SHOWN = 10


def _by_reason(failed: Mapping[TopicPartition, str]) -> str:
    """Return each reason once, with the partitions that it holds for; of many only some."""
    partitions: dict[str, list[TopicPartition]] = {}
    for tp, reason in sorted(failed.items()):
        partitions.setdefault(reason, []).append(tp)
    parts = [
        f"{', '.join(map(format, of_reason[:_SHOWN]))}"
        f"{f' and {len(of_reason) - _SHOWN} more' if len(of_reason) > _SHOWN else ''}: {reason}"
        for reason, of_reason in partitions.items()
    ]
    more = f"; and {len(parts) - _SHOWN} more reasons" if len(parts) > _SHOWN else ""
    return "; ".join(parts[:_SHOWN]) + more


class MessageTooLarge(ZkConsumerError):
    """A message is larger than the largest fetch allowed.

    Attributes:
        topic_partition: where it lies.
        offset: its offset in the log.
        size_bytes: its whole size in the log (entry header included), -1 where unknown.
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
    """A partition can't be read on from where it stands; its cause is the ``__cause__``.

    Attributes:
        topic_partition: the partition.
        offset: the offset that could not be read, -1 where it is not known.
        code: the error code that says why, such as that of a damaged record; None where none does.
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
    """Offsets that were to be read are not in the log, and the settings forbid skipping them.

    Attributes:
        topic_partition: where they were to be.
        from_offset: the first of them.
        until_offset: one past the last of them.
        reason: why they are not there.
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
    """A message that can't be read could not be put aside either; the message names the file.

    The stream stays before it, and its next iteration tries again.
    """


class ConsumerTimeout(ZkConsumerError):
    """No message came within ``consumer.timeout.ms``; the stream stays usable."""


class ConsumerClosed(IllegalStateError):
    """The connector was shut down."""


class ConsumerForked(ZkConsumerError):
    """A forked child used its parent's connector; the message says what to do instead."""


class StreamInUse(ZkConsumerError):
    """Two callers ask one stream for messages at a time; each stream has one reader."""


class DrainError(ZkConsumerError):
    """A drain can't go on; what it landed stays whole, and the message says what to do."""


class SchemaError(ZkConsumerError):
    """A schema can't be had, or can't be used; the message says which, and why."""


class SandboxError(ZkConsumerError):
    """The sandbox could not do what was requested; one line says why and what to do."""
