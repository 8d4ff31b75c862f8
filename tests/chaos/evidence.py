"""What a chaos run wrote down, and what became of it. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.chaos.cast import Given, LeftBehind
from tests.chaos.group_history import Claim, GroupHistory
from zkconsumer.model import TopicPartition

Where = tuple[TopicPartition, int]

CAUSE_SLACK_MS = 1_500
ZOOKEEPER_AWAY = "zookeeper away"
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Interval:
    """A fault: what, which member it hit (or none), and from when to when (since the epoch)."""

    kind: str
    consumer_id: str
    from_ms: int
    to_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that was written down.

    Attributes:
        acknowledged: where the producers' acknowledged values lie.
        log: where every value lies, read from the leaders when all was over.
        ends: the end of each partition's log.
        given: every delivery.
        history: of the group, from ZooKeeper's log.
        originals: the consumer ids of the original's members.
        intervals: what was done to members.
        committed: the offsets in ZooKeeper at the end.
        left_behind: what members of ours reported after their shutdown; None where nothing.
    """

    acknowledged: Mapping[str, Where]
    log: Mapping[str, Where]
    ends: Mapping[TopicPartition, int]
    given: Sequence[Given]
    history: GroupHistory
    originals: frozenset[str]
    intervals: Sequence[Interval]
    committed: Mapping[TopicPartition, int]
    left_behind: Mapping[str, LeftBehind | None]

    def hit(self, claim: Claim, kind: str) -> bool:
        """Whether such a fault hit the claim's member before the claim ended."""
        if claim.end_ms is None:
            return False
        return any(
            one.kind == kind
            and one.consumer_id == claim.consumer_id
            and claim.start_ms <= one.to_ms + CAUSE_SLACK_MS
            and one.from_ms <= claim.end_ms + CAUSE_SLACK_MS
            for one in self.intervals
        )


@dataclass(slots=True)
class Verdict:
    """Counts to show, and what is wrong (nothing, one hopes).

    Attributes:
        counts: what was counted, in the order to show it.
        repeats: deliveries beyond the first of each message, by what ended the claim before.
        wrong: one line for each broken promise of ours.
        kafka_lost: acknowledged messages that are not in the log: the cluster's fault.
    """

    counts: dict[str, int] = field(default_factory=dict)
    repeats: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    kafka_lost: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Whether all is as promised."""
        return not self.wrong and not self.kafka_lost

    def complain(self, what: str, examples: Sequence[object]) -> None:
        """Note a broken promise, unless there is no example of it."""
        if examples:
            shown = "; ".join(map(str, examples[:_SHOWN]))
            more = f" and {len(examples) - _SHOWN} more" if len(examples) > _SHOWN else ""
            self.wrong.append(f"{what}: {len(examples)} ({shown}{more})")
