"""The client over kazoo, as far as no ZooKeeper is needed."""

import logging
import ssl
from types import SimpleNamespace

import pytest
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol.connection import ConnectionHandler
from kazoo.protocol.serialization import Connect, Exists
from kazoo.protocol.states import KazooState, KeeperState

from tests.fakes.fake_socket import FakeSocket
from tests.support.manual_clock import ManualClock
from zkconsumer.config_zookeeper import OPEN, ZookeeperSecurity
from zkconsumer.errors import RegistryError
from zkconsumer.zk import kazoo_pings
from zkconsumer.zk.connect_string import parse_connect_string
from zkconsumer.zk.kazoo_store import _KazooStore
from zkconsumer.zk.session import SessionState


def client() -> _KazooStore:
    """Create a client that is not started."""
    return _KazooStore(parse_connect_string("h:2181"), 6_000, 1_000, ManualClock(), OPEN)


def test_a_late_listener_is_called_with_the_last_confirmation() -> None:
    """A late listener is called at once with the last confirmation, if there is any."""
    made = client()
    first: list[tuple[int, int]] = []
    made.on_response_sent(lambda *reported: first.append(reported))
    assert first == []
    made._note_response(5, 6)
    late: list[tuple[int, int]] = []
    made.on_response_sent(lambda *reported: late.append(reported))
    assert first == late == [(5, 6)]
    made._note_response(7, 6)
    assert first == late == [(5, 6), (7, 6)]


@pytest.mark.parametrize("knows", [True, False])
def test_a_kazoo_without_pings_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, knows: bool
) -> None:
    """A kazoo version for which pings can't be installed is logged: silences are noticed late."""
    if not knows:
        monkeypatch.setattr(kazoo_pings, "install", lambda *_args: None)
    with caplog.at_level(logging.WARNING):
        client()
    message = [
        record.getMessage() for record in caplog.records if "noticed late" in record.getMessage()
    ]
    assert len(message) == (not knows)


@pytest.mark.parametrize(("session_ms", "longest_s"), [(6_000, 0.75), (800, 0.2), (120_000, 5.0)])
def test_reconnects_never_end_and_are_in_time_for_the_session(
    session_ms: int, longest_s: float
) -> None:
    """Reconnects pause from 50 ms to an eighth of the session, for ever; commands fail at once."""
    made = _KazooStore(parse_connect_string("h:2181"), session_ms, 1_000, ManualClock(), OPEN)
    retry = made._kazoo._conn_retry
    assert (retry.max_tries, retry.delay, retry.backoff, retry.max_jitter) == (-1, 0.05, 2, 0.4)
    assert retry.max_delay == longest_s
    assert made._kazoo._retry.max_tries == 1


def test_kazoo_gets_the_configuration() -> None:
    """Kazoo gets the chroot, the session time-out in milliseconds, and the credentials."""
    security = ZookeeperSecurity(scheme="digest", username="me", password="p")
    servers = parse_connect_string("h:2181/root")
    kazoo = _KazooStore(servers, 7_001, 1_000, ManualClock(), security)._kazoo
    assert (kazoo.hosts, kazoo.chroot) == ([("h", 2181)], "/root")
    assert kazoo._session_timeout == 7_001
    assert kazoo.auth_data == {("digest", "me:p")}


@pytest.mark.parametrize(
    ("hosts", "session_ms", "timeout_s", "attempt_s"),
    [
        ("a:1", 6_000, 6.0, 6.0),
        ("a:1,b:2", 6_000, 6.0, 3.0),
        ("a:1,b:2,c:3", 900, 0.9, 0.5),
        ("a:1,b:2", 6_000, 0.2, 0.2),
    ],
)
def test_a_silent_server_costs_its_share_of_the_session(
    monkeypatch: pytest.MonkeyPatch,
    hosts: str,
    session_ms: int,
    timeout_s: float,
    attempt_s: float,
) -> None:
    """A silent server costs its share of the session, and at least half a second if allowed."""
    opened: list[tuple[object, ...]] = []

    def create_connection(_handler: object, *args: object, **kwargs: object) -> str:
        opened.append((*args, kwargs))
        return "connection"

    monkeypatch.setattr(SequentialThreadingHandler, "create_connection", create_connection)
    servers = parse_connect_string(hosts)
    made = _KazooStore(servers, session_ms, 1_000, ManualClock(), OPEN)
    opening = made._kazoo.handler.create_connection
    assert opening(("10.0.0.1", 1), hostname="a", timeout=timeout_s) == "connection"
    assert opened == [(("10.0.0.1", 1), {"hostname": "a", "timeout": attempt_s})]


