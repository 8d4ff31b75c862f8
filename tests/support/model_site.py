"""The web interface of a fictional cluster, served over HTTP for tests with browsers."""

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace

import uvicorn
from starlette.types import ASGIApp

from tests.fakes.memory_zk import MemoryZkServer
from tests.support.manual_clock import ManualClock
from tests.support.page_world import BILLING, NOW_MS, ScriptedPast, state_at
from tests.support.waiting import wait_until
from zkconsumer.browse.decoding import BytesDecoder
from zkconsumer.browse.message import BrowseResult, SeenMessage
from zkconsumer.browse.query import MessageQuery
from zkconsumer.scope import ThreadScope
from zkconsumer.status.model import GroupKey, GroupStatus
from zkconsumer.web.app import build_app, build_clusters_app
from zkconsumer.web.events import EventHub
from zkconsumer.web.judgements import Judgements, Memory
from zkconsumer.web.security import Hosts, Tokens
from zkconsumer.web.site import Site
from zkconsumer.web.state import ClusterState
from zkconsumer.zk.nodes import Registration, encode_registration
from zkconsumer.zk.paths import GroupPaths
from zkconsumer.zk.store import ZkStore


class ModelStateSource:
    """A ``StateSource`` whose states a test publishes."""

    def __init__(self, state: ClusterState) -> None:
        self.current = state
        self._listeners: list[Callable[[ClusterState], None]] = []

    def publish(self, state: ClusterState) -> None:
        """Publish another state."""
        self.current = state
        for listener in list(self._listeners):
            listener(state)

    @property
    def listening(self) -> int:
        """The number of pages that wait for the next state."""
        return len(self._listeners)

    def watch(self, key: GroupKey) -> AbstractContextManager[None]:
        """See ``StateSource``."""
        del key
        return nullcontext()

    def subscribe(self, listener: Callable[[ClusterState], None]) -> Callable[[], None]:
        """See ``StateSource``."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)


class ModelSite:
    """A served site, and what it shows.

    Attributes:
        source: the source of states.
        past: the cluster's history.
        store: a ZooKeeper with the nodes of one group, for the view of nodes.
        clock: a clock that shows two seconds after the latest state.
        address: the site's address.
        token: the access token; "" for none.
        listeners: the most event streams at the same time.
        delivery_problem: why notifications could not be sent; None: they could.
    """

    def __init__(self, token: str = "", *, listeners: int = 10) -> None:
        self.source = ModelStateSource(state_at())
        self.past = ScriptedPast()
        self.clock = ManualClock(wall_ms=NOW_MS + 2_000)
        self.store = _nodes_of(self.source.current.snapshot.groups[BILLING])
        self.token = token
        self.listeners = listeners
        self.address = ""
        self.delivery_problem: str | None = None


def model_messages(query: MessageQuery) -> BrowseResult:
    """Return messages of all kinds, one of them hostile, that pass the query's filter."""
    decode = BytesDecoder().decode
    values = (
        b'{"order": 4711, "customer": {"id": 42, "name": "Ann"}, "items": [{"sku": "jam-1"}]}',
        b"plain text of an old producer",
        b"\x00\x01\x02\xff\xfe",
        b"</code><script>document.title = 'owned'</script><img src=x onerror=alert(1)>",
        None,
    )
    messages = [
        SeenMessage(
            topic=query.topic,
            partition=place % 2,
            offset=1_000 + place,
            timestamp=NOW_MS - 60_000 + place * 1_000,
            raw_key=b"order-%d" % place,
            raw_value=value,
            key=decode(b"order-%d" % place, form=query.form),
            value=decode(value, form=query.form),
            headers=(("trace", decode(b"8f3a")),) if place == 0 else (),
        )
        for place, value in enumerate(values)
    ]
    wanted = [message for message in messages if query.passes is None or query.passes(message)]
    return BrowseResult(messages=wanted[-query.limit :], scanned=len(messages))


@contextmanager
def served(site: ModelSite) -> Iterator[ModelSite]:
    """Serve the site on a free port of loopback."""
    parts = _parts(site)
    with _serving(build_app(parts), [parts.events]) as site.address:
        yield site


@contextmanager
def served_clusters() -> Iterator[tuple[str, dict[str, ModelSite]]]:
    """Serve two clusters: the shop, and a healthy factory ("plant") without groups."""
    sites = {"plant": ModelSite(), "shop": ModelSite()}
    shop = sites["plant"].source.current
    quiet = replace(shop.snapshot, groups={}, topics=(), zookeeper_connect="plant-zk:2181")
    sites["plant"].source.current = replace(
        shop, snapshot=quiet, judgements=Judgements(quiet, None, Memory())
    )
    parts = {name: _parts(site) for name, site in sites.items()}
    hubs = [part.events for part in parts.values()]
    with _serving(build_clusters_app(parts), hubs) as address:
        yield address, sites


def _parts(site: ModelSite) -> Site:
    return Site(
        source=site.source,
        past=site.past,
        store=lambda: site.store,
        tokens=Tokens(site.token or None),
        hosts=Hosts(any_name=False),
        events=EventHub(site.source, clients_max=site.listeners),
        clock=site.clock,
        messages=model_messages,
        delivery_problem=lambda: site.delivery_problem,
    )


@contextmanager
def _serving(app: ASGIApp, hubs: Sequence[EventHub]) -> Iterator[str]:
    """Serve an application on a free port of loopback; yield its address."""
    config = uvicorn.Config(
        app, loop="asyncio", http="h11", ws="none", lifespan="off", log_config=None
    )
    server = _Server(config)
    scope = ThreadScope("model-site")
    with socket.create_server(("127.0.0.1", 0)) as bound:

        def stop() -> None:
            server.should_exit = True
            for hub in hubs:
                hub.close()

        scope.spawn("serve", lambda: server.run(sockets=[bound]), stop=stop)
        try:
            wait_until(lambda: server.started, what="the page to be served")
            yield f"http://127.0.0.1:{bound.getsockname()[1]}"
        finally:
            assert not scope.close(10_000)


def _nodes_of(group: GroupStatus) -> ZkStore:
    server = MemoryZkServer(wall_ms=lambda: NOW_MS - 60_000)
    store = server.connect()
    paths = GroupPaths(group.group_id)
    for member in group.members:
        message = Registration(subscription=member.streams, timestamp_ms=member.registered_ms or 0)
        session = server.connect()
        session.create(paths.member(member.member_id), encode_registration(message), ephemeral=True)
        for group_partition in group.partitions:
            if group_partition.owner is not None and group_partition.owner.startswith(
                member.member_id
            ):
                session.create(
                    paths.owner(group_partition.topic_partition),
                    group_partition.owner.encode(),
                    ephemeral=True,
                )
    store.set_or_create_many(
        {
            paths.offset(partition.topic_partition): str(partition.committed[0].offset).encode()
            for partition in group.partitions
        }
    )
    return store


class _Server(uvicorn.Server):
    """A uvicorn server in a thread, which must not install signal handlers."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        assert threading.current_thread() is not threading.main_thread()
        yield
