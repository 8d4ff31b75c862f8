"""A stream whose input and output a test controls, and a model of what it must deliver."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.support.chunks import are_native, claim_of, ignore
from tests.support.manual_clock import ManualClock
from tests.support.queues import native_of, new_queue
from tests.support.record_sets import records
from zkconsumer.errors import ConsumerTimeout, PartitionFailed, RebalanceFailed
from zkconsumer.fetch.claim import Chunk, PartitionClaim, Poison
from zkconsumer.model import TopicPartition
from zkconsumer.records.build import build_message_set
from zkconsumer.records.codecs import Codec
from zkconsumer.records.decode import decode_record_set
from zkconsumer.streams.delivery import Delivery
from zkconsumer.streams.gate import DeliveryGate
from zkconsumer.streams.message import MessageAndMetadata
from zkconsumer.streams.poison import PoisonMode, PoisonPolicy
from zkconsumer.streams.stream import KafkaStream

SILENCE_MS = 100
"""How long a gate stays open after ZooKeeper has become silent."""
Message = MessageAndMetadata[bytes, bytes]
Mark = Literal["poison", "failed"]


@dataclass(eq=False)
class ModelClaim:
    """A partition under one claim, in the model.

    Attributes:
        end: the offset of the next fetch.
        given: the delivered offsets.
        done: how many of them are finished, as the caller requested more since.
        stops: whether it stopped at a poison.
    """

    number: int
    claim: PartitionClaim
    end: int
    given: list[int] = field(default_factory=list)
    done: int = 0
    stops: bool = False


class StreamModel:
    """A stream, and ``line``: the offsets by claim, and the errors, that it must deliver next.

    Args:
        delivery: the stream's delivery mode.
        mode: the poison policy: raise or skip.
    """

    def __init__(self, delivery: Delivery, mode: PoisonMode) -> None:
        self.delivery, self.mode = delivery, mode
        self.clock = ManualClock()
        self.queue = new_queue(1_000, None)
        self.gate = DeliveryGate(self.clock, SILENCE_MS)
        self.committed_ahead: dict[PartitionClaim, int] = {}
        self.stream: KafkaStream[bytes, bytes] = KafkaStream(
            self.queue,
            clock=self.clock,
            timeout_ms=0,
            gate=self.gate,
            delivery=delivery,
            commit_ahead=self._commit_ahead,
            poison=PoisonPolicy(mode),
        )
        self.iterators = [iter(self.stream), iter(self.stream)]
        self.loop = asyncio.new_event_loop()
        self._suspect_since_ms: int | None = None
        self.line: list[tuple[ModelClaim | None, int | Mark]] = []
        self.claims = [self._new_claim(0, 0), self._new_claim(1, 0)]

    # --- input ---

    def put(self, number: int, offsets: list[int], codec: Codec, *, stops: bool = False) -> None:
        """Queue fetched records, followed by a poison if ``stops``."""
        claimed = self.claims[number]
        if claimed.stops:
            return
        fetched = [claimed.end + offset for offset in offsets]
        begin, claimed.end = claimed.end, (fetched[-1] + 1 if fetched else claimed.end)
        self.line += [(claimed, offset) for offset in fetched]
        poison = None
        if stops:
            poison = self._poison(claimed)
        data = build_message_set(records(*fetched), codec=codec)
        if are_native() and poison is None:
            assert native_of(self.queue).put_set(claimed.claim, data, begin) is None
            return
        rows = decode_record_set(data, fetch_offset=begin, max_decompressed_bytes=1 << 20).records
        chunk = Chunk(claimed.claim, begin, claimed.end, rows, 10 * len(rows), poison)
        assert self.queue.offer(chunk, ignore)

    def _poison(self, claimed: ModelClaim) -> Poison:
        tp, at = claimed.claim.topic_partition, claimed.end
        self.line.append((claimed, "poison"))
        if self.mode is PoisonMode.RAISE:
            claimed.stops = True
        else:
            claimed.end += 2
        return Poison(tp, at, at + 2, PartitionFailed(tp, at, "broken"))

    def fail(self) -> None:
        """Let a rebalance fail permanently."""
        self.line.append((None, "failed"))
        self.queue.fail(RebalanceFailed("g", "no"))

    def revoke(self, number: int) -> None:
        """Revoke a partition, and claim it again at its consumed offset."""
        claimed = self.claims[number]
        claimed.claim.active = False
        self.queue.discard_inactive()
        position = claimed.claim.consumed_offset
        if self.delivery.commits_ahead:
            position = self.committed_ahead.get(claimed.claim, position)
        assert position is not None
        self.line = [entry for entry in self.line if entry[0] is not claimed]
        self.claims[number] = self._new_claim(number, position)

    def suspect(self) -> None:
        """Let the connection to ZooKeeper become silent."""
        self.gate.suspect()
        if self._suspect_since_ms is None:
            self._suspect_since_ms = self.clock.now_ms()

    def trust(self) -> None:
        """Let ZooKeeper respond again."""
        self._suspect_since_ms = None
        self.gate.trust()

    def wait(self, time_ms: int) -> None:
        """Advance the clock."""
        self.clock.advance(time_ms)

    # --- output ---

    def request(self, read: Callable[["StreamModel"], list[tuple[int, int]]], most: int) -> int:
        """Read with ``read``, and compare with the model; return the number of messages."""
        for claimed in (
            *self.claims,
            *(claimed for claimed, _ in self.line if claimed is not None),
        ):
            claimed.done = len(claimed.given)
        is_shut = self._is_shut()
        try:
            got = read(self)
        except (PartitionFailed, RebalanceFailed) as error:
            kind = "poison" if isinstance(error, PartitionFailed) else "failed"
            self._pass_over(until=kind)
            got = []
        except ConsumerTimeout:
            if not is_shut:
                self._pass_over()
                assert not self.line
            got = []
        if got:
            assert not is_shut
            self._pass_over()
            assert len(got) <= most
            self._take(got)
        self.check()
        return len(got)

    def _pass_over(self, until: str | None = None) -> None:
        """Remove skipped poisons from ``line``, and the mark ``until`` if given."""
        while self.line and self.line[0][1] == "poison" and self.mode is PoisonMode.SKIP:
            del self.line[0]
        if until is not None:
            assert self.line
            assert self.line.pop(0)[1] == until

    def _take(self, got: list[tuple[int, int]]) -> None:
        expected = self.line[: len(got)]
        assert [(claimed and claimed.number, entry) for claimed, entry in expected] == got
        del self.line[: len(got)]
        for claimed, offset in expected:
            assert claimed is not None
            assert isinstance(offset, int)
            claimed.given.append(offset)

    def check(self) -> None:
        """Check each claim's offsets against what was delivered and finished."""
        for claimed in self.claims:
            consumed, delivered = claimed.claim.consumed_offset, claimed.claim.delivered_offset
            rest = [
                entry for owner, entry in self.line if owner is claimed and isinstance(entry, int)
            ]
            assert consumed is not None
            assert consumed <= (delivered or consumed)
            assert (delivered or consumed) <= min(rest, default=claimed.end)
            if claimed.given:
                assert delivered is not None
                assert delivered > claimed.given[-1]
            pending = claimed.given[claimed.done :]
            if self.delivery.consumes_delivered:
                assert not claimed.given or consumed > claimed.given[-1]
            else:
                assert consumed <= min(pending, default=consumed)
                assert claimed.done == 0 or consumed > claimed.given[claimed.done - 1]
            if self.delivery.commits_ahead and claimed.given:
                assert self.committed_ahead[claimed.claim] > claimed.given[-1]

    def finish(self) -> None:
        """Read to the end, and check that everything was delivered."""
        self.trust()
        for _ in range(len(self.line) + 1):
            self.request(singly, 1)
        assert not self.line
        assert (self.queue.used_bytes(), self.queue.chunk_count()) == (0, 0)
        self.queue.close()
        assert [list(iterator) for iterator in self.iterators] == [[], []]
        assert list(self.stream.batches(timeout_ms=0)) == []
        assert list(self.stream) == []

    def _is_shut(self) -> bool:
        since_ms = self._suspect_since_ms
        return since_ms is not None and self.clock.now_ms() - since_ms >= SILENCE_MS

    def _new_claim(self, number: int, offset: int) -> ModelClaim:
        claim = claim_of(TopicPartition("t", number), committed=offset)
        return ModelClaim(number, claim, offset)

    def _commit_ahead(self, claim: PartitionClaim, offset: int) -> bool:
        self.committed_ahead[claim] = offset
        return True


