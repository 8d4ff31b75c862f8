"""Which partitions a native loop may take over, and what it gives back: pure, as the session is.

A partition is lent while it is *plain*: owned, its offset known, nothing of it in Python's hands,
its queue a native one. What is not plain is the session's, with all that it has always done:
errors, what can't be read, entries that need more than a part of a response, unknown offsets. A
queue that something odd waits for is the session's as a whole: nothing may pass what waits. Pure.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from zkconsumer.fetch.claim import ChunkSink, PartitionClaim
from zkconsumer.fetch.core.record_set import RecordSet
from zkconsumer.fetch.position import FetchPosition
from zkconsumer.fetch.session import FetchSession, Outcome
from zkconsumer.wire.messages.fetch import (
    FetchedPartition,
    FetchedTopic,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)


@dataclass(frozen=True, slots=True, eq=False)
class Delegation:
    """What a native loop is to read.

    Attributes:
        positions: those that are lent, those of a topic together: so they lie in a request, and in
            this order they come back.
        part_bytes: how much each of them is to be asked for.
        grown_bytes: the same for one that is far behind, at most.
        others_wait: partitions that are not lent wait for room: no broker is to wait for data.
    """

    positions: list[FetchPosition]
    part_bytes: int
    others_wait: bool
    grown_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """How a lent partition comes back.

    Attributes:
        fetch_offset: behind what queues took.
        needed_bytes: see ``FetchPosition``.
        packed: what came and is not in a queue.
        turn: when it last had its turn; 0: not since it was lent.
        error_code: what the broker answered to the question at ``fetch_offset``; 0: nothing odd.
        requested_bytes: how much was asked for with that.
        grown_bytes: see ``FetchPosition``.
        is_odd: what is packed is for the session to unpack.
    """

    fetch_offset: int
    needed_bytes: int
    packed: RecordSet | None
    turn: int
    error_code: int = 0
    requested_bytes: int = 0
    grown_bytes: int = 0
    is_odd: bool = False


@dataclass(slots=True, eq=False)
class NativeDelegate:
    """Lends the partitions of a session.

    Args:
        session: whose they are; nobody else touches it while a loan is out.
        can_fill: whether a native loop can put chunks into a queue.

    Attributes:
        unsupported: claims whose packed sets are for the session to unpack.
    """

    session: FetchSession
    can_fill: Callable[[ChunkSink], bool]
    unsupported: set[PartitionClaim] = field(default_factory=set)

    def delegate(self, has_capacity: Callable[[ChunkSink], bool]) -> Delegation | None:
        """What can be lent now; None where the session must ask itself first.

        Args:
            has_capacity: as of ``FetchSession.fetch_request``.
        """
        positions = [one for one in self.session.positions() if one.claim.active]
        self.unsupported |= {one.claim for one in positions if one.packed and one.packed.misplaced}
        if not all(self.can_fill(one.claim.sink) for one in positions):
            return None
        large = self.session.large_sinks()
        if any(has_capacity(sink) for sink in large):
            return None
        kept = {one.claim.sink for one in positions if self._holds_up(one)} | large
        lent = [one for one in positions if one.claim.sink not in kept and _is_plain(one)]
        if not lent:
            return None
        others_wait = len(lent) < sum(one.ready or one.is_waiting for one in positions)
        part_bytes = self.session.part_bytes(has_large=bool(large))
        grown_bytes = self.session.grown_bytes(has_large=bool(large))
        return Delegation(_by_topic(lent), part_bytes, others_wait, grown_bytes)

    def keeps(self, claims: Iterable[PartitionClaim]) -> list[PartitionClaim]:
        """Those whose packed sets are for the session to unpack."""
        large = self.session.large_sinks()
        return [claim for claim in claims if claim in self.unsupported or claim.sink in large]

    def take_back(
        self, delegation: Delegation, returned: Iterable[Returned]
    ) -> tuple[Outcome, ...]:
        """Give the positions back to the session, as if it had done itself what was done."""
        turns: list[tuple[int, FetchPosition]] = []
        refused: list[tuple[FetchPosition, Returned]] = []
        self.unsupported = {claim for claim in self.unsupported if claim.active}
        for position, state in zip(delegation.positions, returned, strict=True):
            if state.fetch_offset != position.fetch_offset:
                position.suspect_offset = None
            position.fetch_offset = state.fetch_offset
            position.needed_bytes = state.needed_bytes
            position.grown_bytes = state.grown_bytes
            position.packed = state.packed
            if state.turn:
                turns.append((state.turn, position))
            if state.is_odd:
                self.unsupported.add(position.claim)
                if state.packed is not None and not state.packed.at_byte:
                    self.session.judge_offsets(position)  # they may be what is odd
            if state.error_code:
                refused.append((position, state))
        for _, position in sorted(turns, key=lambda one: one[0]):
            self.session.end_turn(position.claim)
        return tuple(outcome for one in refused for outcome in self._refuse(*one))

    def forget_unpacked(self) -> None:
        """What was odd and is unpacked is odd no more."""
        if self.unsupported:
            self.unsupported &= set(self.session.packed())

    def _holds_up(self, position: FetchPosition) -> bool:
        """Whether something of it waits for its queue that can't be lent."""
        is_odd = position.packed is not None and position.claim in self.unsupported
        return position.pending is not None or is_odd

    def _refuse(self, position: FetchPosition, state: Returned) -> tuple[Outcome, ...]:
        """Have the session hear an error code as if it had asked."""
        topic, partition = position.claim.topic_partition
        requested = FetchPartition(
            partition=partition, fetch_offset=state.fetch_offset, max_bytes=state.requested_bytes
        )
        response = FetchedPartition(
            partition=partition,
            error_code=state.error_code,
            high_watermark=-1,
            records=memoryview(b""),
        )
        return self.session.receive_fetch(
            FetchRequest(
                max_wait_ms=0,
                min_bytes=0,
                topics=(FetchTopic(topic=topic, partitions=(requested,)),),
            ),
            FetchResponse(topics=(FetchedTopic(topic=topic, partitions=(response,)),)),
        )


def _is_plain(position: FetchPosition) -> bool:
    return position.fetch_offset is not None and not position.halted and position.pending is None


def _by_topic(positions: Iterable[FetchPosition]) -> list[FetchPosition]:
    """Topics in the order of their first partitions' turns, the turns of each as they are."""
    topics: dict[str, list[FetchPosition]] = {}
    for position in positions:
        topics.setdefault(position.claim.topic_partition.topic, []).append(position)
    return [position for together in topics.values() for position in together]
