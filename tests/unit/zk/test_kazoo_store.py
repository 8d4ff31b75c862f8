"""What the door to kazoo says where no ZooKeeper is needed for it."""

import logging
from types import SimpleNamespace

import pytest
from kazoo.protocol.connection import ConnectionHandler
from kazoo.protocol.serialization import Connect, Exists

from tests.support.manual_clock import ManualClock
from zkconsumer.config_zookeeper import OPEN
from zkconsumer.zk import kazoo_pings
from zkconsumer.zk.connect_string import parse_connect_string
from zkconsumer.zk.kazoo_store import _KazooRawClient


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
        record.getMessage() for record in caplog.records if "silences" in record.getMessage()
    ]
    assert len(message) == (not knows)


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
