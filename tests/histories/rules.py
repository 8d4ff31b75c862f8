"""The promises of members, the names of anomalies, and the result of checking a history."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

PROMISES = frozenset(
    {
        "order",  # within an assignment: log order, no gaps, no repeats
        "starts",  # an assignment starts at the committed offset
        "owned",  # it delivers only from partitions that it has claimed
        "delivered",  # its commits cover only records that were delivered to its caller
        "consumed",  # its commits cover only records that its caller has processed
        "fenced",  # its commits move no offset backwards
        "hands_over",  # it releases a claim with everything committed but the last poll's records
    }
)

ANOMALIES = (
    "lost write",
    "unseen",
    "write lost by the log",
    "unwritten read",
    "aborted read",
    "duplicate",
    "inconsistent offsets",
    "internal poll skip",
    "internal nonmonotonic poll",
    "poll skip",
    "nonmonotonic poll",
    "committed redelivery",
    "unowned poll",
    "poll after release",
    "late poll",
    "premature commit",
    "commit in hand",
    "commit moved back",
    "unfinished hand-over",
    "uncommitted end",
)
"""The names of all violations; ``docs/testing.md`` says what each means."""

KILL, FREEZE, EXPIRE, LEAVE, REGISTRY_AWAY = "kill", "freeze", "expire", "leave", "registry away"
"""The kinds of faults that the checker considers; a history may record others, too."""

CAUSE_SLACK_MS = 1_500
"""How long before or after a fault's recorded time its effect may lie."""

_SHOWN = 5


@dataclass(slots=True)
class CheckResult:
    """The result of checking a history.

    Attributes:
        counts: figures, in the order to show them.
        repeats: the number of redeliveries, by the cause that makes them legal.
        effects: the number of other effects that are legal, but unwanted.
        anomalies: the violations by name, each with a line for each example.
    """

    counts: dict[str, int] = field(default_factory=dict)
    repeats: Counter[str] = field(default_factory=Counter)
    effects: Counter[str] = field(default_factory=Counter)
    anomalies: dict[str, list[str]] = field(default_factory=dict)

    @property
    def good(self) -> bool:
        """Whether every promise was kept."""
        return not self.anomalies

    def complain(self, anomaly: str, examples: Iterable[str]) -> None:
        """Add a violation for each example; without examples there is none."""
        for example in examples:
            self.anomalies.setdefault(anomaly, []).append(example)

    def complaints(self) -> list[str]:
        """One line for each kind of anomaly, with a few examples."""
        return [f"{name}: {_some(examples)}" for name, examples in self.anomalies.items()]

    def lines(self) -> list[str]:
        """The whole result as lines of text."""
        return [
            *(f"  {name:<54}{count:>9}" for name, count in self.counts.items()),
            *(f"  legal: {name:<47}{count:>9}" for name, count in sorted(self.effects.items())),
            *(
                f"  came again: {name:<42}{count:>9}"
                for name, count in sorted(self.repeats.items())
            ),
            *(f"WRONG: {complaint}" for complaint in self.complaints()),
            "all promises kept" if self.good else "promises broken",
        ]


def _some(examples: list[str]) -> str:
    more = f" and {len(examples) - _SHOWN} more" if len(examples) > _SHOWN else ""
    return f"{len(examples)} ({'; '.join(examples[:_SHOWN])}{more})"
