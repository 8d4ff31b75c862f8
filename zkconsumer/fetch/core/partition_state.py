"""Where fetching of one partition stands: pure state, and the ways from one phase to another. Pure.

Two positions: ``position`` is the caller's, behind what was handed out; ``fetched`` is behind what
waits for him. They never contradict: what waits begins at the one and ends at the other.

| phase | what is going on | left by |
|---|---|---|
| LACKING | no position; nothing is fetched | a seek |
| RESETTING | the positions thread asks where the policy points | its answer |
| FETCHING | requests go to ``source`` | trouble |
| DOUBTFUL | the broker says "out of range"; the ends of the log are asked for | them |
| OUTSIDE | so it is; what waits is handed out first | the policy, when that is done |
| STUCK | the caller is to hear of an error, behind what waits | a seek; or his hearing it |

A partition that FETCHES may be ``unproven``: the leader changed, and is asked whether its log is
the one that was read (KIP-320); nothing is fetched before it says so.

Whatever was under way when the caller seeks is forgotten with the ``requested`` and the ``lookup``
that it belongs to: an answer counts as long as the state still holds the very object it answers.
"""

from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from zkconsumer.errors import ZkConsumerError
from zkconsumer.fetch.core.completed import BufferedChunk, PackedSet, PartitionRequest
from zkconsumer.fetch.core.starts import NO_EPOCH, AtOffset, PositionView, ResetPolicy, Start
from zkconsumer.model import Broker, TopicPartition


class Phase(Enum):
    """See the module."""

    LACKING = "no position"
    RESETTING = "the position is asked for"
    FETCHING = "fetching"
    DOUBTFUL = "said to be out of range"
    OUTSIDE = "out of range"
    STUCK = "an error"


@dataclass(slots=True, eq=False)
class Trouble:
    """What the caller is to hear.

    Attributes:
        error: it.
        passes: whether to try again once he has heard it; else he has to seek.
        is_reported: he has heard it.
    """

    error: ZkConsumerError
    passes: bool = False
    is_reported: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class PositionLookup:
    """What the positions thread asks about a partition; an answer counts while it is held.

    Attributes:
        topic_partition: which.
        fetched: how far was fetched when it was asked; None in a reset.
        leader_epoch: the leader's, as it is to be named.
    """

    topic_partition: TopicPartition
    fetched: PositionView | None
    leader_epoch: int


class FetchBounds(Protocol):
    """Says how much is wanted of a partition of which not all is; see ``fetch.ranges``."""

    def size_at(self, offset: int) -> int:
        """Say how much to ask for from there on, in bytes; 0: nothing."""
        ...

    def learn(self, start: int, stop: int, size_bytes: int) -> None:
        """Hear how much these offsets take in the log."""
        ...


