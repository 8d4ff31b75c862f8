"""The brokers that ZooKeeper names; and where it names none, why: one place that looks.

A chroot that was forgotten leads to a tree without a cluster, in which there is nothing to be late,
to be unowned, or to be down: whoever reads on there finds all well. So who needs a cluster asks
here first, or asks for its brokers.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final

from zkconsumer.errors import RegistryError, SessionLost
from zkconsumer.model import Broker
from zkconsumer.net.security import SecurityProtocol
from zkconsumer.zk.absence import NoBrokers
from zkconsumer.zk.connect_string import parse_connect_string
from zkconsumer.zk.group_reader import read_brokers
from zkconsumer.zk.paths import BROKER_IDS, is_path
from zkconsumer.zk.store import ZkStore

_BROKERS: Final = "/brokers"
_PLAIN: Final = re.compile(r"(/[\w.-]+)+", re.ASCII)
"""The chroots that are told: others would have to be quoted, and nobody has them."""
_NEVER: Final = frozenset({"zookeeper", "brokers", "consumers", "admin", "config", "controller"})
_MOST_FIRST: Final = 200
_MOST_SECOND: Final = 400
"""How many nodes are looked at, of those below the root and of those below these."""
_AT_ONCE: Final = 10
_MOST_TOLD: Final = 3

ReadChildren = Callable[[Sequence[str]], list[list[str] | None]]
"""The names below each of these nodes of the servers, whatever the chroot; None: no such node."""


def live_brokers(
    store: ZkStore, zookeeper_connect: str, protocol: SecurityProtocol = "PLAINTEXT"
) -> tuple[Broker, ...]:
    """Return the brokers that are registered, and there is one at least.

    Args:
        store: the way to ZooKeeper.
        zookeeper_connect: what it was opened with, for the error.
        protocol: what is to be spoken with them: they are at their listeners for that.

    Raises:
        RegistryError: none is, or none that can be used; says why, and where there are some.
    """
    listed = read_brokers(store, None, protocol)
    if listed.brokers:
        return listed.brokers
    if listed.malformed:
        why = "; ".join(listed.malformed.values())
        raise RegistryError(f"ZooKeeper at {zookeeper_connect} names no broker to ask: {why}")
    raise RegistryError(str(why_no_brokers(store, zookeeper_connect)))


def require_cluster(
    store: ZkStore, zookeeper_connect: str, *, may_be_to_come: bool = False
) -> None:
    """Make sure that a cluster is, or has been, at this chroot; whether brokers live is not asked.

    Args:
        store: the way to ZooKeeper.
        zookeeper_connect: what it was opened with, for the error.
        may_be_to_come: whether servers that have no cluster anywhere will do: a consumer may be
            started before the brokers ever were.

    Raises:
        RegistryError: there is none; says where there are some.
    """
    if store.exists_many([_BROKERS]) != [None]:
        return
    why = why_no_brokers(store, zookeeper_connect)
    if why.elsewhere or not may_be_to_come:
        raise RegistryError(str(why))


def why_no_brokers(store: ZkStore, zookeeper_connect: str) -> NoBrokers:
    """Find out why no broker is registered, and where on the same servers some are.

    Raises:
        RegistryError: ZooKeeper does not answer.
    """
    return NoBrokers(
        zookeeper_connect=zookeeper_connect,
        is_cluster=store.exists_many([_BROKERS]) != [None],
        elsewhere=clusters_at(zookeeper_connect, store.server_children),
    )


def clusters_at(zookeeper_connect: str, children: ReadChildren) -> tuple[str, ...]:
    """Return connect strings of the same servers below which brokers are registered.

    A few hundred nodes are looked at, at most two levels deep; what can't be read is passed over.

    Args:
        zookeeper_connect: whose chroot is not what is looked for.
        children: reads.
    """
    given = parse_connect_string(zookeeper_connect)
    try:
        for chroots in _candidates(children):
            wanted = [chroot for chroot in chroots if chroot != given.chroot]
            held = _tolerant(children, [chroot + BROKER_IDS for chroot in wanted])
            found = [chroot for chroot, ids in zip(wanted, held, strict=True) if ids]
            if found:
                return tuple(f"{given.hosts}{chroot}" for chroot in found[:_MOST_TOLD])
    except RegistryError:
        pass  # it is only a hint: whoever needs an answer will find that there is none
    return ()


def _candidates(children: ReadChildren) -> Iterator[list[str]]:
    """The chroots to try: none at all and those of one level, then those of two."""
    first = _below(children, [""], _MOST_FIRST)
    yield ["", *first]
    yield _below(children, first, _MOST_SECOND)


def _below(children: ReadChildren, parents: Sequence[str], most: int) -> list[str]:
    """Chroots one level below these; a few parents at a time, since each may have many."""
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
    """Read; a node that is refused does not hide the others."""
    if not paths:
        return []
    try:
        return children(paths)
    except SessionLost:
        raise
    except RegistryError:
        if len(paths) == 1:
            return [None]
    middle = len(paths) // 2
    return [*_tolerant(children, paths[:middle]), *_tolerant(children, paths[middle:])]