def _places(messages: list[Message]) -> list[tuple[int, int]]:
    return [(message.partition, message.offset) for message in messages]


def singly(model: StreamModel) -> list[tuple[int, int]]:
    """Read one message with ``next(stream)``."""
    return _places([next(model.stream)])


def by_iterator(number: int) -> Callable[[StreamModel], list[tuple[int, int]]]:
    """Return a reader that uses one of two long-lived iterators."""
    return lambda model: _places([next(model.iterators[number])])


def by_task(model: StreamModel) -> list[tuple[int, int]]:
    """Read one message in an event loop."""
    return _places([model.loop.run_until_complete(anext(model.stream))])


def in_list(most: int) -> Callable[[StreamModel], list[tuple[int, int]]]:
    """Return a reader with ``batches``, which must return all messages before a mark."""

    def read(model: StreamModel) -> list[tuple[int, int]]:
        got = _places(next(model.stream.batches(max_records=most, timeout_ms=0)))
        if not model.delivery.commits_ahead:
            line = iter(model.line)
            kinds = [isinstance(entry, int) for _, entry in line]
            while kinds and not kinds[0]:
                del kinds[0]
            there = kinds.index(False) if False in kinds else len(kinds)
            assert len(got) == min(most, there)
        return got

    return read


def in_arrow(most: int) -> Callable[[StreamModel], list[tuple[int, int]]]:
    """Return a reader with ``arrow_batches``."""

    def read(model: StreamModel) -> list[tuple[int, int]]:
        batch: Any = next(model.stream.arrow_batches(max_records=most, timeout_ms=0))
        columns: Iterator[list[int]] = (
            batch.column(name).to_pylist() for name in ("partition", "offset")
        )
        return list(zip(*columns, strict=True))

    return read
