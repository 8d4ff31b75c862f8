"""A ZooKeeper's transaction log has everything that clients wrote."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.cluster import session_password
from tests.histories.zookeeper_log import read_history
from tests.support.waiting import wait_until
from tests.support.zk_tree import ZkTree
from zkconsumer.errors import RegistryError, SandboxError, SessionLost
from zkconsumer.sandbox import Sandbox
from zkconsumer.zk import kazoo_store
from zkconsumer.zk.store import CreateOp, DeleteOp, SetOp

pytestmark = pytest.mark.zk


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The server's directory."""
    return tmp_path / "zookeeper-files"


@pytest.fixture
def server(folder: Path) -> Iterator[Sandbox]:
    """A ZooKeeper for this test alone."""
    with Sandbox(brokers=0, work_dir=folder) as sandbox:
        yield sandbox


def test_every_write_is_there_with_its_session_also_after_a_crash(
    server: Sandbox, folder: Path
) -> None:
    """Writes of a transaction share a zxid, failed ones are absent, and sessions end with nodes."""
    tree = ZkTree(server)
    store = kazoo_store.connect(
        server.zookeeper_connect, session_timeout_ms=4000, connection_timeout_ms=10_000
    )
    try:
        session = store.session_id
        store.create("/plain", b"1", ephemeral=False)
        store.multi([CreateOp("/own", b"mine", ephemeral=True), SetOp("/plain", b"2", version=-1)])
        refused = store.multi([DeleteOp("/plain", version=-1), DeleteOp("/none", version=-1)])
        assert not refused.ok
        server.kill_zookeeper()
        server.start_zookeeper()
        tree.put("/plain", b"3")
        server.expire_session(session, session_password(session))
    finally:
        store.close()
    writes = [
        write for write in read_history(folder / "zookeeper" / "data") if "kafka/" in write.path
    ]
    assert [(write.path, write.data) for write in writes] == [
        ("/kafka/plain", b"1"),
        ("/kafka/own", b"mine"),
        ("/kafka/plain", b"2"),
        ("/kafka/plain", b"3"),
        ("/kafka/own", None),
    ]
    assert [write.session == session for write in writes] == [True, True, True, False, True]
    assert [write.ephemeral for write in writes] == [False, True, False, False, False]
    assert [write.by_session_end for write in writes] == [False, False, False, False, True]
    assert writes[1].zxid == writes[2].zxid
    assert [write.time_ms for write in writes] == sorted(write.time_ms for write in writes)


def test_a_wrong_password_ends_no_session(server: Sandbox) -> None:
    """Only a client with the session's password can end it, as chaos runs do."""
    store = kazoo_store.connect(
        server.zookeeper_connect, session_timeout_ms=4000, connection_timeout_ms=10_000
    )
    session = store.session_id

    def reads() -> bool:
        try:
            return store.get_many(["/"]) != [None]
        except SessionLost:
            raise
        except RegistryError:
            return False  # on a busy machine a connection may break; the session lives on

    try:
        with pytest.raises(SandboxError, match="expired, or the password is wrong"):
            server.expire_session(session, session_password(session + 1))
        wait_until(reads, what="an answer to the session")
        assert store.session_id == session
    finally:
        store.close()
