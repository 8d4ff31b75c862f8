"""Reads the brokers registered in ZooKeeper, and explains why there are none.

A forgotten chroot leads to a tree without a cluster, in which nothing can be late, unowned or down:
a tool that goes on reading there would report that all is well. So every tool that needs a cluster
checks here first, or gets its brokers here.
"""

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final

from zkconsumer.errors import RegistryError
from zkconsumer.model import Broker
from zkconsumer.net.security import SecurityProtocol
from zkconsumer.wire.negotiation import BrokerVersions, of_generation
from zkconsumer.wire.versions import OLDEST
from zkconsumer.zk.absence import NoBrokers
from zkconsumer.zk.connect_string import parse_connect_string
from zkconsumer.zk.group_reader import read_brokers
from zkconsumer.zk.group_values import BrokerList as RegisteredBrokers
from zkconsumer.zk.paths import BROKER_IDS, is_path
from zkconsumer.zk.registry import GroupRegistry
from zkconsumer.zk.store import ReadDenied, ZkStore

_BROKERS: Final = "/brokers"
_PLAIN: Final = re.compile(r"(/[\w.-]+)+", re.ASCII)
"""The chroots that are reported: others would need quoting, and do not occur in practice."""
_NEVER: Final = frozenset({"zookeeper", "brokers", "consumers", "admin", "config", "controller"})
_MOST_FIRST: Final = 200
_MOST_SECOND: Final = 400
"""Limits of nodes that are read: directly below the root, and one level further down."""
_AT_ONCE: Final = 10
_MAX_HINTS: Final = 3

ReadChildren = Callable[[Sequence[str]], list[list[str] | None]]
"""Returns the children of each server path, regardless of the chroot; None: no such node."""


log = logging.getLogger(__name__)


def live_brokers(
    store: ZkStore, zookeeper_connect: str, protocol: SecurityProtocol = "PLAINTEXT"
) -> tuple[Broker, ...]:
    """Return the registered brokers, at least one.

    Args:
        store: the ZooKeeper client.
        zookeeper_connect: its connect string, for the error.
        protocol: selects the brokers' listeners.

    Raises:
        RegistryError: none is registered or usable; says why, and which chroots have some.
    """
    listed = read_brokers(store, None, protocol)
    if listed.brokers:
        return listed.brokers
    if listed.malformed:
        why = "; ".join(listed.malformed.values())
        raise RegistryError(f"ZooKeeper at {zookeeper_connect} has no usable broker: {why}")
    raise RegistryError(str(why_no_brokers(store, zookeeper_connect)))


def require_cluster(
    store: ZkStore, zookeeper_connect: str, *, may_be_to_come: bool = False
) -> None:
    """Check that a cluster is, or has been, at this chroot; its brokers may all be down.

    Args:
        store: the ZooKeeper client.
        zookeeper_connect: its connect string, for the error.
        may_be_to_come: whether servers without any cluster are accepted: a consumer may be started
            before the first broker.

    Raises:
        RegistryError: there is no cluster; names the chroots that have one.
    """
    if store.exists_many([_BROKERS]) != [None]:
        return
    why = why_no_brokers(store, zookeeper_connect)
    if why.other_chroots or not may_be_to_come:
        raise RegistryError(str(why))


def why_no_brokers(store: ZkStore, zookeeper_connect: str) -> NoBrokers:
    """Find out why no broker is registered, and which chroots of the same servers have some.

    Raises:
        RegistryError: ZooKeeper does not respond.
    """
    return NoBrokers(
        zookeeper_connect=zookeeper_connect,
        is_cluster=store.exists_many([_BROKERS]) != [None],
        other_chroots=clusters_at(zookeeper_connect, store.server_children),
    )


def clusters_at(zookeeper_connect: str, children: ReadChildren) -> tuple[str, ...]:
    """Return connect strings of the same servers with registered brokers.

    At most a few hundred nodes are read, two levels deep; those that may not be read are skipped,
    and a ZooKeeper that does not respond ends the search.

    Args:
        zookeeper_connect: the connect string; its own chroot is left out.
        children: reads children.
    """
    given = parse_connect_string(zookeeper_connect)
    try:
        for chroots in _candidates(children):
            wanted = [chroot for chroot in chroots if chroot != given.chroot]
            held = _tolerant(children, [chroot + BROKER_IDS for chroot in wanted])
            found = [chroot for chroot, ids in zip(wanted, held, strict=True) if ids]
            if found:
                return tuple(f"{given.hosts}{chroot}" for chroot in found[:_MAX_HINTS])
    except RegistryError:
        pass  # only a hint: the caller reports its own error
    return ()


def _candidates(children: ReadChildren) -> Iterator[list[str]]:
    """Yield the chroots to try: no chroot and those of one level, then those of two levels."""
    first = _below(children, [""], _MOST_FIRST)
    yield ["", *first]
    yield _below(children, first, _MOST_SECOND)


def _below(children: ReadChildren, parents: Sequence[str], most: int) -> list[str]:
    """Return chroots one level below these; reads a few parents at a time, as each may be large."""
    found: list[str] = []
    for first in range(0, len(parents), _AT_ONCE):
        part = parents[first : first + _AT_ONCE]
        names = _tolerant(children, [chroot or "/" for chroot in part])
        paths = (
            f"{parent}/{name}"
            for parent, below in zip(part, names, strict=True)
            for name in below or ()
            if name not in _NEVER
        )
        plain = (path for path in paths if _PLAIN.fullmatch(path) and is_path(path))
        found += islice(plain, most - len(found))
        if len(found) == most:
            break
    return found


def _tolerant(children: ReadChildren, paths: Sequence[str]) -> list[list[str] | None]:
    """Read children; return None for a node that may not be read, and still read the others."""
    if not paths:
        return []
    try:
        return children(paths)
    except ReadDenied:
        if len(paths) == 1:
            return [None]
    middle = len(paths) // 2
    return [*_tolerant(children, paths[:middle]), *_tolerant(children, paths[middle:])]


class LiveBrokers:
    """Reads ``/brokers/ids``; returns the last known list while ZooKeeper is unavailable.

    Thread: leader finder.
    """

    def __init__(self, registry: GroupRegistry) -> None:
        self._registry = registry
        self._last: RegisteredBrokers | None = None

    def read(self) -> Sequence[Broker]:
        """Return the live brokers, or the last known ones.

        Raises:
            RegistryError: ZooKeeper can't be read, and no brokers are known.
        """
        try:
            self._last = self._registry.read_brokers()
        except RegistryError as error:
            if self._last is None or not self._last.brokers:
                raise
            log.info("ZooKeeper can't be read, using the last known brokers: %s", error)
        return self._last.brokers

    def versions_of(self, broker: Broker) -> BrokerVersions | None:
        """Return the versions that a broker's registration implies; None: request them from it.

        Brokers of 0.8 and 0.9 have no such request, and no later broker registers as they do
        (unless it is configured to: then it serves these versions, too). Thread: any.
        """
        registered = self._last
        is_old = registered is not None and (registered.are_old or broker.id in registered.old_ids)
        return of_generation(OLDEST) if is_old else None
