"""A probe whose response is lost is sent again; only waiting moves the clock."""

import pytest

from tests.fakes.memory_transport import MemoryNetwork, MemoryTransport
from tests.support.manual_clock import ManualClock
from tests.support.scripted_broker import ScriptedAction, ScriptedBroker, ScriptedResponse
from tests.support.scripted_dialing import ADDRESS, answering, version_sent
from zkconsumer.errors import ConnectFailed, RequestTimedOut
from zkconsumer.net.hedging import FIRST_HEDGE_DELAY_MS
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.codec import RequestFrame
from zkconsumer.wire.versions import BrokerGeneration

TIMEOUT_MS = 30_000
NEVER_MS = 10 * TIMEOUT_MS


class LateTransport:
    """A ``Transport`` whose frames come late; waiting for them advances the clock."""

    def __init__(self, inner: MemoryTransport, clock: ManualClock, late_ms: int) -> None:
        self._inner = inner
        self._clock = clock
        self._late_ms = late_ms
        self._due_ms = 0
        self._timeout_ms = 0
        self.address = inner.address
        self.close = inner.close

    def set_timeout_ms(self, timeout_ms: int) -> None:
        """See ``Transport``."""
        self._timeout_ms = timeout_ms
        self._inner.set_timeout_ms(0)

    def send(self, data: bytes) -> None:
        """See ``Transport``."""
        self._due_ms = self._clock.now_ms() + self._late_ms
        self._inner.send(data)

    def receive_into(self, buffer: memoryview) -> int:
        """See ``Transport``."""
        now_ms = self._clock.now_ms()
        wait_ms = min(self._timeout_ms, max(0, self._due_ms - now_ms))
        self._clock.advance(wait_ms)
        if now_ms + wait_ms < self._due_ms:
            raise RequestTimedOut("not yet")
        try:
            return self._inner.receive_into(buffer)
        except RequestTimedOut:
            self._clock.advance(self._timeout_ms - wait_ms)
            raise


class LateNetwork:
    """A ``Connector`` to one broker.

    Attributes:
        late_ms: the delay of the responses of each connection, in order; 0 for the rest.
        refuses_from: the number of connections that succeed.
        connect_ms: the time that each connect takes.
        connected_at_ms: when each connection was made.
    """

    def __init__(self, broker: ScriptedBroker, late_ms: list[int]) -> None:
        self.clock = ManualClock(0)
        self.late_ms = late_ms
        self.connected_at_ms: list[int] = []
        self.refuses_from = 1_000
        self.connect_ms = 0
        self._memory = MemoryNetwork(self.clock)
        broker.listen(self._memory)

    def connect(self, host: str, port: int, *, timeout_ms: int) -> LateTransport:
        """See ``Connector``."""
        if len(self.connected_at_ms) >= self.refuses_from:
            raise ConnectFailed("no more of them")
        self.clock.advance(self.connect_ms)
        inner = self._memory.connect(host, port, timeout_ms=timeout_ms)
        self.connected_at_ms.append(self.clock.now_ms())
        return LateTransport(inner, self.clock, self.late_ms.pop(0) if self.late_ms else 0)

    def dialer(self) -> BrokerDialer:
        """Return a dialer to the broker."""
        return BrokerDialer(
            self,
            client_id="test",
            connect_timeout_ms=TIMEOUT_MS,
            request_timeout_ms=TIMEOUT_MS,
            clock=self.clock,
        )


def open_connections(broker: ScriptedBroker) -> int:
    """Return the number of connections that were not closed."""
    return sum(not conversation.is_over for conversation in broker.conversations)


@pytest.mark.parametrize(
    ("late_ms", "took_ms"),
    [
        ([NEVER_MS], FIRST_HEDGE_DELAY_MS),
        ([FIRST_HEDGE_DELAY_MS - 1], FIRST_HEDGE_DELAY_MS - 1),
        ([FIRST_HEDGE_DELAY_MS + 100, NEVER_MS], FIRST_HEDGE_DELAY_MS + 100),
    ],
    ids=["lost", "late", "the second lost"],
)
def test_the_first_connection_with_a_response_is_used(
    broker: ScriptedBroker, late_ms: list[int], took_ms: int
) -> None:
    """Whichever response is lost, the other connection is used, and the unused one closed."""
    network = LateNetwork(broker, list(late_ms))
    connection = network.dialer().dial(ADDRESS)
    assert took_ms <= network.clock.now_ms() <= took_ms + 100
    assert (
        network.connected_at_ms
        == [0, FIRST_HEDGE_DELAY_MS][: 1 + (took_ms >= FIRST_HEDGE_DELAY_MS)]
    )
    assert open_connections(broker) == 1
    assert version_sent(broker, connection) == 12
    connection.close()


def test_a_later_response_of_a_probe_may_be_lost(broker: ScriptedBroker) -> None:
    """If the response to the Heartbeat is lost, the whole probe is sent again."""
    lost = [ApiKey.HEARTBEAT]

    def losing_responses(frame: RequestFrame) -> ScriptedResponse | None:
        if frame.api_key in lost:
            lost.remove(frame.api_key)
            return ScriptedAction.SILENCE
        return answering(frame)

    broker.response = losing_responses
    network = LateNetwork(broker, [])
    connection = network.dialer().dial(ADDRESS)
    assert FIRST_HEDGE_DELAY_MS <= network.clock.now_ms() <= FIRST_HEDGE_DELAY_MS + 100
    assert broker.accepted == 2
    assert open_connections(broker) == 1
    connection.close()


@pytest.mark.parametrize("lost", range(6))
def test_an_old_broker_is_recognized_even_if_a_probe_is_lost(
    broker: ScriptedBroker, lost: int
) -> None:
    """This holds for each of its probes, even if the response is to close the connection."""
    broker.become(BrokerGeneration.V0_8_1)
    network = LateNetwork(broker, [0] * lost + [NEVER_MS])
    connection = network.dialer().dial(ADDRESS)
    assert connection.versions.generation is BrokerGeneration.V0_8_1
    assert FIRST_HEDGE_DELAY_MS <= network.clock.now_ms() <= FIRST_HEDGE_DELAY_MS + 100
    assert open_connections(broker) == 1
    connection.close()


def test_a_broker_that_is_silent_twice_times_out(broker: ScriptedBroker) -> None:
    """There is no third connection, and both are closed in the end."""
    network = LateNetwork(broker, [NEVER_MS, NEVER_MS])
    with pytest.raises(RequestTimedOut, match="b:9092"):
        network.dialer().dial(ADDRESS)
    assert TIMEOUT_MS <= network.clock.now_ms() <= TIMEOUT_MS + 1
    assert (broker.accepted, open_connections(broker)) == (2, 0)


def test_connecting_and_probing_share_one_timeout(broker: ScriptedBroker) -> None:
    """A broker that is slow to connect to, and then silent, gets no more time."""
    network = LateNetwork(broker, [NEVER_MS])
    network.connect_ms, network.refuses_from = TIMEOUT_MS - 100, 1
    with pytest.raises(RequestTimedOut, match="b:9092"):
        network.dialer().dial(ADDRESS, timeout_ms=TIMEOUT_MS)
    assert TIMEOUT_MS <= network.clock.now_ms() <= TIMEOUT_MS + 1


def test_without_a_second_connection_the_first_is_waited_for(broker: ScriptedBroker) -> None:
    """The first connection's late response is used."""
    network = LateNetwork(broker, [TIMEOUT_MS - 1])
    network.refuses_from = 1
    connection = network.dialer().dial(ADDRESS)
    assert network.clock.now_ms() == TIMEOUT_MS - 1
    connection.close()
