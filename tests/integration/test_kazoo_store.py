"""The client on a real ZooKeeper, for what the in-memory one cannot show."""

import socket
import threading
from collections.abc import Iterator

import pytest

from tests.support.waiting import PROMPT_MS, wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.errors import ConfigError, RegistryError
from zkconsumer.sandbox import Sandbox
from zkconsumer.scope import ThreadScope
from zkconsumer.zk.kazoo_store import connect
from zkconsumer.zk.store import CreateOp, ZkStore


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """Start a ZooKeeper for these tests alone, since it is paused and stopped."""
    with Sandbox(kafka="0.8.2.2", brokers=0) as running:
        yield running


@pytest.fixture
def store(sandbox: Sandbox) -> Iterator[ZkStore]:
    """Give a client below the sandbox's chroot."""
    made = connect(sandbox.zookeeper_connect, session_timeout_ms=6_000, connection_timeout_ms=5_000)
    yield made
    made.close()


@pytest.mark.zk
@pytest.mark.parametrize(("sent_ms", "granted_ms"), [(7_001, 7_001), (10**9, None), (1, None)])
def test_the_granted_session_timeout_is_the_servers(
    sandbox: Sandbox, sent_ms: int, granted_ms: int | None
) -> None:
    """A timeout of 2 to 20 ticks is granted exactly, others are clamped."""
    store = connect(
        sandbox.zookeeper_connect, session_timeout_ms=sent_ms, connection_timeout_ms=5_000
    )
    assert store.negotiated_timeout_ms != 0
    if granted_ms is None:
        assert store.negotiated_timeout_ms != sent_ms
    else:
        assert store.negotiated_timeout_ms == granted_ms
    store.close()


@pytest.mark.zk
def test_support_of_transactions_is_detected(store: ZkStore) -> None:
    """ZooKeeper 3.4.6 has them."""
    assert store.supports_multi


@pytest.mark.zk
def test_a_missing_chroot_is_named_and_not_created(sandbox: Sandbox) -> None:
    """Brokers create it, consumers never do."""
    root = sandbox.zookeeper_connect.partition("/")[0]
    for _ in range(2):
        with pytest.raises(
            RegistryError, match=r"chroot /no/such of zookeeper\.connect does not exist"
        ):
            connect(f"{root}/no/such", session_timeout_ms=6_000, connection_timeout_ms=5_000)


@pytest.mark.zk
def test_paths_and_watches_are_below_the_chroot(sandbox: Sandbox, store: ZkStore) -> None:
    """The chroot is in neither of them."""
    seen: list[str] = []
    root_text, _, chroot = sandbox.zookeeper_connect.partition("/")
    store.exists_many(["/below"], watch=lambda path, _: seen.append(path))
    root = connect(root_text, session_timeout_ms=6_000, connection_timeout_ms=5_000)
    root.create(f"/{chroot}/below", b"x", ephemeral=False)
    wait_until(lambda: seen, what="the watch below the chroot")
    assert seen == ["/below"]
    store.delete_many(["/below"])
    root.close()


def test_a_malformed_connect_string_is_refused_at_once() -> None:
    """It is refused before any name is resolved."""
    with pytest.raises(ConfigError, match="chroot is given once"):
        connect("h:1/a,h:2/a", session_timeout_ms=6_000, connection_timeout_ms=5_000)


def send_nonsense(server: socket.socket) -> None:
    """Send bytes that are no ZooKeeper response to every connection, until the server is closed."""
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        with connection:
            connection.sendall(b"\0\0\0\4HTTP/1.1 400 Bad Request\r\n\r\n")


