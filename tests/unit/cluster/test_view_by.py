"""Finding leaders by asking given brokers, in one round, as streams do."""

from collections.abc import Sequence

import pytest

from tests.fakes.fake_script import Close, Fail, Hang, Raw, Step
from tests.fakes.memory_transport import MemoryTransport
from tests.support.fake_net import LONG_MS, SHORT_MS, FakeNet, fake_net, requested_brokers
from tests.support.manual_clock import ManualClock
from tests.support.plain_connections import plain_client, plain_dialer, short_timeout_client
from zkconsumer.clock import SystemClock
from zkconsumer.cluster.cluster_client import LATEST
from zkconsumer.cluster.request_round import first_dial_ms
from zkconsumer.cluster.view import ClusterView
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import BrokerError, ConnectFailed, LocalProtocolError, TransportError
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.scope import wait_ms
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages.metadata import MetadataRequest


@pytest.fixture
def net() -> FakeNet:
    """Three brokers, each of which leads a partition of topic t."""
    net = fake_net(3)
    net.cluster.create_topic("t", partitions=3)
    return net


def read(net: FakeNet, topics: Sequence[str], *, order: Sequence[int] = (0, 1, 2)) -> ClusterView:
    """Request the view from the brokers, in this order."""
    return short_timeout_client(net).view_by(
        [net.brokers[number].address for number in order], topics
    )


def requests_to(net: FakeNet, broker: int) -> list[object]:
    """Return every request that a broker received."""
    return [request.request for request in net.brokers[broker].requests]


def test_one_request_finds_all_leaders(net: FakeNet) -> None:
    """One broker gets one request, over one connection, and names all leaders."""
    view = read(net, ["t"], order=[1, 0, 2])
    assert view.leaders == {
        TopicPartition("t", number): net.brokers[number].address for number in range(3)
    }
    assert requested_brokers(net) == [1]
    assert requests_to(net, 1) == [MetadataRequest(topics=("t",))]
    assert [request.version for request in net.brokers[1].requests] == [0]
    assert [conversation.is_over for conversation in net.brokers[1]._conversations] == [True]


def test_only_the_given_brokers_are_asked(net: FakeNet) -> None:
    """Brokers of an earlier call, or those in the cluster's metadata, are not asked."""
    client = short_timeout_client(net)
    for number in (2, 0):
        client.view_by([net.brokers[number].address], ["t"])
    assert requested_brokers(net) == [0, 2]


@pytest.mark.parametrize("step", [Hang(), Close(), Raw(b"HTTP/1.1 400 Bad Request")])
def test_the_next_broker_is_asked_after_a_failure(net: FakeNet, step: Step) -> None:
    """A broker that hangs, disconnects or sends garbage is followed by the next one."""
    net.brokers[2].script(ApiKey.METADATA, step)
    net.brokers[0].stop()
    addresses = [net.brokers[number].address for number in (0, 2, 1)]
    view = short_timeout_client(net, 10 * SHORT_MS).view_by(addresses, ["t"])
    assert set(view.leaders) == {TopicPartition("t", 1), TopicPartition("t", 2)}
    assert requested_brokers(net) == [1, 2]


def test_the_error_names_every_broker_and_its_failure(net: FakeNet) -> None:
    """When no broker responds, the error names all of them and why."""
    net.brokers[0].stop()
    net.brokers[1].script(ApiKey.METADATA, Hang(), Hang())
    net.brokers[2].script(ApiKey.METADATA, Raw(bytes(100)))
    with pytest.raises(TransportError) as caught:
        read(net, ["t"])
    reported = str(caught.value)
    assert "no broker responded to the request for topics t" in reported
    for part in ("fake-0:9092: can't connect", "fake-1:9092): no response", "fake-2:9092): Frame:"):
        assert part in reported


def test_an_empty_list_of_brokers_is_an_error(net: FakeNet) -> None:
    """Without any broker the error says that none is registered."""
    with pytest.raises(TransportError, match="no broker is registered"):
        short_timeout_client(net).view_by([], ["t"])


def test_no_topics_are_not_all_topics(net: FakeNet) -> None:
    """An empty list of topics is refused, since to an old broker it means all topics."""
    with pytest.raises(LocalProtocolError, match="topics"):
        read(net, [])
    assert requested_brokers(net) == []


def test_an_illegal_topic_name_is_reported(net: FakeNet) -> None:
    """The error of a request with an illegal topic name lists the requested names."""
    net.cluster.auto_create = True
    with pytest.raises(
        BrokerError, match="one of these topic names is illegal: no good, t2"
    ) as caught:
        read(net, ["t2", "no good"])
    assert caught.value.code == ErrorCode.INVALID_TOPIC


