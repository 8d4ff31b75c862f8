"""Wraps kazoo, the client library; only this module and its ``kazoo_*`` neighbours import it.

Facts about kazoo 2.11 (``client``, ``protocol/connection``), and their consequences here:

- Watches do not survive a broken connection, not even within the same session: kazoo drops all of
  them on SUSPENDED (calling each with an event of type NONE, which we don't pass on) and registers
  none of them again. After CONNECTED everything must be read again.
- State listeners run on the connection's thread: a ZooKeeper call from one would wait for itself.
  Ours records the state, notifies our listeners (which only put into a mailbox), and returns.
- ``client_id`` is empty while disconnected and reset on expiry: the last id is kept here.
- After an expiry kazoo opens a new session by itself. A request is sent only into the session that
  it was meant for (``SessionTracker``).
- A request queued while disconnected would wait, and run once the connection is back, perhaps long
  after its caller has given up. So nothing is queued until there is a connection. A request in
  flight when the connection breaks fails, but may have happened. A request in flight when the
  time-out of its batch passes may still happen, in the same session and before anything sent later.
- kazoo's command retries are not used; its connection retries go on for ever, see ``_retry``.
- Stopping kazoo waits for its thread, which may be connecting: ``close`` limits that wait.
"""

import logging
import re
from collections.abc import Callable, Sequence
from typing import Any

from kazoo import exceptions as ke
from kazoo.client import KazooClient
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol.serialization import Connect, Exists, GetChildren, GetData
from kazoo.protocol.states import KazooState, KeeperState
from kazoo.retry import KazooRetry

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.config_zookeeper import OPEN, ZookeeperSecurity
from zkconsumer.errors import RegistryError
from zkconsumer.net.tcp import open_socket
from zkconsumer.scope import ThreadScope
from zkconsumer.zk import kazoo_io, kazoo_log, kazoo_pings, kazoo_security
from zkconsumer.zk.connect_string import ConnectString, parse_connect_string
from zkconsumer.zk.kazoo_calls import (
    in_chroot,
    multi_call,
    multi_result,
    read_call,
    read_result,
    write_call,
    write_error,
    znode,
    znode_stat,
)
from zkconsumer.zk.live_brokers import clusters_at
from zkconsumer.zk.pipeline import Pipeline
from zkconsumer.zk.session import ResponseListener, SessionListener, SessionState
from zkconsumer.zk.session_tracker import SessionTracker
from zkconsumer.zk.store import (
    CLOSE_TIMEOUT_MS,
    MultiResult,
    Op,
    OpError,
    Watch,
    ZkStore,
    ZNode,
    ZNodeStat,
)

log = logging.getLogger(__name__)

_FIRST_MULTI_VERSION = (3, 4)
_COMMAND_TIMEOUT_MS = 2_000
_VERSION = re.compile(r"[Vv]ersion: (\d+)\.(\d+)")
_STATES = {
    KazooState.SUSPENDED: SessionState.SUSPENDED,
    KazooState.LOST: SessionState.LOST,
}


def connect(
    zookeeper_connect: str,
    *,
    session_timeout_ms: int,
    connection_timeout_ms: int,
    security: ZookeeperSecurity = OPEN,
    supports_multi: bool | None = None,
) -> ZkStore:
    """Connect to ZooKeeper and open a session.

    Args:
        zookeeper_connect: ``host1:port1,host2:port2/chroot``.
        session_timeout_ms: requested; the server grants ``negotiated_timeout_ms``.
        connection_timeout_ms: limits the first connect, and later each call as a whole.
        security: how to authenticate, and who may change what is created.
        supports_multi: whether the server supports transactions; None: request its version.

    Raises:
        ConfigError: the text is not a list of servers; or a file or library that ``security``
            needs can't be used.
        RegistryError: no server responded in time, or accepts our credentials; or the chroot does
            not exist.
    """
    servers = parse_connect_string(zookeeper_connect)
    store = _KazooStore(servers, session_timeout_ms, connection_timeout_ms, SystemClock(), security)
    try:
        store.start(supports_multi=supports_multi)
    except BaseException:
        store.close()
        raise
    return store


