"""A group's life as ZooKeeper's log tells it: who claimed what when, and what was committed. Pure.

Times are milliseconds since the epoch by the server's clock, which is also everybody else's here.
"""

import bisect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tests.chaos.zk_history import Write
from zkconsumer.model import TopicPartition


@dataclass(slots=True)
class Claim:
    """One partition in one member's hands, from the making of the owner node to its end.

    Attributes:
        tp: the partition.
        consumer_id: the member.
        session: the session that made the node.
        start_zxid: the transaction that made it.
        start_ms: when that was.
        end_zxid: the transaction that ended it; None while it lasts.
        end_ms: when that was.
        ended_by: ``released`` (deleted by its own session), ``session`` (which ended) or
            ``stranger`` (deleted by another session).
    """

    tp: TopicPartition
    consumer_id: str
    session: int
    start_zxid: int
    start_ms: int
    end_zxid: int | None = None
    end_ms: int | None = None
    ended_by: str = ""


@dataclass(frozen=True, slots=True)
class Commit:
    """An offset that was written."""

    zxid: int
    time_ms: int
    session: int
    offset: int


@dataclass(slots=True)
class GroupHistory:
    """Claims and commits of one group, each in their order.

    Attributes:
        claims: by partition.
        commits: by partition.
        members: the consumer id of every session that ever registered one.
    """

    claims: dict[TopicPartition, list[Claim]] = field(default_factory=dict)
    commits: dict[TopicPartition, list[Commit]] = field(default_factory=dict)
    members: dict[int, str] = field(default_factory=dict)

    def committed_at(self, tp: TopicPartition, zxid: int) -> int | None:
        """The offset that was stored when this transaction took effect."""
        commits = self.commits.get(tp, [])
        at = bisect.bisect_right(commits, zxid, key=lambda one: one.zxid)
        return commits[at - 1].offset if at else None

    def committed_under(self, claim: Claim) -> int | None:
        """The highest offset that the claim's own session wrote during it, whoever wrote later."""
        own = [
            one.offset
            for one in self.commits.get(claim.tp, [])
            if one.session == claim.session
            and claim.start_zxid < one.zxid
            and (claim.end_zxid is None or one.zxid < claim.end_zxid)
        ]
        return max(own, default=None)

    def lowest_committed(self, tp: TopicPartition, from_ms: int, to_ms: int) -> int | None:
        """The lowest offset that was stored at any time between these two."""
        commits = self.commits.get(tp, [])
        first = bisect.bisect_left(commits, from_ms, key=lambda one: one.time_ms)
        last = bisect.bisect_right(commits, to_ms, key=lambda one: one.time_ms)
        seen = [one.offset for one in commits[max(0, first - 1) : last]]
        return min(seen) if seen else None

    def claims_between(
        self, tp: TopicPartition, consumer_id: str, from_ms: int, to_ms: int
    ) -> list[Claim]:
        """Its last claim up to the first moment, and all that it began until the second."""
        own = [one for one in self.claims.get(tp, []) if one.consumer_id == consumer_id]
        before = [one for one in own if one.start_ms <= from_ms][-1:]
        return before + [one for one in own if from_ms < one.start_ms <= to_ms]


def group_history(writes: Iterable[Write], base: str) -> GroupHistory:
    """Pick what concerns one group.

    Args:
        writes: everything that happened.
        base: the group's node, chroot included: ``/kafka/consumers/g``.
    """
    history = GroupHistory()
    open_claims: dict[str, Claim] = {}
    for write in writes:
        if not write.path.startswith(f"{base}/"):
            continue
        kind, *names = write.path.removeprefix(f"{base}/").split("/")
        if kind == "ids" and names and write.data is not None:
            history.members[write.session] = names[0]
        elif kind == "owners" and len(names) == 2:
            _take_owner(history, open_claims, write, _partition(names))
        elif kind == "offsets" and len(names) == 2 and write.data is not None:
            commit = Commit(write.zxid, write.time_ms, write.session, int(write.data))
            history.commits.setdefault(_partition(names), []).append(commit)
    return history


def _partition(names: Sequence[str]) -> TopicPartition:
    return TopicPartition(names[0], int(names[1]))


def _take_owner(
    history: GroupHistory, open_claims: dict[str, Claim], write: Write, tp: TopicPartition
) -> None:
    before = open_claims.pop(write.path, None)
    if before is not None:
        before.end_zxid, before.end_ms = write.zxid, write.time_ms
        before.ended_by = _end_of(before, write)
    if write.data is not None:
        consumer_id = write.data.decode().rpartition("-")[0]
        claim = Claim(tp, consumer_id, write.session, write.zxid, write.time_ms)
        open_claims[write.path] = claim
        history.claims.setdefault(tp, []).append(claim)


def _end_of(claim: Claim, write: Write) -> str:
    if write.by_session_end:
        return "session"
    return "released" if write.session == claim.session else "stranger"
