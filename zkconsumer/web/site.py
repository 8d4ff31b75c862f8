"""What the web application shows, and to whom."""

from collections.abc import Callable
from dataclasses import dataclass, field

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.web.events import EventHub
from zkconsumer.web.security import Hosts, Tokens
from zkconsumer.web.state import Past, StateSource
from zkconsumer.zk.store import ZkStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What the application shows, and to whom.

    Attributes:
        source: of states.
        past: what was.
        store: ZooKeeper, for the view of its nodes; None while it is not connected to.
        tokens: who may see it.
        hosts: under which names.
        events: who listens.
        clock: for ages.
    """

    source: StateSource
    past: Past
    store: Callable[[], ZkStore | None]
    tokens: Tokens
    hosts: Hosts
    events: EventHub
    clock: Clock = field(default_factory=SystemClock)
