"""The coordinator's address, and the connection to it."""

from typing import cast

import pytest

from tests.support.manual_clock import ManualClock
from zkconsumer.backoff import Backoff
from zkconsumer.errors import ConnectionLost
from zkconsumer.membership.coordinator.threads.coordinator_connection import (
    CoordinatorConnection,
    CoordinatorLocation,
)
from zkconsumer.model import Broker
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.wire.api import Request

BROKER = Broker(0, "broker", 9092)


class FakeConnection:
    """A connection on which nothing is sent.

    Attributes:
        closed: how many times it was closed.
    """

    def __init__(self) -> None:
        self.closed = 0

    def version_of(self, request: object, *, at_least: int = 0, at_most: int | None = None) -> int:
        """See ``NegotiatedConnection``."""
        raise NotImplementedError

    def call(
        self,
        request: Request[object],
        *,
        timeout_ms: int,
        at_least: int = 0,
        at_most: int | None = None,
    ) -> object:
        """See ``NegotiatedConnection``."""
        raise NotImplementedError

    def close(self) -> None:
        """See ``NegotiatedConnection``."""
        self.closed += 1


class RecordingDialer:
    """A ``BrokerDialer`` that records the connections that it opened.

    Attributes:
        connections: the opened connections.
        meanwhile: a connection to cut while the next one is opened.
    """

    def __init__(self) -> None:
        self.connections: list[FakeConnection] = []
        self.meanwhile: CoordinatorConnection | None = None

    def dial(self, broker: Broker, *, timeout_ms: int | None = None) -> FakeConnection:
        """See ``BrokerDialer``."""
        assert (broker, timeout_ms) == (BROKER, None)
        self.connections.append(FakeConnection())
        if self.meanwhile is not None:
            self.meanwhile.cut()
        return self.connections[-1]


class Located:
    """A coordinator's location and connection, with pauses of 10, 20, 40 ms after failures."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.dialer = RecordingDialer()
        self.connection = CoordinatorConnection(cast("BrokerDialer", self.dialer))
        backoff = Backoff(10, 40, jitter=0.0)
        self.location = CoordinatorLocation(backoff, self.clock, self.connection)

    def rest_ms(self) -> int:
        """Return how long no lookup may be made."""
        waited_ms = 0
        while self.location.is_backing_off:
            self.clock.advance(1)
            waited_ms += 1
        return waited_ms


@pytest.fixture
def located() -> Located:
    """A coordinator that is not known yet."""
    return Located()


def test_a_connection_is_kept_as_long_as_the_address(located: Located) -> None:
    """For another address another connection is opened at once, and the former one closed."""
    address = located.location.set_address(BROKER)
    first = located.connection.connection(address)
    assert located.connection.connection(address) is first
    other = located.location.set_address(BROKER, coordinates=False)
    second = located.connection.connection(other)
    assert second is not first
    assert located.connection.connection(other) is second
    assert [line.closed for line in located.dialer.connections] == [1, 0]


def test_a_connection_that_is_cut_while_it_is_opened_is_not_used(located: Located) -> None:
    """Whoever cut the connection relies on its end."""
    located.dialer.meanwhile = located.connection
    address = located.location.set_address(BROKER)
    with pytest.raises(ConnectionLost, match=r"broker:9092.*closed by this client"):
        located.connection.connection(address)
    assert [line.closed for line in located.dialer.connections] == [1]
    located.dialer.meanwhile = None
    located.connection.connection(address)


def test_a_connection_that_was_stopped_is_not_opened_again(located: Located) -> None:
    """Its thread is about to end."""
    address = located.location.set_address(BROKER)
    located.connection.connection(address)
    located.connection.stop()
    with pytest.raises(ConnectionLost):
        located.connection.connection(address)
    assert [line.closed for line in located.dialer.connections] == [1]


def test_an_address_is_lost_once(located: Located) -> None:
    """Only the first report of the loss counts; later ones may come after another lookup."""
    former = located.location.set_address(BROKER)
    located.connection.connection(former)
    assert located.location.invalidate(former)
    assert not located.location.invalidate(former)
    present = located.location.set_address(BROKER)
    assert not located.location.invalidate(former)
    assert located.location.address == present
    assert [line.closed for line in located.dialer.connections] == [1]


def test_the_second_failure_in_a_row_is_followed_by_a_rest(located: Located) -> None:
    """A broken connection is opened again at once; a coordinator that keeps failing has to wait."""
    rest_times_ms = []
    for _ in range(5):
        located.location.set_address(BROKER)
        located.location.forget()
        rest_times_ms.append(located.rest_ms())
    assert rest_times_ms == [0, 10, 20, 40, 40]
    located.location.set_address(BROKER)
    located.location.on_response()
    located.location.forget()
    assert located.rest_ms() == 0
