"""A record of each event as it happens, which checks the rules of delivery.

The rules, each broken by at least one of the planted faults:

1. A member that fetches or delivers a partition holds its owner node, or held it in a session
   whose end it has not been told of.
2. A claim starts from the offset that is stored while we own the partition.
3. A claim delivers every record of its log once, in order.
4. An offset is written by the owner only, never backwards, and never past the records that the
   member's callers have processed; without auto-commit only on request.
5. A member that gives a partition up has stopped reading it, and committed the consumed records
   (auto-commit).
6. In the end every record was delivered to a caller that processed it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from tests.simulation.logs import PartitionLog
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.model import TopicPartition
from zkconsumer.streams.delivery import Delivery
from zkconsumer.zk.store import ZNode


class Violation(AssertionError):
    """The product broke a promise."""


class Reader(Protocol):
    """The part of a member that the ledger reads."""

    name: str
    auto_commit: bool
    heard_lost: set[int]
    delivery: Delivery
    readings: "dict[TopicPartition, Reading]"

    @property
    def is_silenced(self) -> bool:
        """Whether ZooKeeper has been silent for longer than delivery may go on."""
        ...

    @property
    def commit_open(self) -> bool:
        """Whether a caller is waiting for a commit."""
        ...

    def claims_session(self) -> int:
        """Return the session under which it claims."""
        ...


class Scene(Protocol):
    """The state that the ledger looks up."""

    logs: dict[TopicPartition, PartitionLog]

    @property
    def has_transactions(self) -> bool:
        """Whether the server supports transactions."""
        ...

    def owner(self, tp: TopicPartition, /) -> ZNode | None:
        """Return the owner node."""
        ...

    def stored(self, tp: TopicPartition, /) -> int | None:
        """Return the committed offset."""
        ...

    def is_live(self, session_id: int, /) -> bool:
        """Whether the server knows this session."""
        ...


@dataclass(slots=True, eq=False)
class Reading:
    """A claim as seen from outside.

    Attributes:
        member: the claim's member.
        tp: the partition.
        claim: the product's object.
        session_id: the session under which it was claimed.
        start: the first offset; None: by the reset policy.
        handed_to: one past the last record that a caller received.
        finished_to: one past the last record that a caller processed.
        handed: all offsets that callers of this member ever received.
        given_up_at: the consumed offset when it was given up; None before.
        robbed: whether somebody else deleted the owner node, which the member may not know yet.
        excused: whether a request of the handover failed, so that uncommitted records repeat.
    """

    member: Reader
    tp: TopicPartition
    claim: PartitionClaim
    session_id: int
    start: int | None
    handed_to: int = 0
    finished_to: int = 0
    handed: list[int] = field(default_factory=list)
    given_up_at: int | None = None
    robbed: bool = False
    excused: bool = False


class Ledger:
    """Receives every event, and raises ``Violation`` when a rule is broken."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self.done: dict[TopicPartition, set[int]] = {}
        self._handed: dict[TopicPartition, set[int]] = {}
        self._robbed_of: set[tuple[TopicPartition, int]] = set()
        # The last write of a robbed member below a node that another member has created again: the
        # node's creating transaction, the offset before the write, and the offset written.
        self._foreign: dict[TopicPartition, tuple[int, int | None, int]] = {}
        self.delivered = 0
        self.repeated = 0

    # --- reading ----------------------------------------------------------------------------------

    def started(self, member: Reader, claim: PartitionClaim, offset: int | None) -> Reading:
        """Record that a member begins to fetch a partition."""
        tp = claim.topic_partition
        before = member.readings.get(tp)
        reading = Reading(member, tp, claim, member.claims_session(), offset)
        reading.handed_to = reading.finished_to = offset or 0
        if before is not None:
            # A commit on request covers what callers got under an earlier claim, too.
            reading.handed = before.handed
        member.readings[tp] = reading
        owner, stored = self._scene.owner(tp), self._scene.stored(tp)
        owned = owner is not None and owner.ephemeral_owner == reading.session_id
        reading.robbed = not owned and (tp, reading.session_id) in self._robbed_of
        if owned and stored != offset and not self._goes_on(before, stored, offset):
            # It read what was stored before a write that no version check refuses.
            if owner and self._foreign.get(tp) == (owner.czxid, offset, stored):
                return reading
            raise Violation(f"{member.name} starts {tp} from {offset}, but {stored} is stored")
        return reading

    def _goes_on(self, before: Reading | None, stored: int | None, offset: int | None) -> bool:
        """Whether a member resumes at its own position, though it did not commit it."""
        if before is None or offset is None or offset < (stored or 0):
            return False
        return offset <= self._scene.logs[before.tp].first_from(self._reached(before))

    @staticmethod
    def _reached(reading: Reading) -> int:
        """Return the offset that a member's callers reached, by its delivery mode."""
        member = reading.member
        if member.commit_open or not member.auto_commit or member.delivery.consumes_delivered:
            return reading.handed_to
        return reading.finished_to

    def stopped(self, member: Reader) -> None:
        """Record that a member gave some partitions up."""
        for reading in member.readings.values():
            if not reading.claim.active and reading.given_up_at is None:
                reading.given_up_at = reading.claim.consumed_offset

    def check_right(self, reading: Reading, what: str) -> None:
        """Check that the member may go on reading."""
        owner = self._scene.owner(reading.tp)
        session_id = reading.session_id
        if owner is not None and owner.ephemeral_owner == session_id:
            return
        if reading.robbed:
            return
        if not self._scene.is_live(session_id) and session_id not in reading.member.heard_lost:
            return
        raise Violation(f"{reading.member.name} {what} {reading.tp}, which is not its own")

    def handed(self, reading: Reading, offset: int) -> None:
        """Record that a caller received a record."""
        tp = reading.tp
        if not reading.claim.active:
            raise Violation(f"{reading.member.name} delivers {tp}, which it gave up")
        self.check_right(reading, "delivers")
        if reading.member.is_silenced:
            raise Violation(f"{reading.member.name} delivers {tp}, though ZooKeeper is silent")
        if offset < reading.handed_to:
            raise Violation(f"{reading.member.name} delivers {tp} offset {offset} again")
        skipped = self._scene.logs[tp].lost_between(reading.handed_to, offset)
        if skipped:
            raise Violation(f"{reading.member.name} skips {skipped} of {tp}")
        reading.handed_to = offset + 1
        reading.handed.append(offset)
        self.delivered += 1
        if offset in self._handed.setdefault(tp, set()):
            self.repeated += 1
            if reading.member.delivery.commits_ahead:
                raise Violation(f"{reading.member.name} repeats {tp} offset {offset}")
        self._handed[tp].add(offset)
        if reading.member.delivery.consumes_delivered:
            self.finished(reading, offset)

    def finished(self, reading: Reading, offset: int) -> None:
        """Record that a caller requests the next record and so has processed this one."""
        reading.finished_to = max(reading.finished_to, offset + 1)
        self.done.setdefault(reading.tp, set()).add(offset)

    # --- offsets and owner nodes ------------------------------------------------------------------

    def committed(
        self, member: Reader | None, session_id: int, tp: TopicPartition, before: int | None
    ) -> None:
        """Record that an offset was written."""
        offset = self._scene.stored(tp)
        if member is None:
            return
        assert offset is not None
        who = f"{member.name} commits {offset} for {tp}"
        owner = self._scene.owner(tp)
        foreign = owner is None or owner.ephemeral_owner != session_id
        # A transaction checks the version of the owner node: one that another makes in the moment
        # between reading and writing has the same. The offset node's version is checked, too.
        noticed = owner is None and self._scene.has_transactions
        if foreign and (noticed or (tp, session_id) not in self._robbed_of):
            raise Violation(f"{who}, which is not its own")
        if foreign and owner is not None:
            self._foreign[tp] = (owner.czxid, before, offset)
        if before is not None and offset < before:
            raise Violation(f"{who}, back from {before}")
        reading = member.readings.get(tp)
        if reading is None:
            raise Violation(f"{who}, which it never read")
        self._check_reach(reading, offset, who)

    def _check_reach(self, reading: Reading, offset: int, who: str) -> None:
        member = reading.member
        if not (member.auto_commit or member.commit_open or member.delivery.commits_ahead):
            raise Violation(f"{who}, and nobody asked for it")
        limit = self._scene.logs[reading.tp].first_from(self._reached(reading))
        if offset > limit and not member.delivery.commits_ahead:
            raise Violation(f"{who}, but its callers are only through to {limit}")
        if member.commit_open:
            message = [handed for handed in reading.handed if handed < offset]
            self.done.setdefault(reading.tp, set()).update(message)

    def read_by_others(self, tp: TopicPartition, low: int, high: int) -> None:
        """Record that a foreign member processed the records in [low, high)."""
        read = self._scene.logs[tp].lost_between(low, high)
        self.done.setdefault(tp, set()).update(read)
        self._handed.setdefault(tp, set()).update(read)

    def commit_kept(self, handed: list[tuple[Reading, int]]) -> None:
        """Check that a successful commit stored every offset that it covers."""
        for reading, offset in handed:
            stored = self._scene.stored(reading.tp)
            current = reading.member.readings.get(reading.tp) is reading and reading.claim.active
            behind = stored is None or stored < offset
            if current and offset != (reading.start or 0) and behind and not reading.robbed:
                raise Violation(
                    f"{reading.member.name} said that {reading.tp} is committed to {offset}, "
                    f"but {stored} is stored"
                )

    def released(self, member: Reader, session_id: int, tp: TopicPartition) -> None:
        """Record that a member deleted its owner node."""
        reading = member.readings.get(tp)
        if reading is None or reading.session_id != session_id or reading.robbed:
            return
        if reading.claim.active:
            raise Violation(f"{member.name} releases {tp} while it reads it")
        consumed, stored = reading.given_up_at, self._scene.stored(tp)
        if reading.excused or not member.auto_commit or consumed is None:
            return
        if stored is None or stored < consumed:
            raise Violation(
                f"{member.name} releases {tp} with {stored} stored, though {consumed} is consumed"
            )

    def robbed(self, tp: TopicPartition, victim: Reader | None, session_id: int) -> None:
        """Record that somebody else deletes an owner node of this session."""
        self._robbed_of.add((tp, session_id))
        reading = None if victim is None else victim.readings.get(tp)
        if reading is not None and reading.session_id == session_id:
            reading.robbed = True

    def was_robbed(self, tp: TopicPartition, session_id: int) -> bool:
        """Whether somebody else deleted an owner node of this session."""
        return (tp, session_id) in self._robbed_of

    # --- the end ----------------------------------------------------------------------------------

    def check_complete(self, partitions: Iterable[TopicPartition]) -> None:
        """Check that every remaining record was delivered to a caller that processed it."""
        for tp in partitions:
            log = self._scene.logs[tp]
            done = self.done.get(tp, set())
            lost = [offset for offset in log.lost_between(0, log.end) if offset not in done]
            if lost:
                raise Violation(f"{tp}: {lost} were never delivered to anybody who was done")
