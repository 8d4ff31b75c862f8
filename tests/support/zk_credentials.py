"""The credentials of a real ZooKeeper client's session, for tests that end it."""

from typing import Any, cast

from zkconsumer.zk.store import ZkStore


def credentials_of(store: ZkStore) -> tuple[int, bytes]:
    """Return the id and the password of the session of a connected client."""
    found: tuple[int, bytes] | None = cast("Any", store)._kazoo.client_id
    assert found is not None
    return found