@dataclass(slots=True, eq=False)
class PartitionState:
    """One partition.

    Attributes:
        topic_partition: which.
        phase: see the module.
        position: the caller's; None where it is not known.
        fetched: how far was fetched; None likewise.
        waiting: what was fetched and not handed out.
        policy: while RESETTING: by which.
        trouble: while STUCK.
        bounds: how much is wanted; None: all there is, in the usual size.
        is_paused: by the caller.
        leader: who leads it, as far as is known.
        leader_epoch: its epoch; -1 if not known.
        named_epoch: the same for requests; -1 also where it is not to be named, see
            ``ClusterView.has_exact_epochs``.
        topic_ids: of its topic, as far as seen; more than one if it was made again.
        replica: whom the leader told us to ask instead (KIP-392), by broker id.
        replica_until_ms: until when.
        source: whom to fetch from: the replica, else the leader.
        unproven: the leader's log is to be compared with what was read.
        requested: what is in flight, or came and is being unpacked.
        early: what was asked for behind that, before it was unpacked.
        packed: what came and is to be unpacked behind what waits; ``requested`` is what it answers.
        lookup: what the positions thread is asking.
        needed_bytes: what the next request must ask for at least.
        suspect_offset: where the last answer was corrupt; a second time it is believed.
        doubts: how often a broker said "out of range" of an offset that is in its log.
        failures: errors in a row; tried again from ``retry_at_ms`` on.
        retry_at_ms: see above.
        responses: how many answers to fetches counted.
        high_watermark: as of the last answer; -1 if not known. So for the next two.
        last_stable: see there.
        log_start: see there.
    """

    topic_partition: TopicPartition
    phase: Phase = Phase.LACKING
    position: PositionView | None = None
    fetched: PositionView | None = None
    waiting: deque[BufferedChunk] = field(default_factory=deque)
    policy: ResetPolicy | None = None
    trouble: Trouble | None = None
    bounds: FetchBounds | None = None
    is_paused: bool = False
    leader: Broker | None = None
    leader_epoch: int = NO_EPOCH
    named_epoch: int = NO_EPOCH
    topic_ids: tuple[bytes, ...] = ()
    replica: int | None = None
    replica_until_ms: int = 0
    source: Broker | None = None
    unproven: bool = False
    requested: PartitionRequest | None = None
    early: PartitionRequest | None = None
    packed: PackedSet | None = None
    lookup: PositionLookup | None = None
    needed_bytes: int = 0
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
        """The id of the topic that is read; None if not known."""
        return self.topic_ids[-1] if self.topic_ids else None

    @property
    def unread_bytes(self) -> int:
        """How much of what came from the wire waits for the caller, about."""
        return sum(chunk.unread_bytes for chunk in self.waiting)

    @property
    def has_changes(self) -> bool:
        """Whether the caller is to hear something."""
        if self.is_paused:
            return False
        return bool(self.waiting) or self.trouble is not None

    @property
    def may_fetch(self) -> bool:
        """Whether a request may ask for it, as far as the partition itself goes."""
        return self.phase is Phase.FETCHING and not self.unproven and not self.is_paused

    @property
    def is_asking(self) -> bool:
        """Whether the positions thread has, or is to get, a question about it."""
        return self.phase in (Phase.RESETTING, Phase.DOUBTFUL) or (
            self.phase is Phase.FETCHING and self.unproven
        )

    def seek(self, start: Start) -> None:
        """Read on from somewhere else."""
        if isinstance(start, AtOffset):
            self._stand(PositionView(start.offset, start.leader_epoch))
            self.prove()
        else:
            self.reset(start.policy)

    def reset(self, policy: ResetPolicy) -> None:
        """Let a policy say where to read on."""
        self._forget()
        self.phase, self.policy = Phase.RESETTING, policy
        self.position = self.fetched = None

    def start_at(self, start: PositionView) -> None:
        """Stand where the policy pointed."""
        self._stand(start)

    def step_back(self, start: PositionView) -> None:
        """Drop what waits, and fetch from where the leader's log may be the one that was read."""
        self._stand(start)
        self.prove()

    def refetch(self) -> None:
        """Drop what waits, and fetch it once more."""
        position = self.position
        assert position is not None
        self._stand(position)
        # What was to be compared with a new leader's log still is.
        self.prove()

    def get_stuck(self, trouble: Trouble) -> None:
        """Tell the caller of an error, behind what waits."""
        self.phase, self.trouble = Phase.STUCK, trouble
        self.drop_requests()
        self.lookup = None

    def received(self) -> None:
        """The caller was told; what passes is tried again."""
        if self.trouble is not None and self.trouble.passes:
            self.trouble = None
            self.phase = Phase.RESETTING if self.fetched is None else Phase.FETCHING

    def drop_requests(self) -> None:
        """Let no answer that is on its way count."""
        self.requested = self.early = self.packed = None

    def on_response(self) -> None:
        """What was asked has its answer, or gets none.

        What was asked for early counts from here on, if it is what would be asked for now.
        """
        early = self.early
        self.drop_requests()
        if early is not None and self.is_at(early):
            self.requested = early

    def is_at(self, requested: PartitionRequest) -> bool:
        """Whether this is what is to be asked for next."""
        return (
            self.phase is Phase.FETCHING
            and not self.unproven
            and self.fetched == requested.start
            and self.suspect_offset != requested.start.offset
            and self.needed_bytes <= requested.max_bytes
            and (self.source, self.named_epoch) == (requested.broker, requested.leader_epoch)
            and self.topic_id == requested.topic_id
        )

    def prove(self) -> None:
        """Ask the leader whether its log is the one that was read, where that can be asked."""
        fetched = self.fetched
        self.unproven = fetched is not None and fetched.leader_epoch != NO_EPOCH
        self.lookup = None

    def lead_by(self, leader: Broker | None, leader_epoch: int) -> None:
        """There is a new view of who leads it."""
        if leader_epoch not in (self.leader_epoch, NO_EPOCH):
            is_first = self.leader_epoch == NO_EPOCH
            self.leader_epoch = leader_epoch
            self.lookup = None
            if not is_first:
                self.replica = None
                self.prove()
        self.leader = leader

    def is_of(self, topic_id: bytes | None) -> bool:
        """Note the topic's id; whether it may be the topic that was read so far."""
        if topic_id is None or topic_id in self.topic_ids:
            return True
        # One that was seen before comes from a broker that is behind.
        self.topic_ids = (*self.topic_ids, topic_id)
        return len(self.topic_ids) == 1

    def fail(self, now_ms: int, pause_ms: int) -> None:
        """Try again later."""
        self.failures += 1
        self.retry_at_ms = now_ms + pause_ms

    def succeed(self) -> None:
        """An answer came that is no error."""
        self.failures = 0
        self.retry_at_ms = 0

    def _stand(self, at: PositionView) -> None:
        self._forget()
        self.phase = Phase.FETCHING
        self.position = self.fetched = at

    def _forget(self) -> None:
        """Drop what waits, what is under way, and all that was found out about the old place."""
        self.waiting.clear()
        self.drop_requests()
        self.lookup = None
        self.policy = self.trouble = None
        self.unproven = False
        self.needed_bytes = 0
        self.suspect_offset = None
        self.doubts = 0
        self.succeed()