def test_a_server_that_refuses_tls_is_distinguished_from_a_silent_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a connection the error says whether TLS was refused or the servers are silent."""
    monkeypatch.setattr(
        SequentialThreadingHandler, "create_connection", lambda *_args, **_kwargs: FakeSocket()
    )
    failure = ConnectionResetError("reset by peer")

    def refuse(*_args: object, **_kwargs: object) -> None:
        raise failure

    monkeypatch.setattr(ssl.SSLContext, "wrap_socket", refuse)
    servers = parse_connect_string("h:2181")
    made = _KazooStore(servers, 6_000, 1_000, ManualClock(), ZookeeperSecurity(tls=True))
    silent = "responded within 1000 ms (zookeeper.connection.timeout.ms): is one running there"
    assert silent in str(made._connection_error())
    with pytest.raises(ConnectionResetError):
        made._kazoo.handler.create_connection(("10.0.0.1", 1), hostname="h", timeout=1.0)
    assert str(made._connection_error()) == (
        "no ZooKeeper server of zookeeper.connect=h:2181 could be reached over TLS: it closed the "
        "connection: is this its secureClientPort? (reset by peer)"
    )


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (KeeperState.CLOSED, "the client stopped for good, see the log of kazoo"),
        (KeeperState.AUTH_FAILED, "rejected the authentication as me .*: check zookeeper.auth"),
    ],
)
def test_a_client_that_stopped_fails_with_the_reason(state: str, reason: str) -> None:
    """A client that stopped for good fails each request with the reason, unlike a lost session."""
    security = ZookeeperSecurity(scheme="digest", username="me", password="p")
    made = _KazooStore(parse_connect_string("h:2181"), 6_000, 1_000, ManualClock(), security)
    states: list[SessionState] = []
    made.on_session(lambda event: states.append(event.state))
    made._tracker.report(SessionState.CONNECTED, 7)
    made._kazoo._state = KeeperState.EXPIRED_SESSION
    made._note_state(KazooState.LOST)
    assert states == [SessionState.CONNECTED, SessionState.LOST]
    made._tracker.report(SessionState.CONNECTED, 8)
    made._kazoo._state = state
    made._note_state(KazooState.LOST)
    assert states[-1] is SessionState.DEAD
    with pytest.raises(RegistryError, match=f"ZooKeeper .*h:2181.*{reason}"):
        made._get(["/"], None, 8)


def test_the_granted_time_out_counts_and_the_end_of_a_session_grants_none() -> None:
    """The time-out that the server granted counts; 0, after the end of a session, does not."""
    made = client()
    assert made.negotiated_timeout_ms == 6_000
    made._note_negotiated(4_000)
    assert made.negotiated_timeout_ms == 4_000
    made._note_negotiated(0)
    assert made.negotiated_timeout_ms == 4_000


def test_the_granted_time_out_is_read_from_the_response(monkeypatch: pytest.MonkeyPatch) -> None:
    """The granted time-out is read from the response to Connect, and kazoo gets it unchanged."""
    given = SimpleNamespace(time_out=4_000), 7
    monkeypatch.setattr(ConnectionHandler, "_invoke", lambda *_args: given)
    made = client()
    connection = made._kazoo._connection
    assert connection._invoke(1.0, Exists("/", None)) == given
    assert made.negotiated_timeout_ms == 6_000
    assert connection._invoke(1.0, Connect(0, 0, 6_000, 0, b"", False)) == given
    assert made.negotiated_timeout_ms == 4_000
