"""The id of an idempotent producer, and the numbering of its records. Pure.

A broker of 0.11 or later remembers the sequence numbers of a producer's last batches in each
partition: duplicates are not written again, and gaps are refused (KIP-98).
"""

from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import BrokerError, ZkConsumerError
from zkconsumer.model import TopicPartition
from zkconsumer.produce.outgoing import NO_SEQUENCE, ProducerSequence

_LAST_NUMBER = (1 << 31) - 1

_LOST = frozenset(
    {
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.DUPLICATE_SEQUENCE_NUMBER,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.PRODUCER_FENCED,
    }
)
_REFUSED = frozenset(
    {
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
    }
)
"""Errors of brokers up to 2.7 that require IDEMPOTENT_WRITE, and of topics with an older format."""


def sequence_after(sequence: ProducerSequence, count: int) -> ProducerSequence:
    """Return the sequence after a set of ``count`` records."""
    if sequence.first < 0:
        return sequence
    return sequence._replace(first=(sequence.first + count) & _LAST_NUMBER)


class ProducerIdentity:
    """The producer id and the sequence numbers of an idempotent producer. Thread: one at a time.

    Args:
        is_wanted: whether the producer is to be idempotent if brokers allow it.

    Attributes:
        is_wanted: whether sets are to be numbered; set to False once a broker refuses that.
    """

    def __init__(self, *, is_wanted: bool) -> None:
        self.is_wanted = is_wanted
        self._own = NO_SEQUENCE
        self._next: dict[TopicPartition, ProducerSequence] = {}

    def is_known_to(self, tp: TopicPartition) -> bool:
        """Return whether a partition has a sequence, or can begin one with the current id."""
        return tp in self._next or self._own.producer_id >= 0

    def give(self, producer_id: int, epoch: int) -> None:
        """Set the producer id that a broker assigned; partitions that begin later use it."""
        self._own = ProducerSequence(producer_id, epoch, 0)

    def number(self, tp: TopicPartition, count: int) -> ProducerSequence:
        """Number the next ``count`` records of a partition."""
        found = self._next.get(tp, self._own)
        self._next[tp] = sequence_after(found, count)
        return found

    def restart(self, tp: TopicPartition) -> None:
        """Restart a partition's sequence at 0 with a new id, so that no set counts as a duplicate.

        Other partitions keep their sequences: their sets may have to be sent again with the same
        numbers.
        """
        self._next.pop(tp, None)
        self._own = NO_SEQUENCE


def is_lost(error: ZkConsumerError) -> bool:
    """Return whether a broker no longer accepts this producer id, so that a new one is needed."""
    return isinstance(error, BrokerError) and error.code in _LOST


def is_refused(error: ZkConsumerError) -> bool:
    """Return whether a broker may accept the same set from a plain producer."""
    return isinstance(error, BrokerError) and error.code in _REFUSED
