"""What a history tells, put together: sends, deliveries, claims, commits, faults and logs."""

import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Partition(NamedTuple):
    """A topic-partition."""

    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.number}"


class Place(NamedTuple):
    """An offset of a topic-partition."""

    partition: Partition
    offset: int

    def __str__(self) -> str:
        return f"{self.partition} {self.offset}"


@dataclass(frozen=True, slots=True)
class Member:
    """A member, and what it promises.

    Attributes:
        name: of the member.
        promises: of ``rules.PROMISES``; what is not promised is counted, not complained about.
        earliest: whether it starts at the first message of a partition without an offset.
        late_ms: how long after the end of its session it may go on delivering; None: not judged.
        load_slack_ms: how long before its claim it may have read the committed offset, and how
            long after it; None: exactly at the claim or later.
    """

    name: str
    promises: frozenset[str] = frozenset()
    earliest: bool = False
    late_ms: int | None = None
    load_slack_ms: int | None = None


@dataclass(slots=True)
class Send:
    """A set of messages that a producer sent.

    Attributes:
        partition: where to.
        values: of its messages.
        outcome: ``ok``, ``fail``, or ``info``: it may have been written.
        offset: of the first one, where it was acknowledged and told.
    """

    partition: Partition
    values: Sequence[str]
    outcome: str = "info"
    offset: int | None = None


@dataclass(slots=True)
class Delivery:
    """A message in a member's hand.

    Attributes:
        value: the message.
        member: to whom.
        process: which of the member's readers.
        poll: the line of the poll that brought it.
        sent_ms: a moment before it was delivered.
        given_ms: a moment after it.
        reported: the place that the member told; None where it tells none.
        place: that, or where the log has the value; None where nobody knows.
        finished_ms: when its reader asked for more, or closed; None: it never did, or does not say.
        fresh: a change of assignment or a seek lies between it and its reader's poll before.
    """

    value: str
    member: str
    process: str
    poll: int
    sent_ms: int
    given_ms: int
    reported: Place | None
    place: Place | None = None
    finished_ms: int | None = None
    fresh: bool = False


@dataclass(slots=True)
class Claim:
    """A partition in a member's hands, as the registry knows it.

    Attributes:
        partition: the partition.
        member: the member.
        start: the line that tells the claim.
        start_ms: when that was.
        end: the line that tells its end; None while it lasts.
        end_ms: when that was.
        ended_by: ``released`` (by the member), ``session`` (which ended) or ``stranger``.
    """

    partition: Partition
    member: str
    start: int
    start_ms: int
    end: int | None = None
    end_ms: int | None = None
    ended_by: str = ""


class Commit(NamedTuple):
    """An offset that was stored; ``member`` is None where it was none of the members."""

    line: int
    time_ms: int
    member: str | None
    offset: int


class Fault(NamedTuple):
    """What was done to a member; to what all depend on, where ``member`` is None."""

    kind: str
    member: str | None
    from_ms: int
    until_ms: int


@dataclass(slots=True)
class Log:
    """A partition as its leader has it in the end: the first offset, the end, and the values."""

    start: int
    end: int
    values: dict[int, str]


@dataclass(slots=True)
class History:
    """All of it.

    Attributes:
        members: by name.
        sends: in order of their invocation.
        deliveries: in order of their times, those of one process in order of the lines.
        claims: by partition, in the registry's order.
        commits: by partition, in the registry's order.
        faults: what was done, and to whom.
        logs: the partitions that were read in the end.
        drained: whether members went on until all was delivered.
        committed: whether they went on until all of that was committed.
        sought: the partitions whose position a caller of this member has set.
        places: where each value lies, by the log or by its acknowledgement or by who read it.
        offsets: the offsets of each partition that are known to hold a message, sorted.
        given: the deliveries of each place to each member.
    """

    members: dict[str, Member] = field(default_factory=dict)
    sends: list[Send] = field(default_factory=list)
    deliveries: list[Delivery] = field(default_factory=list)
    claims: dict[Partition, list[Claim]] = field(default_factory=dict)
    commits: dict[Partition, list[Commit]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    logs: dict[Partition, Log] = field(default_factory=dict)
    drained: bool = False
    committed: bool = False
    sought: set[tuple[str, Partition]] = field(default_factory=set)
    places: dict[str, Place] = field(default_factory=dict)
    offsets: dict[Partition, list[int]] = field(default_factory=dict)
    given: dict[tuple[str, Place], list[Delivery]] = field(default_factory=dict)

    def promises(self, member: str | None, promise: str) -> bool:
        """Whether a member has promised this."""
        known = None if member is None else self.members.get(member)
        return known is not None and promise in known.promises

    def between(self, partition: Partition, first: int, end: int) -> list[int]:
        """The offsets from the first one up to, without, the end that hold a message."""
        known = self.offsets.get(partition, [])
        return known[bisect.bisect_left(known, first) : bisect.bisect_left(known, end)]

    def end_of(self, partition: Partition) -> int:
        """The offset behind the last message that is known to have been written."""
        log = self.logs.get(partition)
        known = self.offsets.get(partition, ())
        return max(known[-1] + 1 if known else 0, 0 if log is None else log.end)

    def done(self, member: str | None, place: Place, by_ms: int) -> bool:
        """Whether a member was given a message, and done with it at this time."""
        return any(
            delivery.finished_ms is not None and delivery.finished_ms <= by_ms
            for delivery in self.given.get((member or "", place), ())
        )

    def committed_at(self, partition: Partition, line: int) -> int | None:
        """The offset that was stored when the registry had got to this line."""
        commits = self.commits.get(partition, [])
        at = bisect.bisect_right(commits, line, key=lambda commit: commit.line)
        return commits[at - 1].offset if at else None

    def stored_between(self, partition: Partition, from_ms: int, until_ms: int) -> list[int]:
        """Every offset that was stored at some time between these two."""
        commits = self.commits.get(partition, [])
        first = bisect.bisect_left(commits, from_ms, key=lambda commit: commit.time_ms)
        last = bisect.bisect_right(commits, until_ms, key=lambda commit: commit.time_ms)
        return [commit.offset for commit in commits[max(0, first - 1) : last]]

    def claims_of(self, one: Delivery) -> list[Claim]:
        """The claims under which a delivery may have been made.

        That is its member's last one up to the moment at which it was asked for, and all that
        began until it was given.
        """
        if one.place is None:
            return []
        claims = self.claims.get(one.place.partition, [])
        own = [claim for claim in claims if claim.member == one.member]
        before = [claim for claim in own if claim.start_ms <= one.sent_ms][-1:]
        return before + [claim for claim in own if one.sent_ms < claim.start_ms <= one.given_ms]

    def hit(self, claim: Claim, kind: str, slack_ms: int) -> bool:
        """Whether a fault of this kind hit the claim's member before the claim ended."""
        return any(
            fault.kind == kind
            and fault.member == claim.member
            and claim.start_ms <= fault.until_ms + slack_ms
            and (claim.end_ms is None or fault.from_ms <= claim.end_ms + slack_ms)
            for fault in self.faults
        )