def test_topic_errors_are_returned_beside_other_topics(net: FakeNet) -> None:
    """Topics with errors do not hide the others."""
    view = read(net, ["missing", "t"])
    assert view.errors == {"missing": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert len(view.leaders) == 3
    net.brokers[0].script(ApiKey.METADATA, Fail(ErrorCode.LEADER_NOT_AVAILABLE))
    assert read(net, ["t"]).errors == {"t": ErrorCode.LEADER_NOT_AVAILABLE}


def test_a_missing_topic_may_be_created(net: FakeNet) -> None:
    """Brokers with automatic creation create a requested topic, as for the original."""
    net.cluster.auto_create = True
    read(net, ["new"])
    assert set(read(net, ["new"]).leaders) == {TopicPartition("new", 0)}


def test_a_silent_broker_is_not_waited_for_if_another_responds(net: FakeNet) -> None:
    """A silent broker costs far less than the time-out of a request."""
    net.brokers[0].script(ApiKey.METADATA, Hang())
    net.brokers[1].script(ApiKey.METADATA, Hang())
    began_ms = SystemClock().now_ms()
    view = short_timeout_client(net, LONG_MS).view_by(net.brokers.addresses, ["t"])
    assert len(view.leaders) == 3
    assert SystemClock().now_ms() - began_ms < LONG_MS / 2
    assert requested_brokers(net) == [0, 1, 2]


def test_the_only_broker_is_asked_once_more() -> None:
    """A lone silent broker is asked again over another connection: one response may be lost."""
    net = fake_net(1)
    net.cluster.create_topic("t")
    net.brokers[0].script(ApiKey.METADATA, Hang())
    began_ms = SystemClock().now_ms()
    assert (
        len(short_timeout_client(net, LONG_MS).view_by(net.brokers.addresses, ["t"]).leaders) == 1
    )
    assert SystemClock().now_ms() - began_ms < LONG_MS / 2


class _NetworkWithLostHosts:
    """A network in which some hosts are gone: connecting to them takes the whole time-out."""

    def __init__(self, net: FakeNet, *gone: str, clock: ManualClock | None = None) -> None:
        self._net = net
        self._gone = gone
        self.clock = clock
        self.tried_ms: list[int] = []

    def connect(self, host: str, port: int, *, timeout_ms: int) -> MemoryTransport:
        """See ``Connector``."""
        if host in self._gone:
            self.tried_ms.append(timeout_ms)
            if self.clock is None:
                wait_ms(timeout_ms)
            else:
                self.clock.advance(timeout_ms)
            raise ConnectFailed(f"{host}:{port}: can't connect: timed out")
        return self._net.network.connect(host, port, timeout_ms=timeout_ms)


def view_over(
    network: _NetworkWithLostHosts, timeout_ms: int, brokers: Sequence[Broker]
) -> ClusterView:
    """Request the view of topic t over this network."""
    dialer = plain_dialer(network, timeout_ms=timeout_ms)
    client = plain_client(dialer, timeout_ms=timeout_ms, clock=network.clock)
    return client.view_by(brokers, ["t"])


def test_a_lost_host_is_not_waited_for(net: FakeNet) -> None:
    """A host that does not even refuse connections costs a fraction of the time-out."""
    network, timeout_ms = _NetworkWithLostHosts(net, "fake-0", "fake-1"), 2_000
    assert len(view_over(network, timeout_ms, net.brokers.addresses).leaders) == 3
    assert all(time_ms <= timeout_ms // 4 for time_ms in network.tried_ms)
    assert len(network.tried_ms) == 2


@pytest.mark.parametrize(
    ("request_ms", "dial_ms"), [(30_000, 2_000), (8_000, 2_000), (4_000, 1_000), (100, 50)]
)
def test_a_connect_takes_two_seconds_at_most_if_others_can_be_asked(
    request_ms: int, dial_ms: int
) -> None:
    """A shorter request time-out shortens it, but leaves enough for TLS and SASL."""
    assert first_dial_ms(request_ms) == dial_ms


def test_a_connect_may_take_longer_once_all_brokers_failed(net: FakeNet) -> None:
    """After a round of short attempts the link may just be slow, so the next round waits longer."""
    timeout_ms = 1_500
    network = _NetworkWithLostHosts(net, "fake-0", "fake-1", "fake-2", clock=ManualClock())
    with pytest.raises(TransportError, match="timed out"):
        view_over(network, timeout_ms, net.brokers.addresses)
    first, second = network.tried_ms[:3], network.tried_ms[3:]
    assert all(tried_ms <= timeout_ms // 4 for tried_ms in first)
    assert len(second) == 3
    assert min(second) > max(first)


def test_offsets_are_requested_from_the_leaders_of_the_view(net: FakeNet) -> None:
    """Offsets are requested from the leaders just found, without another metadata request."""
    client = short_timeout_client(net, LONG_MS)
    view = client.view_by(net.brokers.addresses, ["t"])
    reported = client.segment_starts(dict.fromkeys(view.leaders, LATEST), timeout_ms=LONG_MS)
    assert reported == dict.fromkeys(view.leaders, (0,))
    lookups = [request for number in range(3) for request in requests_to(net, number)]
    assert sum(isinstance(lookup, MetadataRequest) for lookup in lookups) == 1
