"""Assigns records to partitions as the original's partitioners do. Pure.

Records with a key are assigned by its hash, so they go to the same partition as from the original's
own producers. Records without a key go to the partitions with a leader, in turn.

Brokers are not involved. The Scala producers before 0.8.2 computed the absolute value differently,
so they assigned keys with negative hashes to other partitions.

Source: Kafka 0.8.2.2 ``DefaultPartitioner``, ``ByteArrayPartitioner`` (of the Scala producer) and
``org.apache.kafka.clients.producer.internals.Partitioner`` (of the Java one).
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, wraps

from zkconsumer.assignment.java_order import string_hash
from zkconsumer.cluster.view import ClusterView
from zkconsumer.errors import ConfigError
from zkconsumer.model import TopicPartition

DEFAULT_PARTITIONER = "kafka.producer.DefaultPartitioner"
PARTITIONER_OPTION = "kafka.partitioner.class"

_MASK = 0xFFFFFFFF
_POSITIVE = 0x7FFFFFFF
_MURMUR_SEED = 0x9747B28C
_MURMUR_FACTOR = 0x5BD1E995
_KEPT_KEYS = 1 << 16
_KEPT_KEY_BYTES = 256
"""Bounds the cache at 16 MiB, since a Python worker lives as long as its executor."""

KeyHash = Callable[[bytes], int]
"""Returns the hash of a key, which is never negative."""


def _kept(hash_of: KeyHash) -> KeyHash:
    """Cache the hashes of short keys: keys recur, and long ones would fill memory."""
    of_short = lru_cache(_KEPT_KEYS)(hash_of)

    @wraps(hash_of)
    def kept_hash_of(key: bytes) -> int:
        return of_short(key) if len(key) <= _KEPT_KEY_BYTES else hash_of(key)

    return kept_hash_of


@_kept
def text_hash(key: bytes) -> int:
    """Return the hash of UTF-8 text, as the Scala producer's default partitioner computes it.

    That producer never sends invalid UTF-8; invalid bytes are replaced here, so that such a key
    always goes to the same partition, too.
    """
    return _scala_abs(string_hash(key.decode("utf-8", "replace")))


@_kept
def bytes_hash(key: bytes) -> int:
    """Return a key's hash as the Scala producer's ``ByteArrayPartitioner`` computes it."""
    value = 1
    for byte in key:
        value = (31 * value + (byte - 256 if byte > 127 else byte)) & _MASK
    return _scala_abs(_signed(value))


@_kept
def murmur_hash(key: bytes) -> int:
    """Return the hash of bytes as all of Kafka's Java producers compute it: murmur2."""
    value = _MURMUR_SEED ^ len(key)
    whole = len(key) & ~3
    for start in range(0, whole, 4):
        word = int.from_bytes(key[start : start + 4], "little") * _MURMUR_FACTOR & _MASK
        word = (word ^ word >> 24) * _MURMUR_FACTOR & _MASK
        value = (value * _MURMUR_FACTOR & _MASK) ^ word
    if whole < len(key):
        value = (value ^ int.from_bytes(key[whole:], "little")) * _MURMUR_FACTOR & _MASK
    value = (value ^ value >> 13) * _MURMUR_FACTOR & _MASK
    return (value ^ value >> 15) & _POSITIVE


_HASHES: dict[str, KeyHash] = {
    DEFAULT_PARTITIONER: text_hash,
    "kafka.producer.ByteArrayPartitioner": bytes_hash,
    "org.apache.kafka.clients.producer.internals.DefaultPartitioner": murmur_hash,
}

PARTITIONERS = tuple(_HASHES)
"""The supported class names; the first one is the default."""


def key_hash(partitioner: str) -> KeyHash:
    """Return the hash function of one of the original's partitioners, by its class name.

    Raises:
        ConfigError: it is not supported.
    """
    try:
        return _HASHES[partitioner]
    except KeyError:
        raise ConfigError(
            f"{PARTITIONER_OPTION} is {partitioner!r}: it must be {' or '.join(_HASHES)}"
        ) from None


class Chooser:
    """Assigns one topic's records to partitions.

    Args:
        partitions: all of the topic's partition numbers, ascending.
        available: the partitions with a leader at present; records without a key go to these.
        hash_of: the hash function.
        start: the index to begin with, so that parallel tasks begin with different ones.

    Attributes:
        numbers: all partition numbers, ascending.
        partitions: the same as a set.
        available: the partitions with a leader.
    """

    def __init__(
        self,
        partitions: Sequence[int],
        *,
        available: Sequence[int],
        hash_of: KeyHash,
        start: int = 0,
    ) -> None:
        self.numbers = tuple(partitions)
        self.partitions = frozenset(partitions)
        self.available = tuple(available)
        self._hash_of = hash_of
        self._next = start

    def choose(self, key: bytes | None) -> int:
        """Return the partition of a record with this key."""
        if key is not None:
            return self.numbers[self._hash_of(key) % len(self.numbers)]
        candidates = self.available or self.numbers
        chosen = candidates[self._next % len(candidates)]
        self._next += 1
        return chosen


def chooser_of(view: ClusterView, topic: str, *, hash_of: KeyHash, start: int) -> Chooser:
    """Return the chooser of a topic that a view of the cluster has; see ``Chooser``."""
    partitions = view.partitions[topic]
    led = [number for number in partitions if TopicPartition(topic, number) in view.leaders]
    return Chooser(partitions, available=led, hash_of=hash_of, start=start)


def _signed(value: int) -> int:
    return value - 2**32 if value & 0x80000000 else value


def _scala_abs(value: int) -> int:
    """Return the absolute value, or 0 for the smallest integer (Kafka 0.8.2.2 ``Utils.abs``)."""
    return 0 if value == -(2**31) else abs(value)
