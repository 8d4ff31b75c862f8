"""The random properties of a world and its members."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from zkconsumer.assignment.strategy import Strategy
from zkconsumer.streams.delivery import Delivery


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberPlan:
    """A member's configuration."""

    consumer_id: str
    topics: Mapping[str, int] | str
    auto_commit: bool = True
    strategy: Strategy = "range"
    commit_interval_ms: int = 2_000
    leave_timeout_ms: int = 2_000
    backoff_ms: int = 2_000
    max_retries: int = 4
    audit_interval_ms: int = 10_000
    silence_percent: int = 33
    delivery: Delivery = Delivery.AT_LEAST_ONCE
    max_chunks: int = 2
    queue_bytes: int = 1_000_000
    poll_rate: float = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """The properties of a world.

    Attributes:
        steps: the length of its wild part.
        accident_rate: the share of accidents among these steps.
        first_topics: the number of partitions of each topic at the start.
        strategy: the strategy of all members; round-robin needs equal subscriptions.
        subscription: the subscription of all members; None: each has its own.
        gaps: the possible gaps between two records.
        robbers: whether strangers delete owner nodes.
        retention: whether old records are deleted.
        delivery: the delivery mode of all members.
        loss_rate: the share of requests whose responses are lost.
        mostly: the kind of accident that dominates this world; None: none does.
    """

    steps: int
    accident_rate: float
    first_topics: Mapping[str, int]
    first_members: int
    strategy: Strategy
    subscription: Mapping[str, int] | str | None
    gaps: Sequence[int]
    robbers: bool
    retention: bool
    delivery: Delivery
    loss_rate: float
    mostly: str | None = None


def new_style(rng: Random) -> Style:
    """Return a random world's properties."""
    first_topics = {"t": rng.randint(1, 4)}
    if rng.random() < 0.5:
        first_topics["u"] = rng.randint(1, 2)
    strategy: Strategy = "roundrobin" if rng.random() < 0.25 else "range"
    same = strategy == "roundrobin" or rng.random() < 0.3
    return Style(
        steps=rng.choice((300, 600, 1_000)),
        accident_rate=rng.choice((0.01, 0.03, 0.08)),
        first_topics=first_topics,
        first_members=rng.randint(1, 3),
        strategy=strategy,
        subscription=_subscription(rng) if same else None,
        gaps=rng.choice(((0,), (0, 0, 1, 3))),
        robbers=rng.random() < 0.3,
        retention=rng.random() < 0.15,
        loss_rate=rng.choice((0.0, 0.0, 0.0, 0.03)),
        delivery=rng.choice((*(Delivery.AT_LEAST_ONCE,) * 6, *Delivery)),
    )


def _subscription(rng: Random) -> Mapping[str, int] | str:
    return rng.choice(({"t": 1}, {"t": 2}, {"t": 1, "u": 1}, "t|u"))


def new_plan(rng: Random, style: Style, taken: Collection[str]) -> MemberPlan:
    """Return a random member with a name of its own."""
    names = [f"g_{letter}" for letter in "abcdefghijkl" if f"g_{letter}" not in taken]
    topics = _subscription(rng) if style.subscription is None else style.subscription
    return MemberPlan(
        consumer_id=rng.choice(names[:4]),
        topics=topics,
        auto_commit=rng.random() < 0.7,
        strategy=style.strategy,
        commit_interval_ms=rng.choice((500, 2_000, 60_000)),
        backoff_ms=rng.choice((200, 2_000)),
        max_retries=rng.choice((2, 4)),
        delivery=style.delivery,
        audit_interval_ms=rng.choice((5_000, 30_000)),
        silence_percent=rng.choice((0, 33)),
        queue_bytes=rng.choice((300, 1_000, 1_000_000)),
        max_chunks=rng.choice((1, 2, 5)),
        poll_rate=rng.choice((0.05, 0.5, 1.0)),
    )
