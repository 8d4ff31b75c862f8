"""A ZooKeeper client that is not a member, and whose ephemeral nodes go with it."""

from collections.abc import Iterator
from contextlib import contextmanager

from zkconsumer.sandbox import Sandbox
from zkconsumer.zk import kazoo_store
from zkconsumer.zk.store import ZkStore


@contextmanager
def stranger(cluster: Sandbox) -> Iterator[ZkStore]:
    """Connect a client during the context; its session and ephemeral nodes end with it."""
    store = kazoo_store.connect(
        cluster.zookeeper_connect, session_timeout_ms=4000, connection_timeout_ms=10_000
    )
    try:
        yield store
    finally:
        store.close(5_000)
