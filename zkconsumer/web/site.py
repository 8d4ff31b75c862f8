"""Holds the parts of the web application of one cluster."""

from collections.abc import Callable
from dataclasses import dataclass, field

from zkconsumer.browse.message import BrowseResult
from zkconsumer.browse.query import MessageQuery
from zkconsumer.clock import Clock, SystemClock
from zkconsumer.web.events import EventHub
from zkconsumer.web.security import Hosts, Tokens
from zkconsumer.web.state import Past, StateSource
from zkconsumer.zk.store import ZkStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The sources, access rules and subscribers of the web application.

    Attributes:
        source: the source of the states.
        past: the history.
        store: returns ZooKeeper, for the pages of nodes; None while not connected.
        tokens: check access.
        hosts: the allowed host names.
        events: sends events of new states to open pages.
        clock: for ages.
        messages: reads messages of topics; None: no page shows any.
        delivery_problem: returns why some target gets no notifications; None if all get them.
    """

    source: StateSource
    past: Past
    store: Callable[[], ZkStore | None]
    tokens: Tokens
    hosts: Hosts
    events: EventHub
    clock: Clock = field(default_factory=SystemClock)
    messages: Callable[[MessageQuery], BrowseResult] | None = None
    delivery_problem: Callable[[], str | None] = lambda: None
