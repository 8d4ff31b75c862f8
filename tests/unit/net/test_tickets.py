"""How Kerberos tickets are sent: in requests, as raw frames after a handshake, or without one."""

import pytest

from tests.support.manual_clock import ManualClock
from tests.support.scripted_broker import MODERN, Serves
from tests.support.scripted_dialing import dialer_to
from tests.support.ticket_broker import CHALLENGES, TicketBroker, Tickets, by_tickets
from zkconsumer.errors import AuthenticationFailed, ConnectFailed, SaslAuthenticationFailedError
from zkconsumer.model import Broker
from zkconsumer.net.security import SecuritySettings
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages.list_groups import ListGroupsRequest
from zkconsumer.wire.versions import BrokerGeneration, VersionRange

ADDRESS = Broker(-1, "b.example", 9092)
LONG_MS = 10_000
UNKNOWN = (b"another", b"", b"no layer")
WITHOUT_REQUESTS: Serves = {
    key: VersionRange(0, 0) if key is ApiKey.SASL_HANDSHAKE else versions
    for key, versions in MODERN.items()
    if key is not ApiKey.SASL_AUTHENTICATE
}


def of_0_9() -> TicketBroker:
    """Return a broker of version 0.9."""
    broker = TicketBroker(ADDRESS)
    broker.become(BrokerGeneration.V0_9)
    return broker


@pytest.mark.parametrize("serves", [MODERN, WITHOUT_REQUESTS], ids=["1.0", "0.10"])
def test_a_broker_accepts_tickets_after_a_handshake(serves: Serves) -> None:
    """There is one connection, to the host that was dialed; the last raw frame has no response."""
    broker, begun = TicketBroker(ADDRESS, serves=serves), list[Tickets]()
    connection = dialer_to(broker, by_tickets(begun)).dial(ADDRESS)
    connection.call(ListGroupsRequest(), timeout_ms=LONG_MS)
    connection.close()
    assert (broker.accepted, broker.let_in) == (1, 1)
    assert [tickets.host for tickets in begun] == ["b.example"]
    challenges = CHALLENGES if ApiKey.SASL_AUTHENTICATE in serves else CHALLENGES[:-1]
    assert begun[0].received == list(challenges)


def test_a_broker_of_0_9_gets_tickets_without_a_handshake() -> None:
    """It takes the first frame for a token; its version is found out after that, and remembered."""
    broker, begun = of_0_9(), list[Tickets]()
    dialer = dialer_to(broker, by_tickets(begun))
    connection = dialer.dial(ADDRESS)
    assert connection.versions.generation is BrokerGeneration.V0_9
    connection.call(ListGroupsRequest(), timeout_ms=LONG_MS)
    so_far = broker.accepted
    again = dialer.dial(ADDRESS)
    assert (broker.accepted, again.versions.generation) == (so_far + 1, BrokerGeneration.V0_9)
    again.close()
    connection.close()
    assert not broker.requested(ApiKey.SASL_HANDSHAKE)


def test_a_broker_of_0_9_that_refuses_the_ticket_is_an_error() -> None:
    """It closes the connection, as a proxy to a broker that is down does: the error names both."""
    with pytest.raises(ConnectFailed, match=r"b.example:9092.*refuses the client.s ticket"):
        dialer_to(of_0_9(), by_tickets([], UNKNOWN)).dial(ADDRESS)


def test_a_newer_broker_that_refuses_the_ticket_is_an_error() -> None:
    """The error has the broker's own text, if it sent one."""
    with pytest.raises(SaslAuthenticationFailedError, match=r"GSSAPI failed: no such ticket"):
        dialer_to(TicketBroker(ADDRESS), by_tickets([], UNKNOWN)).dial(ADDRESS)
    old = TicketBroker(ADDRESS, serves=WITHOUT_REQUESTS)
    with pytest.raises(SaslAuthenticationFailedError, match=r"GSSAPI failed: .*closed.*twice"):
        dialer_to(old, by_tickets([], UNKNOWN)).dial(ADDRESS)


def test_the_error_of_a_missing_ticket_names_the_broker() -> None:
    """The error names the broker, whichever step fails."""

    def none(host: str) -> Tickets:
        raise AuthenticationFailed(f"no Kerberos ticket for {host}")

    security = SecuritySettings(protocol="SASL_PLAINTEXT", sasl_mechanism="GSSAPI", kerberos=none)
    with pytest.raises(
        SaslAuthenticationFailedError, match=r"b.example:9092.*GSSAPI failed: no Kerberos ticket"
    ):
        dialer_to(TicketBroker(ADDRESS), security).dial(ADDRESS)


def test_a_kdc_that_is_down_at_reauthentication_ends_the_connection() -> None:
    """The broker waits for a ticket there, so nothing else can be sent; it may work later."""
    broker, clock, kdc_is_there = TicketBroker(ADDRESS, lifetime_ms=10_000), ManualClock(), [True]

    def begin(host: str) -> Tickets:
        if not kdc_is_there[0]:
            raise ConnectFailed("no Kerberos ticket: Cannot contact any KDC")
        return Tickets(host)

    security = SecuritySettings(protocol="SASL_PLAINTEXT", sasl_mechanism="GSSAPI", kerberos=begin)
    connection = dialer_to(broker, security, clock).dial(ADDRESS)
    clock.advance(9_000)
    connection.call(ListGroupsRequest(), timeout_ms=LONG_MS)
    assert (broker.accepted, broker.let_in) == (1, 2)
    kdc_is_there[0] = False
    clock.advance(9_000)
    with pytest.raises(ConnectFailed, match="Cannot contact any KDC"):
        connection.call(ListGroupsRequest(), timeout_ms=LONG_MS)
    assert not connection.is_idle
    connection.close()
