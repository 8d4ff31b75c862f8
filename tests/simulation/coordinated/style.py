"""The random properties of a coordinator group's world."""

from dataclasses import dataclass
from random import Random

STRATEGIES = (
    ("range",),
    ("roundrobin",),
    ("sticky",),
    ("cooperative-sticky",),
    ("cooperative-sticky",),
    ("cooperative-sticky", "range"),
)
PEACEFUL = ("start", "close", "grow", "subscribe")
ACCIDENTS = (
    *("freeze", "freeze", "stall", "stall", "kill", "cut", "cut"),
    *("move", "move quietly", "load"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStyle:
    """The properties of a world.

    Attributes:
        strategies: the strategies of all members.
        static: whether members have instance ids.
        turns: the length of its wild part.
        accident_rate: the share of accidents among these turns.
        happens: accidents and peaceful changes; one listed twice is twice as likely.
        step_ms: the most time that passes at once.
        stuck_at_rest: how likely one member does not poll while the others settle.
        exact: whether no record may be delivered twice.
    """

    strategies: tuple[str, ...]
    static: bool
    turns: int
    accident_rate: float
    happens: tuple[str, ...]
    step_ms: int
    stuck_at_rest: float
    exact: bool


def new_style(seed: int) -> GroupStyle:
    """Return the style of the world with this seed; one world in five is peaceful."""
    rng = Random(seed)
    strategies = rng.choice(STRATEGIES)
    peaceful = rng.random() < 0.2
    return GroupStyle(
        strategies=strategies,
        static=not peaceful and rng.random() < 0.3,
        turns=rng.choice((300, 600, 1200)),
        accident_rate=0.02 if peaceful else rng.choice((0.01, 0.03, 0.06)),
        happens=PEACEFUL if peaceful else PEACEFUL + ACCIDENTS,
        step_ms=10 if peaceful else rng.choice((40, 120)),
        stuck_at_rest=0.0 if peaceful else 0.2,
        exact=peaceful,
    )