class _KazooStore(ZkStore):
    """A ``ZkStore`` on kazoo."""

    def __init__(
        self,
        servers: ConnectString,
        session_timeout_ms: int,
        timeout_ms: int,
        clock: Clock,
        security: ZookeeperSecurity,
    ) -> None:
        self._servers = servers
        self._security = security
        self._timeout_ms = timeout_ms
        self._clock = clock
        self._tracker = SessionTracker(servers.hosts, clock)
        self._pipeline = Pipeline(self._tracker, clock, timeout_ms=timeout_ms)
        self.negotiated_timeout_ms = session_timeout_ms
        self.supports_multi = True
        self._received: tuple[int, int] | None = None
        self._auth_failure: str | None = None
        self._response_listeners: list[ResponseListener] = []
        self._kazoo = _new_kazoo(servers, session_timeout_ms, security, self._note_negotiated)
        self._tls = kazoo_security.install(self._kazoo, security)
        connection = self._kazoo._connection  # noqa: SLF001 - no public attribute has it
        self._pings = kazoo_pings.install(connection, clock, self._note_response)
        if self._pings is None:
            log.warning(
                "this version of kazoo does not report when ZooKeeper responds: an unresponsive "
                "ZooKeeper is noticed late"
            )
        self._kazoo.add_listener(self._note_state)

    @property
    def session_id(self) -> int:
        return self._tracker.session_id

    @property
    def connected(self) -> bool:
        return self._tracker.connected

    def on_session(self, listener: SessionListener) -> None:
        self._tracker.add(listener)

    def on_response_sent(self, listener: ResponseListener) -> None:
        self._response_listeners.append(listener)
        if self._received is not None:
            listener(*self._received)

    def start(self, *, supports_multi: bool | None) -> None:
        """Connect, check the chroot, and request the server's version if needed."""
        self._kazoo.start_async()
        kazoo_io.install_wakeup(self._kazoo._connection)  # noqa: SLF001 - no public attribute has it
        deadline_ms = self._clock.now_ms() + self._timeout_ms
        try:
            self._tracker.await_connected(None, deadline_ms)
        except RegistryError as error:
            raise self._connection_error() from error
        if self._security.authenticates:
            # kazoo is connected before it has authenticated.
            self._check_authenticated()
        if self._servers.chroot and self._exists(["/"], None, self.session_id) == [None]:
            raise RegistryError(
                f"the chroot {self._servers.chroot} of zookeeper.connect does not exist at "
                f"{self._servers.hosts}: is it spelled as in the brokers' zookeeper.connect? "
                f"Brokers create it when they start, consumers never do{self._other_chroots()}"
            )
        self.supports_multi = self._send_multi() if supports_multi is None else supports_multi

    def _connection_error(self) -> RegistryError:
        where = f"zookeeper.connect={self._servers.hosts}"
        why = self._tls.tls_failure if self._tls is not None else None
        if why is not None:
            return RegistryError(f"no ZooKeeper server of {where} could be reached over TLS: {why}")
        return RegistryError(
            f"no ZooKeeper server of {where} responded within {self._timeout_ms} ms "
            "(zookeeper.connection.timeout.ms): is one running there, and is the address right?"
        )

    def _check_authenticated(self) -> None:
        try:
            self._exists(["/"], None, self.session_id)
        except RegistryError as error:
            # The recorded reason is more specific than the error of a request in flight.
            raise RegistryError(self._auth_failure or str(error)) from error

    def _other_chroots(self) -> str:
        where = f"{self._servers.hosts}{self._servers.chroot}"
        found = clusters_at(where, self.server_children)
        return f". Brokers are registered in {' and '.join(found)}" if found else ""

    def _get(self, paths: Sequence[str], watch: Watch | None, fence: int) -> list[ZNode | None]:
        found = self._responses_of(GetData, paths, watch, fence)
        return [None if node is None else znode(node) for node in found]

    def _children(
        self, paths: Sequence[str], watch: Watch | None, fence: int
    ) -> list[list[str] | None]:
        return self._responses_of(GetChildren, paths, watch, fence)

    def _server_children(self, paths: Sequence[str], fence: int) -> list[list[str] | None]:
        sends = [read_call(self._kazoo, GetChildren, path) for path in paths]
        responses = self._pipeline.run(sends, fence)
        found = [
            read_result(path, response) for path, response in zip(paths, responses, strict=True)
        ]
        return [None if names is None else sorted(names) for names in found]

    def _exists(
        self, paths: Sequence[str], watch: Watch | None, fence: int
    ) -> list[ZNodeStat | None]:
        found = self._responses_of(Exists, paths, watch, fence)
        return [None if stat is None else znode_stat(stat) for stat in found]

    def _write(self, ops: Sequence[Op], fence: int) -> list[OpError | None]:
        sends = [write_call(self._kazoo, op, self._security) for op in ops]
        responses = self._pipeline.run(sends, fence)
        return [write_error(op, response) for op, response in zip(ops, responses, strict=True)]

    def _multi(self, batches: Sequence[Sequence[Op]], fence: int) -> list[MultiResult]:
        sends = [multi_call(self._kazoo, ops, self._security) for ops in batches]
        responses = self._pipeline.run(sends, fence)
        return [
            multi_result(ops, response) for ops, response in zip(batches, responses, strict=True)
        ]

    def close(self, timeout_ms: int = CLOSE_TIMEOUT_MS) -> None:
        if not self._tracker.close():
            return
        scope = ThreadScope("zookeeper-client")
        scope.spawn("close", self._stop, stop=lambda: None)
        if scope.close(timeout_ms):
            log.warning(
                "ZooKeeper %s did not respond within %d ms; session %#x ends with its time-out",
                self._servers.hosts,
                timeout_ms,
                self.session_id,
            )

    def _stop(self) -> None:
        try:
            self._kazoo.stop()
            self._kazoo.close()
        except (ke.KazooException, OSError) as error:
            log.warning("ZooKeeper %s: %s while closing", self._servers.hosts, error)

    def _note_state(self, state: str) -> None:
        """Handle a state change of kazoo, on its connection's thread."""
        if state == KazooState.CONNECTED:
            client_id = self._kazoo.client_id
            if client_id is not None:
                self._tracker.report(SessionState.CONNECTED, client_id[0])
            return
        self._tracker.report(_STATES[state])
        if state == KazooState.LOST and self._kazoo.client_state != KeeperState.EXPIRED_SESSION:
            # Not an expiry, and not our close: kazoo's thread is ending for good.
            if self._kazoo.client_state == KeeperState.AUTH_FAILED:
                self._auth_failure = (
                    f"ZooKeeper {self._servers.hosts} rejected the authentication as "
                    f"{self._security.username} (zookeeper.auth.scheme={self._security.scheme}): "
                    "check zookeeper.auth.username and zookeeper.auth.password"
                )
            self._tracker.fail(
                self._auth_failure or "the client stopped for good, see the log of kazoo"
            )
            self._tracker.report(SessionState.DEAD)

    def _note_response(self, sent_ms: int, interval_ms: int) -> None:
        """Pass a report of the pings to the listeners, on kazoo's connection thread."""
        self._received = sent_ms, interval_ms
        for listener in self._response_listeners:
            listener(sent_ms, interval_ms)

    def _note_negotiated(self, timeout_ms: int) -> None:
        # 0 means that the session has ended.
        if timeout_ms > 0:
            self.negotiated_timeout_ms = timeout_ms
            if self._pings is not None:
                self._pings.connected(timeout_ms)

    def _send_multi(self) -> bool:
        # kazoo's own ``command`` is not used: it leaves its socket open after a time-out.
        try:
            peer = self._kazoo._connection._socket.getpeername()[:2]  # noqa: SLF001 - no public attribute has it
            with open_socket(*peer, timeout_ms=_COMMAND_TIMEOUT_MS, clock=self._clock) as requested:
                requested.sendall(b"srvr")
                response = requested.recv(8192).decode("utf-8", "replace")
        except (OSError, AttributeError) as error:
            log.debug("ZooKeeper %s does not report its version: %s", self._servers.hosts, error)
            return True
        version = _VERSION.search(response)
        return version is None or (int(version[1]), int(version[2])) >= _FIRST_MULTI_VERSION

    def _responses_of(
        self,
        read: type[Exists] | type[GetChildren] | type[GetData],
        paths: Sequence[str],
        watch: Watch | None,
        fence: int,
    ) -> list[Any]:
        chroot = self._kazoo.chroot
        sends = [read_call(self._kazoo, read, in_chroot(chroot, path), watch) for path in paths]
        responses = self._pipeline.run(sends, fence)
        return [
            read_result(path, response) for path, response in zip(paths, responses, strict=True)
        ]


