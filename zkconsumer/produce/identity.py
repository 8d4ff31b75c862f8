"""Who an idempotent producer is, and how it numbers its records. Pure.

A broker of 0.11 or later remembers the numbers of a producer's last batches in each partition: what
comes a second time is not written again, and what comes too early is refused (KIP-98).
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
"""Of brokers up to 2.7 that want IDEMPOTENT_WRITE, and of topics that keep an older format."""


def sequence_behind(sequence: ProducerSequence, count: int) -> ProducerSequence:
    """Return the sequence of the set that follows one of so many records."""
    if sequence.first < 0:
        return sequence
    return sequence._replace(first=(sequence.first + count) & _LAST_NUMBER)


class ProducerIdentity:
    """Thread: one at a time.

    Args:
        is_wanted: whether the producer is to be idempotent where brokers let it.
    """

    def __init__(self, *, is_wanted: bool) -> None:
        self._is_wanted = is_wanted
        self._own = NO_SEQUENCE
        self._next: dict[TopicPartition, int] = {}

    @property
    def is_wanted(self) -> bool:
        """Whether sets are to be numbered, as far as we know."""
        return self._is_wanted

    @property
    def is_known(self) -> bool:
        """Whether there is an id."""
        return self._own.producer_id >= 0

    def give(self, producer_id: int, epoch: int) -> None:
        """Take an id that a broker gave; all numbers begin with 0."""
        self._own = ProducerSequence(producer_id, epoch)
        self._next.clear()

    def number(self, tp: TopicPartition, count: int) -> ProducerSequence:
        """Number the next so many records of a partition."""
        found = self._own._replace(first=self._next.get(tp, 0))
        self._next[tp] = sequence_behind(found, count).first
        return found

    def lose(self) -> None:
        """Forget the id: the next one numbers from 0, and no set is taken for another's copy."""
        self._own = NO_SEQUENCE

    def give_up(self) -> None:
        """Be a plain producer from now on."""
        self._is_wanted = False
        self.lose()


def is_lost(error: ZkConsumerError) -> bool:
    """Return whether a broker says that it does not go on with this id; another one helps."""
    return isinstance(error, BrokerError) and error.code in _LOST


def is_refused(error: ZkConsumerError) -> bool:
    """Return whether a broker takes the same set, perhaps, of a producer without an id."""
    return isinstance(error, BrokerError) and error.code in _REFUSED
