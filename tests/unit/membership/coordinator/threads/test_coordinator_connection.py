"""The coordinator's address, and the connections to it."""

import pytest

from tests.support.manual_clock import ManualClock
from zkconsumer.backoff import Backoff
from zkconsumer.errors import ConnectionLost
from zkconsumer.membership.coordinator.threads.coordinator_connection import (
    Connection,
    CoordinatorConnection,
    CoordinatorLocation,
)
from zkconsumer.model import Broker
from zkconsumer.wire.api import Request

BROKER = Broker(0, "broker", 9092)


class Line:
    """A connection that nothing is sent on.

    Attributes:
        closed: how often it was closed.
    """

    def __init__(self) -> None:
        self.closed = 0

    def version_of(self, request: object, *, at_least: int = 0, at_most: int | None = None) -> int:
        """See ``Connection``."""
        raise NotImplementedError

    def call(
        self,
        request: Request[object],
        *,
        timeout_ms: int,
        at_least: int = 0,
        at_most: int | None = None,
    ) -> object:
        """See ``Connection``."""
        raise NotImplementedError

    def close(self) -> None:
        """See ``Connection``."""
        self.closed += 1


class Lines:
    """A ``Dialer`` that remembers what it opened.

    Attributes:
        lines: the connections.
        meanwhile: cut this when the next one is opened.
    """

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.meanwhile: CoordinatorConnection | None = None

    def dial(self, broker: Broker, *, timeout_ms: int | None = None) -> Connection:
        """See ``Dialer``."""
        assert (broker, timeout_ms) == (BROKER, None)
        self.lines.append(Line())
        if self.meanwhile is not None:
            self.meanwhile.cut()
        return self.lines[-1]  # type: ignore[return-value]


class Located:
    """A location with one connection, and failures of 10, 20, 40 ms."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.dialer = Lines()
        self.connection = CoordinatorConnection(self.dialer)
        backoff = Backoff(10, 40, jitter=0.0)
        self.location = CoordinatorLocation(backoff, self.clock, self.connection)

    def rests_ms(self) -> int:
        """How long it is not looked for."""
        waited_ms = 0
        while self.location.rests:
            self.clock.advance(1)
            waited_ms += 1
        return waited_ms


@pytest.fixture
def located() -> Located:
    """A coordinator that is not known yet."""
    return Located()


def test_a_connection_is_kept_as_long_as_the_address(located: Located) -> None:
    """Another one is opened at once where it is another; the former is closed."""
    address = located.location.found(BROKER)
    first = located.connection.connection(address)
    assert located.connection.connection(address) is first
    other = located.location.found(BROKER, coordinates=False)
    second = located.connection.connection(other)
    assert second is not first
    assert located.connection.connection(other) is second
    assert [line.closed for line in located.dialer.lines] == [1, 0]


def test_a_connection_that_is_cut_while_it_is_opened_is_not_used(located: Located) -> None:
    """Whoever cut it counts on that."""
    located.dialer.meanwhile = located.connection
    address = located.location.found(BROKER)
    with pytest.raises(ConnectionLost, match=r"broker:9092.*closed by this client"):
        located.connection.connection(address)
    assert [line.closed for line in located.dialer.lines] == [1]
    located.dialer.meanwhile = None
    located.connection.connection(address)


def test_a_connection_that_was_stopped_is_not_opened_again(located: Located) -> None:
    """Its thread is to end."""
    address = located.location.found(BROKER)
    located.connection.connection(address)
    located.connection.stop()
    with pytest.raises(ConnectionLost):
        located.connection.connection(address)
    assert [line.closed for line in located.dialer.lines] == [1]


def test_an_address_is_lost_once(located: Located) -> None:
    """By the first who notices; a later one has found another by then."""
    former = located.location.found(BROKER)
    located.connection.connection(former)
    assert located.location.lose(former)
    assert not located.location.lose(former)
    present = located.location.found(BROKER)
    assert not located.location.lose(former)
    assert located.location.address == present
    assert [line.closed for line in located.dialer.lines] == [1]


def test_the_second_failure_in_a_row_is_followed_by_a_rest(located: Located) -> None:
    """A connection that broke is opened again at once; a coordinator of no use is not hammered."""
    rests = []
    for _ in range(5):
        located.location.found(BROKER)
        located.location.forget()
        rests.append(located.rests_ms())
    assert rests == [0, 10, 20, 40, 40]
    located.location.found(BROKER)
    located.location.on_response()
    located.location.forget()
    assert located.rests_ms() == 0
