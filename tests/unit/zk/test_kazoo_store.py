"""What the door to kazoo says where no ZooKeeper is needed for it."""

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
from zkconsumer.zk.kazoo_store import _KazooRawClient
from zkconsumer.zk.session import SessionState


def client() -> _KazooRawClient:
    """A client that has not been started."""
    return _KazooRawClient(parse_connect_string("h:2181"), 6_000, 1_000, ManualClock(), OPEN)


def test_who_listens_late_hears_the_last_word_at_once() -> None:
    """It may be the only one for a while; before the first there is none to hear."""
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
def test_it_is_said_when_silences_are_noticed_late(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, knows: bool
) -> None:
    """By whoever updated kazoo to one that is made otherwise."""
    if not knows:
        monkeypatch.setattr(kazoo_pings, "install", lambda *_args: None)
    with caplog.at_level(logging.WARNING):
        client()
    message = [
        record.getMessage() for record in caplog.records if "noticed late" in record.getMessage()
    ]
    assert len(message) == (not knows)


@pytest.mark.parametrize(("session_ms", "longest_s"), [(6_000, 0.75), (800, 0.2), (120_000, 5.0)])
def test_it_reconnects_for_ever_and_in_time_for_the_session(
    session_ms: int, longest_s: float
) -> None:
    """Pauses double from 50 ms up to an eighth of the session, with jitter; commands fail once."""
    made = _KazooRawClient(parse_connect_string("h:2181"), session_ms, 1_000, ManualClock(), OPEN)
    retry = made._kazoo._conn_retry
    assert (retry.max_tries, retry.delay, retry.backoff, retry.max_jitter) == (-1, 0.05, 2, 0.4)
    assert retry.max_delay == longest_s
    assert made._kazoo._retry.max_tries == 1


def test_kazoo_is_given_what_is_configured() -> None:
    """The chroot, the time-out to the millisecond, and who we are."""
    security = ZookeeperSecurity(scheme="digest", username="me", password="p")
    servers = parse_connect_string("h:2181/root")
    kazoo = _KazooRawClient(servers, 7_001, 1_000, ManualClock(), security)._kazoo
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
    """Then the next one is tried, but none for less than half a second if kazoo gives it that."""
    opened: list[tuple[object, ...]] = []

    def create_connection(_handler: object, *args: object, **kwargs: object) -> str:
        opened.append((*args, kwargs))
        return "connection"

    monkeypatch.setattr(SequentialThreadingHandler, "create_connection", create_connection)
    servers = parse_connect_string(hosts)
    made = _KazooRawClient(servers, session_ms, 1_000, ManualClock(), OPEN)
    opening = made._kazoo.handler.create_connection
    assert opening(("10.0.0.1", 1), hostname="a", timeout=timeout_s) == "connection"
    assert opened == [(("10.0.0.1", 1), {"hostname": "a", "timeout": attempt_s})]


def test_a_server_that_refuses_tls_is_told_from_one_that_is_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With TLS every connection of kazoo's is encrypted, or says why it is not."""
    monkeypatch.setattr(
        SequentialThreadingHandler, "create_connection", lambda *_args, **_kwargs: FakeSocket()
    )
    failure = ConnectionResetError("reset by peer")

    def refuse(*_args: object, **_kwargs: object) -> None:
        raise failure

    monkeypatch.setattr(ssl.SSLContext, "wrap_socket", refuse)
    servers = parse_connect_string("h:2181")
    made = _KazooRawClient(servers, 6_000, 1_000, ManualClock(), ZookeeperSecurity(tls=True))
    silent = "responded within 1000 ms (zookeeper.connection.timeout.ms): is one running there"
    assert silent in str(made._no_response())
    with pytest.raises(ConnectionResetError):
        made._kazoo.handler.create_connection(("10.0.0.1", 1), hostname="h", timeout=1.0)
    assert str(made._no_response()) == (
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
def test_a_client_that_stopped_says_why(state: str, reason: str) -> None:
    """Every request does from then on; the end of a session is no such end."""
    security = ZookeeperSecurity(scheme="digest", username="me", password="p")
    made = _KazooRawClient(parse_connect_string("h:2181"), 6_000, 1_000, ManualClock(), security)
    told: list[SessionState] = []
    made.on_session(lambda event: told.append(event.state))
    made._tracker.report(SessionState.CONNECTED, 7)
    made._kazoo._state = KeeperState.EXPIRED_SESSION
    made._note_state(KazooState.LOST)
    assert told == [SessionState.CONNECTED, SessionState.LOST]
    made._tracker.report(SessionState.CONNECTED, 8)
    made._kazoo._state = state
    made._note_state(KazooState.LOST)
    assert told[-1] is SessionState.DEAD
    with pytest.raises(RegistryError, match=f"ZooKeeper .*h:2181.*{reason}"):
        made.get(["/"], None, 8)


def test_what_the_server_granted_counts_and_the_end_of_a_session_grants_nothing() -> None:
    """0 says that it is over."""
    made = client()
    assert made.negotiated_timeout_ms == 6_000
    made._note_negotiated(4_000)
    assert made.negotiated_timeout_ms == 4_000
    made._note_negotiated(0)
    assert made.negotiated_timeout_ms == 4_000


def test_what_the_server_granted_is_read_off_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the request to connect, and of no other; kazoo gets it as it was."""
    given = SimpleNamespace(time_out=4_000), 7
    monkeypatch.setattr(ConnectionHandler, "_invoke", lambda *_args: given)
    made = client()
    connection = made._kazoo._connection
    assert connection._invoke(1.0, Exists("/", None)) == given
    assert made.negotiated_timeout_ms == 6_000
    assert connection._invoke(1.0, Connect(0, 0, 6_000, 0, b"", False)) == given
    assert made.negotiated_timeout_ms == 4_000
