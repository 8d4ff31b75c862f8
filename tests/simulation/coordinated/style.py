"""What a world of a coordinator group is like, by chance."""

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
    """What a world is like.

    Attributes:
        strategies: of all members.
        static: whether members have instance ids.
        turns: how long its wild part is.
        accident_rate: the share of accidents in them.
        happens: the accidents, and peaceful changes; what stands twice comes twice as often.
        step_ms: the most time that passes at once.
        stuck_at_rest: how likely one member does not poll while the others come to rest.
        exact: whether nothing may come twice.
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
    """The style of the world with this seed: one in five is peaceful."""
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
