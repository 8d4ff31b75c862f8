"""A stream that meets poison: what it delivers before it, raises, repeats and skips."""

import logging

import pytest

from tests.support.chunks import T0, T1, chunk_of, claim_of, each_chunk, ignore
from tests.support.manual_clock import ManualClock
from zkconsumer.errors import ConsumerTimeout, DeadLetterFailed, PartitionFailed
from zkconsumer.fetch.claim import Chunk, Poison
from zkconsumer.streams.chunk_queue import ChunkQueue
from zkconsumer.streams.gate import DeliveryGate
from zkconsumer.streams.poison import PoisonMode, PoisonPolicy
from zkconsumer.streams.stream import KafkaStream

pytestmark = pytest.mark.usefixtures(each_chunk.__name__)

POISON = Poison(T0, 5, 8, PartitionFailed(T0, 5, "CRC"))


class FullDisk(PoisonPolicy):
    """A policy whose disk is full for the first ``failures`` attempts."""

    def __init__(self, failures: int) -> None:
        super().__init__(PoisonMode.SKIP)
        self.failures = failures
        self.met: list[int] = []

    def handle(self, poison: Poison) -> None:
        """See ``PoisonPolicy``."""
        self.met.append(poison.offset)
        if len(self.met) <= self.failures:
            raise DeadLetterFailed("no room on the disk")


def stream_of(
    policy: PoisonPolicy, *chunks: Chunk, gate: DeliveryGate | None = None
) -> tuple[KafkaStream[bytes, bytes], ChunkQueue]:
    """Return a stream over these chunks; after them it raises ConsumerTimeout."""
    queue = ChunkQueue(10)
    for chunk in chunks:
        assert queue.offer(chunk, ignore)
    return KafkaStream(queue, clock=ManualClock(), timeout_ms=0, poison=policy, gate=gate), queue


def test_skipped_poison_is_consumed_with_its_chunk(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Skipped poison is consumed with its chunk like a gap, and is logged."""
    claim = claim_of(committed=3)
    poisoned = chunk_of(claim, [3, 4], next_offset=8, poison=POISON)
    stream, queue = stream_of(PoisonPolicy(PoisonMode.SKIP), poisoned, chunk_of(claim, [8]))
    with caplog.at_level(logging.ERROR):
        assert [next(stream).offset for _ in range(3)] == [3, 4, 8]
    assert claim.consumed_offset == 8
    assert len(caplog.records) == 1
    with pytest.raises(ConsumerTimeout):
        next(stream)
    assert queue.used_bytes() == 0


def test_poison_is_handled_when_the_message_before_it_is_consumed() -> None:
    """Poison is handled only when the message before it is consumed, not while it is in hand."""
    policy = FullDisk(0)
    poisoned = chunk_of(claim_of(committed=4), [4], next_offset=8, poison=POISON)
    stream, _ = stream_of(policy, poisoned)
    next(stream)
    assert policy.met == []
    with pytest.raises(ConsumerTimeout):
        next(stream)
    assert policy.met == [5]


def test_a_chunk_stays_until_its_dead_letter_is_written() -> None:
    """Each call attempts the dead letter again; no offset passes it, and no chunk overtakes it."""
    policy, claim = FullDisk(2), claim_of(committed=4)
    poisoned = chunk_of(claim, [4], next_offset=8, poison=POISON)
    stream, queue = stream_of(policy, poisoned, chunk_of(claim, [8]))
    assert next(stream).offset == 4
    for _ in range(2):
        with pytest.raises(DeadLetterFailed):
            next(stream)
        assert (claim.delivered_offset, claim.consumed_offset) == (5, 5)
    assert queue.used_bytes() > 0
    assert next(stream).offset == 8
    assert policy.met == [5, 5, 5]


def test_poison_of_a_claim_that_was_given_up_is_not_handled() -> None:
    """Poison of a claim that was given up is left to the next owner."""
    policy, claim = FullDisk(5), claim_of(committed=4)
    poisoned = chunk_of(claim, [4], next_offset=8, poison=POISON)
    stream, _ = stream_of(policy, poisoned, chunk_of(claim_of(T1), [1]))
    next(stream)
    with pytest.raises(DeadLetterFailed):
        next(stream)
    claim.active = False
    assert next(stream).partition == 1
    assert policy.met == [5]


def test_poison_is_not_handled_while_delivery_pauses() -> None:
    """Poison is not handled while delivery pauses, as its owner is uncertain."""
    policy, gate = FullDisk(0), DeliveryGate(ManualClock(), 0)
    poisoned = chunk_of(claim_of(committed=4), [4], next_offset=8, poison=POISON)
    stream, _ = stream_of(policy, poisoned, gate=gate)
    next(stream)
    gate.suspect()
    with pytest.raises(ConsumerTimeout):
        next(stream)
    assert policy.met == []
    gate.trust()
    with pytest.raises(ConsumerTimeout):
        next(stream)
    assert policy.met == [5]


def test_poison_that_stops_the_partition_is_raised_once() -> None:
    """Poison whose next offset is unknown is raised once, whatever the policy."""
    unknown = Poison(T0, 5, None, PartitionFailed(T0, 5, "size"))
    claim = claim_of(committed=4)
    poisoned = chunk_of(claim, [4], poison=unknown)
    stream, queue = stream_of(PoisonPolicy(PoisonMode.SKIP), poisoned, chunk_of(claim_of(T1), [1]))
    next(stream)
    with pytest.raises(PartitionFailed, match="size"):
        next(stream)
    assert claim.consumed_offset == 5
    assert next(stream).partition == 1
    with pytest.raises(ConsumerTimeout):
        next(stream)
    assert queue.used_bytes() == 0
