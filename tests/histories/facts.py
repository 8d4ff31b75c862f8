"""An assembled history: sends, deliveries, claims, commits, faults and logs."""

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
        name: the member's name.
        promises: its ``rules.PROMISES``; violations of others are counted, but no anomaly.
        earliest: whether it starts at the log's start where no offset is committed.
        late_ms: how long after its session's end it may still deliver; None: not checked.
        load_slack_ms: how long before or after its claim it may have read the committed offset;
            None: exactly at the claim or later.
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
        partition: the target.
        values: the messages' values.
        outcome: ``ok``, ``fail``, or ``info``: unknown, it may have been written.
        offset: the first message's offset, if it was acknowledged and recorded.
    """

    partition: Partition
    values: Sequence[str]
    outcome: str = "info"
    offset: int | None = None


@dataclass(slots=True)
class Delivery:
    """A message that was delivered to a member.

    Attributes:
        value: the message's value.
        member: the member.
        process: the member's reader.
        poll: the line of the poll that returned it.
        sent_ms: when that poll was invoked: the delivery was not earlier.
        given_ms: when that poll returned: the delivery was not later.
        reported: the place that the member reported; None if it reports none.
        place: that, or the value's place by the log; None if unknown.
        finished_ms: when its reader polled again, or closed; None: never, or not recorded.
        fresh: whether the assignment changed, or a seek came, since the reader's poll before.
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
    """A partition's ownership by a member, as the registry knows it.

    Attributes:
        partition: the partition.
        member: the member.
        start: the claim's line.
        start_ms: the claim's time.
        end: the line of its end; None while it lasts.
        end_ms: the time of its end.
        ended_by: ``released`` (by the member), ``session`` (expired or closed), or ``stranger``
            (another client deleted the node).
    """

    partition: Partition
    member: str
    start: int
    start_ms: int
    end: int | None = None
    end_ms: int | None = None
    ended_by: str = ""


class Commit(NamedTuple):
    """An offset that was stored; ``member`` is None if another client stored it."""

    line: int
    time_ms: int
    member: str | None
    offset: int


class Fault(NamedTuple):
    """A fault that was injected into a member, or (``member`` is None) into the cluster."""

    kind: str
    member: str | None
    from_ms: int
    until_ms: int


@dataclass(slots=True)
class Log:
    """A partition's log as its leader has it at the end: start, end, and values by offset."""

    start: int
    end: int
    values: dict[int, str]


@dataclass(slots=True)
class History:
    """Everything that a history records.

    Attributes:
        members: the members by name.
        sends: the sends in order of invocation.
        deliveries: the deliveries in order of time, within a process in order of lines.
        claims: the claims by partition, in the registry's order.
        commits: the commits by partition, in the registry's order.
        faults: the injected faults.
        logs: the logs of the partitions that were read at the end.
        drained: whether members ran until everything was delivered.
        committed: whether they ran until all of that was committed.
        sought: pairs of member and partition with a seek.
        places: each value's place: by the log, its acknowledgement, or a member that read it.
        offsets: by partition, the offsets that are known to hold a message, sorted.
        given: the deliveries by member and place.
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
        """Whether a member made this promise."""
        known = None if member is None else self.members.get(member)
        return known is not None and promise in known.promises

    def between(self, partition: Partition, first: int, end: int) -> list[int]:
        """The offsets with a message from ``first`` up to, excluding, ``end``."""
        known = self.offsets.get(partition, [])
        return known[bisect.bisect_left(known, first) : bisect.bisect_left(known, end)]

    def end_of(self, partition: Partition) -> int:
        """The offset after the last message that is known to have been written."""
        log = self.logs.get(partition)
        known = self.offsets.get(partition, ())
        return max(known[-1] + 1 if known else 0, 0 if log is None else log.end)

    def done(self, member: str | None, place: Place, by_ms: int) -> bool:
        """Whether a message was delivered to a member, and processed by that time."""
        return any(
            delivery.finished_ms is not None and delivery.finished_ms <= by_ms
            for delivery in self.given.get((member or "", place), ())
        )

    def committed_at(self, partition: Partition, line: int) -> int | None:
        """The committed offset as of this line of the history."""
        commits = self.commits.get(partition, [])
        at = bisect.bisect_right(commits, line, key=lambda commit: commit.line)
        return commits[at - 1].offset if at else None

    def stored_between(self, partition: Partition, from_ms: int, until_ms: int) -> list[int]:
        """Every offset that was the committed one at some time between these two."""
        commits = self.commits.get(partition, [])
        first = bisect.bisect_left(commits, from_ms, key=lambda commit: commit.time_ms)
        last = bisect.bisect_right(commits, until_ms, key=lambda commit: commit.time_ms)
        return [commit.offset for commit in commits[max(0, first - 1) : last]]

    def claims_of(self, delivery: Delivery) -> list[Claim]:
        """The claims under which a delivery may have been made.

        These are its member's last claim before the poll was invoked, and all claims until it
        returned.
        """
        if delivery.place is None:
            return []
        claims = self.claims.get(delivery.place.partition, [])
        own = [claim for claim in claims if claim.member == delivery.member]
        before = [claim for claim in own if claim.start_ms <= delivery.sent_ms][-1:]
        return before + [
            claim for claim in own if delivery.sent_ms < claim.start_ms <= delivery.given_ms
        ]

    def hit(self, claim: Claim, kind: str, slack_ms: int) -> bool:
        """Whether a fault of this kind hit the claim's member before the claim ended."""
        return any(
            fault.kind == kind
            and fault.member == claim.member
            and claim.start_ms <= fault.until_ms + slack_ms
            and (claim.end_ms is None or fault.from_ms <= claim.end_ms + slack_ms)
            for fault in self.faults
        )
