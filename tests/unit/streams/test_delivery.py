"""What each delivery mode counts as consumed, message by message, and what it commits ahead."""

from functools import partial

import pytest

from tests.support.chunks import T0, T1, chunk_of, claim_of, each_chunk, ignore
from tests.support.manual_clock import ManualClock
from zkconsumer.errors import ConfigError, ConsumerTimeout, OffsetCommitFailed, PartitionFailed
from zkconsumer.fetch.claim import Chunk, PartitionClaim
from zkconsumer.streams.chunk_queue import ChunkQueue
from zkconsumer.streams.delivery import Delivery
from zkconsumer.streams.stream import KafkaStream

pytestmark = pytest.mark.usefixtures(each_chunk.__name__)

Stream = KafkaStream[bytes, bytes]


class Committer:
    """Answers commits with these results in turn, and with True after that.

    It records each commit with the claim's delivered offset at that time.
    """

    def __init__(self, *responses: bool | OffsetCommitFailed) -> None:
        self.responses = list(responses)
        self.requested: list[tuple[int, int, int | None]] = []

    def commit(self, claim: PartitionClaim, offset: int) -> bool:
        """See ``CommitAhead``."""
        self.requested.append((claim.topic_partition.partition, offset, claim.delivered_offset))
        response = self.responses.pop(0) if self.responses else True
        if isinstance(response, OffsetCommitFailed):
            raise response
        if response:
            claim.committed_offset = offset
        return response


def stream_of(
    delivery: Delivery, *chunks: Chunk, committer: Committer | None = None
) -> tuple[Stream, ChunkQueue]:
    """Return a stream of this mode over these chunks; after them it raises ConsumerTimeout."""
    queue = ChunkQueue(100)
    for chunk in chunks:
        assert queue.offer(chunk, ignore)
    commit = (committer or Committer()).commit
    stream: Stream = KafkaStream(
        queue, clock=ManualClock(), timeout_ms=0, delivery=delivery, commit_ahead=commit
    )
    return stream, queue


def drain(stream: Stream) -> list[int]:
    """Return the offsets of all messages."""
    got: list[int] = []
    with pytest.raises(ConsumerTimeout):
        got.extend(message.offset for message in stream)
    return got


@pytest.mark.parametrize(
    ("delivery", "consumed"),
    [
        (Delivery.AT_LEAST_ONCE, [5, 6, 8]),
        (Delivery.SCALA, [6, 8, 10]),
        (Delivery.AT_MOST_ONCE, [6, 8, 10]),
    ],
)
def test_what_counts_as_consumed_with_each_message(delivery: Delivery, consumed: list[int]) -> None:
    """The consumed offset excludes the message in hand, or includes it; gaps are skipped."""
    claim = claim_of(committed=5)
    stream, _ = stream_of(delivery, chunk_of(claim, [5, 7]), chunk_of(claim, [9], fetched_at=8))
    seen = []
    for _ in range(3):
        next(stream)
        seen.append(claim.consumed_offset)
    assert seen == consumed
    assert claim.delivered_offset == 10


@pytest.mark.parametrize("delivery", Delivery)
def test_requesting_a_message_after_the_last_consumes_it_in_every_mode(delivery: Delivery) -> None:
    """Requesting a message after the last one consumes it and the gap up to the chunk's end."""
    claim = claim_of(committed=0)
    stream, _ = stream_of(delivery, chunk_of(claim, [0, 1], next_offset=10))
    assert drain(stream) == [0, 1]
    assert (claim.delivered_offset, claim.consumed_offset) == (10, 10)


def test_a_chunk_is_committed_before_its_first_message_and_once() -> None:
    """At most once: each chunk is committed up to its end before its first message is delivered."""
    one, two, committer = claim_of(T0, committed=0), claim_of(T1, committed=7), Committer()
    chunks = chunk_of(one, [0, 1, 2]), chunk_of(two, [7]), chunk_of(one, [3], next_offset=9)
    stream, _ = stream_of(Delivery.AT_MOST_ONCE, *chunks, committer=committer)
    assert committer.requested == []
    assert next(stream).offset == 0
    assert committer.requested == [(0, 3, None)]
    assert drain(stream) == [1, 2, 7, 3]
    assert committer.requested == [(0, 3, None), (1, 8, None), (0, 9, 3)]


@pytest.mark.parametrize("delivery", [Delivery.AT_LEAST_ONCE, Delivery.SCALA])
def test_the_other_modes_commit_nothing_ahead(delivery: Delivery) -> None:
    """The other modes never commit ahead, even if they could."""
    committer = Committer()
    stream, _ = stream_of(delivery, chunk_of(claim_of(), [0, 1]), committer=committer)
    assert drain(stream) == [0, 1]
    assert committer.requested == []


