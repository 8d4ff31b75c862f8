"""A stream with both ends in a test's hands, next to a list of what it has to give."""

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
"""So long a suspect gate stays open."""
Message = MessageAndMetadata[bytes, bytes]
Mark = Literal["poison", "failed"]


@dataclass(eq=False)
class Life:
    """A partition under one claim, as the model sees it.

    Attributes:
        end: where the next fetch begins.
        given: the offsets handed over.
        done: how many of them are done with: something was asked for since.
        stops: nothing follows: it met what can't be read.
    """

    number: int
    claim: PartitionClaim
    end: int
    given: list[int] = field(default_factory=list)
    done: int = 0
    stops: bool = False


class StreamModel:
    """What the stream has to give is ``line``: offsets of lives, and what is no message.

    Args:
        delivery: of the stream.
        mode: what to do with what can't be read: raise or skip.
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
        self.line: list[tuple[Life | None, int | Mark]] = []
        self.lives = [self._new_life(0, 0), self._new_life(1, 0)]

    # --- what happens to it ---

    def put(self, number: int, offsets: list[int], codec: Codec, *, stops: bool = False) -> None:
        """A fetch brings records, and something that can't be read behind them if it ``stops``."""
        life = self.lives[number]
        if life.stops:
            return
        found = [life.end + offset for offset in offsets]
        begin, life.end = life.end, (found[-1] + 1 if found else life.end)
        self.line += [(life, offset) for offset in found]
        poison = None
        if stops:
            poison = self._poison(life)
        data = build_message_set(records(*found), codec=codec)
        if are_native() and poison is None:
            assert native_of(self.queue).put_set(life.claim, data, begin) is None
            return
        rows = decode_record_set(data, fetch_offset=begin, max_decompressed_bytes=1 << 20).records
        chunk = Chunk(life.claim, begin, life.end, rows, 10 * len(rows), poison)
        assert self.queue.offer(chunk, ignore)

    def _poison(self, life: Life) -> Poison:
        tp, at = life.claim.topic_partition, life.end
        self.line.append((life, "poison"))
        if self.mode is PoisonMode.RAISE:
            life.stops = True
        else:
            life.end += 2
        return Poison(tp, at, at + 2, PartitionFailed(tp, at, "broken"))

    def fail(self) -> None:
        """A rebalance fails for good."""
        self.line.append((None, "failed"))
        self.queue.fail(RebalanceFailed("g", "no"))

    def revoke(self, number: int) -> None:
        """It is given up, and comes back where it stood."""
        life = self.lives[number]
        life.claim.active = False
        self.queue.discard_inactive()
        position = life.claim.consumed_offset
        if self.delivery.commits_ahead:
            position = self.committed_ahead.get(life.claim, position)
        assert position is not None
        self.line = [entry for entry in self.line if entry[0] is not life]
        self.lives[number] = self._new_life(number, position)

    def suspect(self) -> None:
        """ZooKeeper is silent."""
        self.gate.suspect()
        if self._suspect_since_ms is None:
            self._suspect_since_ms = self.clock.now_ms()

    def trust(self) -> None:
        """It answers."""
        self._suspect_since_ms = None
        self.gate.trust()

    def wait(self, time_ms: int) -> None:
        """Time goes by."""
        self.clock.advance(time_ms)

    # --- asking it ---

    def request(self, read: Callable[["StreamModel"], list[tuple[int, int]]], most: int) -> int:
        """Ask in some way, and hold the answer against the model; how many there were."""
        for life in (*self.lives, *(life for life, _ in self.line if life is not None)):
            life.done = len(life.given)
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
        """What is skipped in front of the next message, or up to this mark."""
        while self.line and self.line[0][1] == "poison" and self.mode is PoisonMode.SKIP:
            del self.line[0]
        if until is not None:
            assert self.line
            assert self.line.pop(0)[1] == until

    def _take(self, got: list[tuple[int, int]]) -> None:
        expected = self.line[: len(got)]
        assert [(life and life.number, entry) for life, entry in expected] == got
        del self.line[: len(got)]
        for life, offset in expected:
            assert life is not None
            assert isinstance(offset, int)
            life.given.append(offset)

    def check(self) -> None:
        """The offsets of every claim say what was handed over, and what was done with."""
        for life in self.lives:
            consumed, delivered = life.claim.consumed_offset, life.claim.delivered_offset
            rest = [entry for owner, entry in self.line if owner is life and isinstance(entry, int)]
            assert consumed is not None
            assert consumed <= (delivered or consumed)
            assert (delivered or consumed) <= min(rest, default=life.end)
            if life.given:
                assert delivered is not None
                assert delivered > life.given[-1]
            pending = life.given[life.done :]
            if self.delivery.consumes_delivered:
                assert not life.given or consumed > life.given[-1]
            else:
                assert consumed <= min(pending, default=consumed)
                assert life.done == 0 or consumed > life.given[life.done - 1]
            if self.delivery.commits_ahead and life.given:
                assert self.committed_ahead[life.claim] > life.given[-1]

    def finish(self) -> None:
        """Read to the end: all is given, and nothing is held."""
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

    def _new_life(self, number: int, offset: int) -> Life:
        claim = claim_of(TopicPartition("t", number), committed=offset)
        return Life(number, claim, offset)

    def _commit_ahead(self, claim: PartitionClaim, offset: int) -> bool:
        self.committed_ahead[claim] = offset
        return True


def _places(messages: list[Message]) -> list[tuple[int, int]]:
    return [(message.partition, message.offset) for message in messages]


def singly(model: StreamModel) -> list[tuple[int, int]]:
    """By ``next(stream)``."""
    return _places([next(model.stream)])


def by_iterator(number: int) -> Callable[[StreamModel], list[tuple[int, int]]]:
    """By one of two iterators that live as long as the stream."""
    return lambda model: _places([next(model.iterators[number])])


def by_task(model: StreamModel) -> list[tuple[int, int]]:
    """By an event loop."""
    return _places([model.loop.run_until_complete(anext(model.stream))])


def in_list(most: int) -> Callable[[StreamModel], list[tuple[int, int]]]:
    """By ``batches``: as many as are there in front of what is no message."""

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
    """By ``arrow_batches``."""

    def read(model: StreamModel) -> list[tuple[int, int]]:
        batch: Any = next(model.stream.arrow_batches(max_records=most, timeout_ms=0))
        columns: Iterator[list[int]] = (
            batch.column(name).to_pylist() for name in ("partition", "offset")
        )
        return list(zip(*columns, strict=True))

    return read
