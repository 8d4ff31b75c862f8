"""ZooKeepers for contract suites: one in memory, and a real server behind gates.

A fault (expire, disconnect) has taken effect when the call returns.
"""

import itertools
from contextlib import ExitStack
from typing import Protocol

from tests.fakes.memory_zk import MemoryZkServer
from tests.support.tcp_gate import TcpGate
from tests.support.waiting import wait_until
from tests.support.zk_credentials import credentials_of
from zkconsumer.sandbox import Sandbox
from zkconsumer.zk.kazoo_store import connect
from zkconsumer.zk.session import SessionEvent, SessionState
from zkconsumer.zk.store import ZkStore

# Enough for thousands of requests on a busy machine; tests without a connection wait this long.
CALL_TIMEOUT_MS = 3_000
_world_numbers = itertools.count()


class ZkWorld(Protocol):
    """An empty ZooKeeper, and control over its clients' connections."""

    def connect(self) -> ZkStore:
        """Return a new client."""
        ...

    def expire(self, store: ZkStore) -> None:
        """End a connected client's session; afterwards it has a new one."""
        ...

    def disconnect(self, store: ZkStore) -> None:
        """Break a client's connection, and keep it broken."""
        ...

    def reconnect(self, store: ZkStore) -> None:
        """Let a client reconnect; its session has survived."""
        ...


class MemoryWorld:
    """The in-memory ZooKeeper."""

    def __init__(self, *, supports_multi: bool) -> None:
        self._server = MemoryZkServer(supports_multi=supports_multi)

    def connect(self) -> ZkStore:
        return self._server.connect()

    def expire(self, store: ZkStore) -> None:
        self._server.expire(store.session_id)

    def disconnect(self, store: ZkStore) -> None:
        self._server.disconnect(store.session_id)

    def reconnect(self, store: ZkStore) -> None:
        self._server.reconnect(store.session_id)


class RealWorld:
    """A chroot of its own on a real ZooKeeper, with a gate in front of every client."""

    def __init__(self, sandbox: Sandbox, stack: ExitStack, *, supports_multi: bool | None) -> None:
        self._sandbox = sandbox
        self._stack = stack
        self._supports_multi = supports_multi
        self._gates: dict[ZkStore, TcpGate] = {}
        host, _, port = sandbox.zookeeper_connect.partition("/")[0].partition(":")
        self._address = (host, int(port))
        self._chroot = f"/world{next(_world_numbers)}"
        root = connect(f"{host}:{port}", session_timeout_ms=6_000, connection_timeout_ms=10_000)
        root.ensure_paths([self._chroot])
        root.close()

    def connect(self) -> ZkStore:
        gate = self._stack.enter_context(TcpGate(*self._address))
        store = connect(
            f"127.0.0.1:{gate.port}{self._chroot}",
            session_timeout_ms=20_000,
            connection_timeout_ms=CALL_TIMEOUT_MS,
            supports_multi=self._supports_multi,
        )
        self._stack.callback(store.close)
        self._gates[store] = gate
        return store

    def expire(self, store: ZkStore) -> None:
        old_id = store.session_id
        events: list[SessionEvent] = []
        store.on_session(events.append)
        self._sandbox.expire_session(*credentials_of(store))
        wait_until(
            lambda: any(
                event.state is SessionState.CONNECTED and event.session_id != old_id
                for event in events
            ),
            what="a new session",
        )

    def disconnect(self, store: ZkStore) -> None:
        self._gates[store].shut()
        wait_until(lambda: not store.connected, what="the client to notice the broken connection")

    def reconnect(self, store: ZkStore) -> None:
        self._gates[store].open()
        wait_until(lambda: store.connected, what="the client to connect again")