def test_a_commit_that_fails_is_raised_and_repeated_with_nothing_delivered() -> None:
    """At most once: if a commit fails the chunk is kept, and each call commits it again."""
    claim = claim_of(committed=0)
    error = OffsetCommitFailed("g", {T0: "no answer"})
    committer = Committer(error, error)
    stream, _ = stream_of(Delivery.AT_MOST_ONCE, chunk_of(claim, [0, 1]), committer=committer)
    for _ in range(2):
        with pytest.raises(OffsetCommitFailed, match="no answer"):
            next(stream)
        assert (claim.delivered_offset, claim.consumed_offset) == (None, 0)
    assert drain(stream) == [0, 1]
    assert [offset for _, offset, _ in committer.requested] == [2, 2, 2]


def test_a_chunk_of_another_owner_is_dropped() -> None:
    """At most once: a refused commit means that another member owns the partition.

    Its chunk is dropped, and the stream goes on.
    """
    lost, other = claim_of(T0, committed=0), claim_of(T1, committed=4)
    stream, queue = stream_of(
        Delivery.AT_MOST_ONCE,
        chunk_of(lost, [0, 1]),
        chunk_of(other, [4]),
        committer=Committer(False),
    )
    assert drain(stream) == [4]
    assert (lost.delivered_offset, lost.consumed_offset) == (None, 0)
    assert queue.used_bytes() == 0


def test_giving_up_loses_what_is_left_of_a_committed_chunk() -> None:
    """At most once: the documented loss is the rest of one chunk."""
    claim, committer = claim_of(committed=0), Committer()
    stream, _ = stream_of(
        Delivery.AT_MOST_ONCE,
        chunk_of(claim, [0, 1, 2]),
        chunk_of(claim, [3]),
        committer=committer,
    )
    assert next(stream).offset == 0
    claim.active = False
    assert drain(stream) == []
    assert [offset for _, offset, _ in committer.requested] == [3]
    assert claim.consumed_offset == 1


def test_a_claim_that_is_given_up_during_the_commit_delivers_nothing() -> None:
    """At most once: a claim that is given up during its commit delivers nothing."""
    claim, other = claim_of(committed=0), claim_of(T1, committed=8)

    def commit(of: PartitionClaim, _offset: int) -> bool:
        if of is claim:
            claim.active = False
        return True

    queue = ChunkQueue(10)
    for chunk in (chunk_of(claim, [0, 1]), chunk_of(other, [8])):
        queue.offer(chunk, ignore)
    stream: Stream = KafkaStream(
        queue,
        clock=ManualClock(),
        timeout_ms=0,
        delivery=Delivery.AT_MOST_ONCE,
        commit_ahead=commit,
    )
    assert drain(stream) == [8]
    assert queue.used_bytes() == 0


def test_a_jump_without_messages_is_committed_ahead_too() -> None:
    """At most once: a position that was reset is committed before it counts as consumed."""
    claim, committer = claim_of(committed=10_000), Committer()
    jump = chunk_of(claim, fetched_at=30)
    stream, _ = stream_of(Delivery.AT_MOST_ONCE, jump, chunk_of(claim, [30]), committer=committer)
    assert next(stream).offset == 30
    assert [offset for _, offset, _ in committer.requested] == [30, 31]


def test_poison_comes_after_the_records_in_at_most_once_too() -> None:
    """At most once: the records before poison are committed and delivered, then it is raised."""
    claim, committer = claim_of(committed=3), Committer()
    broken = chunk_of(claim, [3, 4], error=PartitionFailed(T0, 5, "CRC"))
    stream, _ = stream_of(Delivery.AT_MOST_ONCE, broken, committer=committer)
    assert [next(stream).offset, next(stream).offset] == [3, 4]
    with pytest.raises(PartitionFailed):
        next(stream)
    assert drain(stream) == []
    assert [offset for _, offset, _ in committer.requested] == [5]
    assert claim.consumed_offset == 5


def test_at_most_once_needs_a_way_to_commit() -> None:
    """At most once is refused without a way to commit, as it would not hold."""
    build = partial(KafkaStream[bytes, bytes], ChunkQueue(1), clock=ManualClock())
    with pytest.raises(ConfigError, match="at_most_once"):
        build(delivery=Delivery.AT_MOST_ONCE)


def test_modes_have_the_names_of_the_settings_values() -> None:
    """The values of the setting are the modes' names."""
    assert [Delivery(name) for name in ("at_least_once", "at_most_once", "scala")] == [
        Delivery.AT_LEAST_ONCE,
        Delivery.AT_MOST_ONCE,
        Delivery.SCALA,
    ]
