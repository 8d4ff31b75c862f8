"""State of one partition's fetching, and the transitions between its phases. Pure.

There are two positions: ``position`` is the caller's, after the last record handed out; ``fetched``
is after the last buffered one. Buffered records always begin at the first and end at the second.

| phase | meaning | left by |
|---|---|---|
| NO_POSITION | no position; nothing is fetched | a seek |
| RESETTING | the positions thread looks up the policy's offset | its result |
| FETCHING | requests go to ``source`` | trouble |
| CHECKING_RANGE | the broker reports "out of range"; the log's ends are looked up | their result |
| OUTSIDE | out of range; buffered records are handed out first | the reset policy, after these |
| STUCK | an error is reported, after the buffered records | a seek; or the report |

A FETCHING partition may have ``awaits_validation`` set: the leader changed, and a lookup must
show that its log is the one that was read (KIP-320); nothing is fetched before that.

A seek drops ``requested`` and ``lookup``, and so invalidates everything under way: a response
counts only while the state still holds the very object that it answers.
"""

from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from zkconsumer.errors import ZkConsumerError
from zkconsumer.fetch.core.completed import BufferedChunk, PackedSet, PartitionRequest
from zkconsumer.fetch.core.delegated import DelegatedFetch
from zkconsumer.fetch.core.starts import LogEdge, PositionView, Start
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.wire.absent import NO_EPOCH


class Phase(Enum):
    """Phase of a partition's fetching; see the module."""

    NO_POSITION = "no position"
    RESETTING = "the offset of the reset policy is requested"
    FETCHING = "fetching"
    CHECKING_RANGE = "reported as out of range"
    OUTSIDE = "out of range"
    STUCK = "an error"


@dataclass(slots=True, eq=False)
class PendingError:
    """Hold an error to report to the caller.

    Attributes:
        error: the error.
        is_retriable: whether to retry once it is reported; else the caller has to seek.
        is_reported: whether the caller has received it.
    """

    error: ZkConsumerError
    is_retriable: bool = False
    is_reported: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class PositionLookup:
    """Identify a lookup about a partition; its result counts while the state holds it.

    Attributes:
        topic_partition: the partition.
        fetched: the fetch position at the time of the lookup; None in a reset.
        leader_epoch: the leader's epoch to send.
    """

    topic_partition: TopicPartition
    fetched: PositionView | None
    leader_epoch: int


class FetchBounds(Protocol):
    """Bound how much to fetch of a partition; see ``fetch.ranges``."""

    @property
    def is_held(self) -> bool:
        """Whether something waits for capacity, which may become available at any moment."""
        ...

    def size_at(self, offset: int) -> int:
        """Return how many bytes to fetch from an offset on; 0: nothing."""
        ...

    def takes_large(self) -> bool:
        """Return whether to fetch an entry that is larger than its part of a response now."""
        ...

    def expect_set(self) -> None:
        """Record that a set is about to be unpacked; a request planned now is for what follows."""
        ...

    def learn(self, start: int, stop: int, size_bytes: int) -> None:
        """Record how many bytes these offsets take in the log."""
        ...