def _new_kazoo(
    servers: ConnectString,
    session_timeout_ms: int,
    security: ZookeeperSecurity,
    note_negotiated: Callable[[int], None],
) -> Any:
    """Create a kazoo client with our retries; it limits connects and reports its time-out."""
    new_handler: Any = SequentialThreadingHandler
    new_retry: Any = KazooRetry
    new_client: Any = KazooClient
    handler = new_handler()
    # A server that swallows packets must not use up the whole session time-out, as it does in
    # kazoo: the next server must be tried while the session can still be saved (the Java client's
    # rule).
    attempt_s = max(0.5, session_timeout_ms / 1000 / len(servers.servers))
    open_socket = handler.create_connection

    def open_in_time(*args: Any, **kwargs: Any) -> Any:
        return open_socket(*args, **{**kwargs, "timeout": min(kwargs["timeout"], attempt_s)})

    handler.create_connection = open_in_time
    client = new_client(
        hosts=servers.hosts + servers.chroot,
        timeout=(session_timeout_ms + 0.5) / 1000,  # kazoo truncates it to whole milliseconds
        handler=handler,
        connection_retry=_retry(new_retry, session_timeout_ms),
        command_retry=new_retry(max_tries=1),
        logger=kazoo_log.paced_logger(),
        **kazoo_security.arguments_of(security),
    )
    # kazoo keeps the granted time-out in a local variable: read it from the response.
    connection = client._connection  # noqa: SLF001 - no public attribute has it
    if not kazoo_io.install(connection):
        log.debug("this version of kazoo lacks the internals for buffered reading and writing")
    invoke = connection._invoke  # noqa: SLF001 - see above

    def listening_invoke(timeout: float, request: Any, *args: Any, **kwargs: Any) -> Any:
        response = invoke(timeout, request, *args, **kwargs)
        if isinstance(request, Connect):
            note_negotiated(response[0].time_out)
        return response

    connection._invoke = listening_invoke  # noqa: SLF001 - see above
    return client


def _retry(new_retry: Any, session_timeout_ms: int) -> Any:
    """Return a policy of endless retries with jitter; its pauses leave time to save the session."""
    return new_retry(
        max_tries=-1,
        delay=0.05,
        backoff=2,
        max_jitter=0.4,
        max_delay=min(5.0, max(0.2, session_timeout_ms / 1000 / 8)),
    )
