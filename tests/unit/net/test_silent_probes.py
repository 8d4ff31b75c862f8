"""A probe whose answer is lost is sent once more: on a clock that only waiting moves."""

import pytest

from tests.fakes.memory_transport import MemoryNetwork, MemoryTransport
from tests.support.manual_clock import ManualClock
from tests.support.spoken_broker import Said, SpokenBroker, Word
from tests.support.spoken_dialling import ADDRESS, answering, version_sent
from zkconsumer.errors import ConnectFailed, RequestTimedOut
from zkconsumer.net.hedging import FIRST_QUIET_MS
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.codec import RequestFrame
from zkconsumer.wire.versions import BrokerGeneration

TIMEOUT_MS = 30_000
NEVER_MS = 10 * TIMEOUT_MS


class Waiting:
    """A ``Transport`` whose frames come late; waiting for them moves the clock."""

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


class Network:
    """A ``Connector`` to one broker.

    Attributes:
        late_ms: how late answers are on each connection, in the order of connecting; 0 on others.
        refuses_from: how many it makes.
        connect_ms: how long each takes.
        connected_at_ms: when each was made, since the beginning.
    """

    def __init__(self, broker: SpokenBroker, late_ms: list[int]) -> None:
        self.clock = ManualClock(0)
        self.late_ms = late_ms
        self.connected_at_ms: list[int] = []
        self.refuses_from = 1_000
        self.connect_ms = 0
        self._memory = MemoryNetwork(self.clock)
        broker.listen(self._memory)

    def connect(self, host: str, port: int, *, timeout_ms: int) -> Waiting:
        """See ``Connector``."""
        if len(self.connected_at_ms) >= self.refuses_from:
            raise ConnectFailed("no more of them")
        self.clock.advance(self.connect_ms)
        inner = self._memory.connect(host, port, timeout_ms=timeout_ms)
        self.connected_at_ms.append(self.clock.now_ms())
        return Waiting(inner, self.clock, self.late_ms.pop(0) if self.late_ms else 0)

    def dialer(self) -> BrokerDialer:
        """Return a way to the broker."""
        return BrokerDialer(
            self,
            client_id="test",
            connect_timeout_ms=TIMEOUT_MS,
            request_timeout_ms=TIMEOUT_MS,
            clock=self.clock,
        )


def open_connections(broker: SpokenBroker) -> int:
    """How many nobody has closed."""
    return sum(not conversation.is_over for conversation in broker.conversations)


@pytest.mark.parametrize(
    ("late_ms", "took_ms"),
    [
        ([NEVER_MS], FIRST_QUIET_MS),
        ([FIRST_QUIET_MS - 1], FIRST_QUIET_MS - 1),
        ([FIRST_QUIET_MS + 100, NEVER_MS], FIRST_QUIET_MS + 100),
    ],
    ids=["lost", "late", "the second lost"],
)
def test_the_first_to_answer_is_used(
    broker: SpokenBroker, late_ms: list[int], took_ms: int
) -> None:
    """After a moment, whichever of both is lost; the other one is closed."""
    network = Network(broker, list(late_ms))
    connection = network.dialer().dial(ADDRESS)
    assert took_ms <= network.clock.now_ms() <= took_ms + 100
    assert network.connected_at_ms == [0, FIRST_QUIET_MS][: 1 + (took_ms >= FIRST_QUIET_MS)]
    assert open_connections(broker) == 1
    assert version_sent(broker, connection) == 12
    connection.close()


def test_what_is_behind_the_answer_may_be_lost_as_well(broker: SpokenBroker) -> None:
    """The Heartbeat: it is the whole probe that is sent again."""
    lost = [ApiKey.HEARTBEAT]

    def losing(frame: RequestFrame) -> Said | None:
        if frame.api_key in lost:
            lost.remove(frame.api_key)
            return Word.SILENCE
        return answering(frame)

    broker.response = losing
    network = Network(broker, [])
    connection = network.dialer().dial(ADDRESS)
    assert FIRST_QUIET_MS <= network.clock.now_ms() <= FIRST_QUIET_MS + 100
    assert broker.accepted == 2
    assert open_connections(broker) == 1
    connection.close()


@pytest.mark.parametrize("lost", range(6))
def test_an_old_broker_is_found_out_though_a_probe_is_lost(broker: SpokenBroker, lost: int) -> None:
    """Whichever of its probes it is: also where the answer is that it closes the connection."""
    broker.become(BrokerGeneration.V0_8_1)
    network = Network(broker, [0] * lost + [NEVER_MS])
    connection = network.dialer().dial(ADDRESS)
    assert connection.versions.generation is BrokerGeneration.V0_8_1
    assert FIRST_QUIET_MS <= network.clock.now_ms() <= FIRST_QUIET_MS + 100
    assert open_connections(broker) == 1
    connection.close()


def test_a_broker_that_is_silent_twice_has_its_time(broker: SpokenBroker) -> None:
    """There is no third connection, and both are closed in the end."""
    network = Network(broker, [NEVER_MS, NEVER_MS])
    with pytest.raises(RequestTimedOut, match="b:9092"):
        network.dialer().dial(ADDRESS)
    assert TIMEOUT_MS <= network.clock.now_ms() <= TIMEOUT_MS + 1
    assert (broker.accepted, open_connections(broker)) == (2, 0)


def test_the_time_is_one_for_connecting_and_for_the_answer(broker: SpokenBroker) -> None:
    """A broker that is slow to connect to, and then silent, takes no more of it."""
    network = Network(broker, [NEVER_MS])
    network.connect_ms, network.refuses_from = TIMEOUT_MS - 100, 1
    with pytest.raises(RequestTimedOut, match="b:9092"):
        network.dialer().dial(ADDRESS, timeout_ms=TIMEOUT_MS)
    assert TIMEOUT_MS <= network.clock.now_ms() <= TIMEOUT_MS + 1


def test_where_no_second_connection_is_to_be_had_the_first_may_answer(broker: SpokenBroker) -> None:
    """Late as it is."""
    network = Network(broker, [TIMEOUT_MS - 1])
    network.refuses_from = 1
    connection = network.dialer().dial(ADDRESS)
    assert network.clock.now_ms() == TIMEOUT_MS - 1
    connection.close()
