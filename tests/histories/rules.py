"""What members may promise, what is an anomaly, and the verdict on a history."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

PROMISES = frozenset(
    {
        "order",  # under one assignment: in log order, without gaps, each once
        "starts",  # an assignment begins at the committed offset
        "owned",  # it delivers only what it has claimed
        "delivered",  # its commits cover only what it was given
        "consumed",  # its commits cover only what it was done with
        "fenced",  # its commits move no offset back
        "hands_over",  # it gives up a claim with all committed but what is in hand
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
"""What breaks a promise, each by its name; ``docs/testing.md`` says what each means."""

KILL, FREEZE, EXPIRE, LEAVE, REGISTRY_AWAY = "kill", "freeze", "expire", "leave", "registry away"
"""The kinds of faults that a judgement depends on; others may be told, too."""

CAUSE_SLACK_MS = 1_500
"""How far the effect of a fault may lie from its time."""

_SHOWN = 5


@dataclass(slots=True)
class Verdict:
    """What a history amounts to.

    Attributes:
        counts: what was counted, in the order to show it.
        repeats: deliveries beyond the first of each message, by why they are legal.
        effects: what else is legal, and not wanted.
        anomalies: what breaks a promise, by name, an example a line.
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
        """Note what breaks a promise, unless there is no example of it."""
        for example in examples:
            self.anomalies.setdefault(anomaly, []).append(example)

    def complaints(self) -> list[str]:
        """A line for each kind of anomaly, with a few examples."""
        return [f"{name}: {_some(found)}" for name, found in self.anomalies.items()]

    def lines(self) -> list[str]:
        """Everything, to be shown."""
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


def _some(found: list[str]) -> str:
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"{len(found)} ({'; '.join(found[:_SHOWN])}{more})"