@dataclass(slots=True, eq=False)
class PartitionState:
    """Hold the fetch state of one partition.

    Attributes:
        topic_partition: the partition.
        phase: see the module.
        position: the caller's position; None if not known.
        fetched: the offset after the last fetched record; None if not known.
        waiting: chunks fetched and not handed out.
        policy: the reset policy while RESETTING.
        trouble: the error while STUCK.
        bounds: how much to fetch; None: all there is, in the usual size.
        until_offset: the end of a range, exclusive; None: there is no end.
        is_paused: whether the caller paused it.
        leader: its leader; None: none is known.
        leader_epoch: the leader's epoch; -1 if not known.
        named_epoch: the leader's epoch to send; -1 also if it must not be sent, see
            ``ClusterView.has_exact_epochs``.
        topic_ids: the topic's ids seen so far; more than one if it was created again.
        replica: id of the broker that the leader prefers for our fetches (KIP-392).
        replica_until_ms: when that preference expires.
        source: the broker to fetch from: the replica, else the leader.
        awaits_validation: whether the leader's log is yet to be compared with what was fetched.
        requested: the request in flight, or the one whose response is being unpacked.
        early: the request after that one, sent before unpacking.
        packed: the set to unpack after the buffered records; ``requested`` is its request.
        delegated: what a native loop fetches of it; ``requested`` is its request. None: nothing.
        lookup: the lookup under way.
        needed_bytes: minimum size of the next request.
        grown_bytes: size of the next request, if the last was filled; 0: the usual size.
        filled_bytes: size of the last request, if its response filled it; else 0.
        is_behind: whether the last response filled what was requested.
        suspect_offset: offset of the last corruption; a second one there is believed.
        doubts: count of "out of range" errors about an offset that is in the log.
        failures: errors in a row; the next retry is at ``retry_at_ms``.
        retry_at_ms: time of the next retry.
        responses: count of fetch responses, including those that omit the partition.
        high_watermark: as of the last response; -1 if not known.
        last_stable: last stable offset, likewise.
        log_start: log start offset, likewise.
    """

    topic_partition: TopicPartition
    phase: Phase = Phase.NO_POSITION
    position: PositionView | None = None
    fetched: PositionView | None = None
    waiting: deque[BufferedChunk] = field(default_factory=deque)
    policy: LogEdge | None = None
    trouble: PendingError | None = None
    bounds: FetchBounds | None = None
    until_offset: int | None = None
    is_paused: bool = False
    leader: Broker | None = None
    leader_epoch: int = NO_EPOCH
    named_epoch: int = NO_EPOCH
    topic_ids: tuple[bytes, ...] = ()
    replica: int | None = None
    replica_until_ms: int = 0
    source: Broker | None = None
    awaits_validation: bool = False
    requested: PartitionRequest | None = None
    early: PartitionRequest | None = None
    packed: PackedSet | None = None
    delegated: DelegatedFetch | None = None
    lookup: PositionLookup | None = None
    needed_bytes: int = 0
    grown_bytes: int = 0
    filled_bytes: int = 0
    is_behind: bool = False
    suspect_offset: int | None = None
    doubts: int = 0
    failures: int = 0
    retry_at_ms: int = 0
    responses: int = 0
    high_watermark: int = -1
    last_stable: int = -1
    log_start: int = -1

    @property
    def topic_id(self) -> bytes | None:
        """The id of the topic that is fetched; None if not known."""
        return self.topic_ids[-1] if self.topic_ids else None

    @property
    def unread_bytes(self) -> int:
        """Estimated wire bytes of the records buffered for the caller."""
        return sum(chunk.unread_bytes for chunk in self.waiting)

    @property
    def has_changes(self) -> bool:
        """Whether there is something to report to the caller."""
        if self.is_paused:
            return False
        return bool(self.waiting) or self.trouble is not None

    @property
    def may_fetch(self) -> bool:
        """Whether a request may include it, as far as the partition itself is concerned."""
        return self.phase is Phase.FETCHING and not self.awaits_validation and not self.is_paused

    @property
    def is_pumped(self) -> bool:
        """Whether a native loop fetches it, and may continue as it was told."""
        if self.delegated is None or not self.may_fetch:
            return False
        return self._would_go_to(self.delegated.requested)

    @property
    def is_asking(self) -> bool:
        """Whether a lookup about it is under way, or due."""
        return self.phase in (Phase.RESETTING, Phase.CHECKING_RANGE) or (
            self.phase is Phase.FETCHING and self.awaits_validation
        )

    def seek(self, start: Start) -> None:
        """Continue reading at another start position; drop buffered records."""
        if isinstance(start, PositionView):
            self.start_at(start)
            self.await_validation()
        else:
            self.reset(start)

    def reset(self, policy: LogEdge) -> None:
        """Look up a reset policy's offset, and continue reading there."""
        self._forget()
        self.phase, self.policy = Phase.RESETTING, policy
        self.position = self.fetched = None

    def start_at(self, start: PositionView) -> None:
        """Continue at a position without validating it, such as the offset of a policy."""
        self._forget()
        self.phase = Phase.FETCHING
        self.position = self.fetched = start

    def go_on_at(self, offset: int) -> None:
        """Continue after sound records that another loop handed out."""
        self.position = self.fetched = PositionView(offset)
        self.suspect_offset = None

    def refetch(self) -> None:
        """Drop buffered records, and fetch them again."""
        assert self.position is not None
        self.seek(self.position)  # a comparison with a new leader's log is still due

    def stop_with(self, trouble: PendingError) -> None:
        """Report an error to the caller, after the buffered records."""
        self.phase, self.trouble = Phase.STUCK, trouble
        self.drop_requests()
        self.lookup = None

    def received(self) -> None:
        """Record that the error was reported; retry unless it needs a seek."""
        if self.trouble is not None and self.trouble.is_retriable:
            self.trouble = None
            self.phase = Phase.RESETTING if self.fetched is None else Phase.FETCHING

    def drop_requests(self) -> None:
        """Ignore the responses to all requests in flight, and what a native loop fetched."""
        self.requested = self.early = self.packed = None
        if self.delegated is not None:
            self.delegated.claim.active = False
            self.delegated = None

    def drop_early(self) -> None:
        """Ignore the response to a request that was sent before the last set was unpacked."""
        self.early = None
        if self.packed is None:
            self.requested = None

    def on_response(self) -> None:
        """Release the current request, answered or not.

        An early request takes its place, if the same request would be sent now.
        """
        early = self.early
        self.drop_requests()
        if early is not None and self.is_at(early):
            self.requested = early

    def receive(self, *, has_epochs: bool, enough_bytes: int = 1) -> None:
        """Buffer the next chunk that a native loop fetched.

        An interrupt may lose a chunk: the caller must then have the partition fetched again.

        Args:
            has_epochs: see ``DelegatedFetch.take``.
            enough_bytes: likewise.
        """
        fetch = self.delegated
        if fetch is None:
            return
        chunk = fetch.take(has_epochs=has_epochs, enough_bytes=enough_bytes)
        if chunk is None or self.delegated is not fetch:
            return  # a signal handler may have given it up
        self.waiting.append(chunk)
        self.fetched = chunk.end
        self.high_watermark = fetch.claim.high_watermark
        self.log_start = fetch.claim.log_start

    def grow(self, filled_bytes: int, next_bytes: int) -> None:
        """Request more next time; 0: the usual size."""
        self.grown_bytes = next_bytes
        self.filled_bytes = filled_bytes if next_bytes else 0

    def shrink(self) -> None:
        """Request the usual size next time."""
        self.grow(0, 0)
        self.is_behind = False

    def is_at(self, requested: PartitionRequest) -> bool:
        """Return whether this request starts at the next offset to fetch."""
        return (
            self.phase is Phase.FETCHING
            and not self.awaits_validation
            and self.fetched == requested.start
            and self.suspect_offset != requested.start.offset
            and self.needed_bytes <= requested.max_bytes
            and self._would_go_to(requested)
        )

    def _would_go_to(self, requested: PartitionRequest) -> bool:
        """Return whether a request now goes to the same broker, leader epoch and topic."""
        sent_to = requested.broker, requested.leader_epoch, requested.topic_id
        return (self.source, self.named_epoch, self.topic_id) == sent_to

    def await_validation(self) -> None:
        """Have the position validated by the leader's epochs, if the last epoch is known."""
        fetched = self.fetched
        self.awaits_validation = fetched is not None and fetched.leader_epoch != NO_EPOCH
        self.lookup = None
        if self.delegated is not None:
            self.drop_requests()  # what is queued is not validated, either

    def lead_by(self, leader: Broker | None, leader_epoch: int) -> None:
        """Apply a new leader and its epoch."""
        if leader_epoch not in (self.leader_epoch, NO_EPOCH):
            is_first = self.leader_epoch == NO_EPOCH
            self.leader_epoch = leader_epoch
            self.lookup = None
            if not is_first:
                self.replica = None
                self.await_validation()
        self.leader = leader

    def is_of(self, topic_id: bytes | None) -> bool:
        """Record a topic id; return whether it may be that of the topic that was read so far."""
        if topic_id is None or topic_id in self.topic_ids:
            return True
        # An id that was seen before comes from a broker with older metadata.
        self.topic_ids = (*self.topic_ids, topic_id)
        return len(self.topic_ids) == 1

    def fail(self, now_ms: int, pause_ms: int) -> None:
        """Count a failure and schedule the retry."""
        self.failures += 1
        self.retry_at_ms = now_ms + pause_ms

    def succeed(self) -> None:
        """Reset the failure count after a response without error."""
        self.failures = 0
        self.retry_at_ms = 0

    def _forget(self) -> None:
        """Drop buffered records, requests in flight, and all that is known of the old position."""
        self.waiting.clear()
        self.drop_requests()
        self.lookup = None
        self.policy = self.trouble = None
        self.awaits_validation = False
        self.needed_bytes = 0
        self.shrink()
        self.suspect_offset = None
        self.doubts = 0
        self.succeed()