@pytest.mark.parametrize("kind", ["nobody listens", "never answers", "answers nonsense"])
def test_an_address_without_a_zookeeper_times_out(kind: str) -> None:
    """Whatever is there, the error has the address and comes within the timeout."""
    scope = ThreadScope("stranger")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        if kind == "nobody listens":
            server.close()
        if kind == "answers nonsense":
            scope.spawn("answer", lambda: send_nonsense(server), stop=lambda: None)
        clock = SystemClock()
        started_ms = clock.now_ms()
        with pytest.raises(RegistryError, match=f"127.0.0.1:{port} responded within 600 ms"):
            connect(f"127.0.0.1:{port}", session_timeout_ms=1_000, connection_timeout_ms=600)
        assert clock.now_ms() - started_ms < PROMPT_MS
        if kind == "answers nonsense":
            server.shutdown(socket.SHUT_RDWR)
    assert scope.close(5_000) == []


@pytest.mark.zk
def test_a_call_to_a_frozen_server_times_out(sandbox: Sandbox) -> None:
    """The connection and the session stay, and are used again afterwards."""
    store = connect(sandbox.zookeeper_connect, session_timeout_ms=20_000, connection_timeout_ms=700)
    session_id = store.session_id
    clock = SystemClock()
    sandbox.pause_zookeeper()
    try:
        started_ms = clock.now_ms()
        with pytest.raises(RegistryError, match="did not respond within 700 ms"):
            store.get_many([f"/{number}" for number in range(500)])
        assert 600 <= clock.now_ms() - started_ms < PROMPT_MS
    finally:
        sandbox.resume_zookeeper()
    assert store.get_many(["/nope"]) == [None]
    assert store.session_id == session_id
    store.close()


@pytest.mark.zk
def test_closing_does_not_wait_for_a_frozen_server(sandbox: Sandbox) -> None:
    """It takes no longer than its timeout."""
    store = connect(sandbox.zookeeper_connect, session_timeout_ms=20_000, connection_timeout_ms=700)
    clock = SystemClock()
    sandbox.pause_zookeeper()
    try:
        started_ms = clock.now_ms()
        store.close()
        assert clock.now_ms() - started_ms < PROMPT_MS
    finally:
        sandbox.resume_zookeeper()


@pytest.mark.zk
def test_a_restarted_server_finds_the_session_as_it_was(sandbox: Sandbox, store: ZkStore) -> None:
    """Sessions and ephemeral nodes outlive the server's process; the client reconnects itself."""
    session_id = store.session_id
    store.create("/mine", b"", ephemeral=True)
    sandbox.stop_zookeeper()
    wait_until(lambda: not store.connected, what="the client to notice")
    sandbox.start_zookeeper()
    wait_until(lambda: store.connected, what="the client to come back")
    assert store.session_id == session_id
    node = store.get_many(["/mine"])[0]
    assert node is not None
    assert node.ephemeral_owner == session_id


@pytest.mark.zk
def test_threads_share_a_client(store: ZkStore) -> None:
    """Batches of several threads take turns, and each gets its own responses."""
    paths = [f"/shared/{number}" for number in range(300)]
    store.set_or_create_many({path: path.encode() for path in paths})
    wrong: list[object] = []

    def read(part: list[str]) -> None:
        found = store.get_many(part)
        wrong.extend(
            path
            for path, node in zip(part, found, strict=True)
            if node is None or node.data != path.encode()
        )

    threads = [
        threading.Thread(target=read, args=(paths[start::4],))  # noqa: TID251 - joined below
        for start in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert wrong == []
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.zk
def test_a_closed_client_leaves_nothing_behind(sandbox: Sandbox) -> None:
    """Its thread and session have ended, and its ephemeral nodes are deleted at once."""
    before = set(threading.enumerate())
    store = connect(
        sandbox.zookeeper_connect, session_timeout_ms=20_000, connection_timeout_ms=5_000
    )
    other = connect(
        sandbox.zookeeper_connect, session_timeout_ms=20_000, connection_timeout_ms=5_000
    )
    store.write_many([CreateOp("/gone", b"", ephemeral=True)])
    store.close()
    assert other.exists_many(["/gone"]) == [None]
    other.close()
    # Threads of earlier clients may end meanwhile: only new threads count.
    wait_until(lambda: not set(threading.enumerate()) - before, what="the clients' threads to end")
