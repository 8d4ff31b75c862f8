"""Finding a group's coordinator, and interrupting that."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from tests.fakes.fake_script import Close, Fail, Hang, Raw, Step
from tests.support.fake_net import fake_net
from tests.support.manual_clock import ManualClock
from tests.support.offset_bench import CLIENT_ID, T0, OffsetBench, coordinated_bench, fetch_failure
from zkconsumer.clock import SystemClock
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import (
    BrokerError,
    ConnectFailed,
    RegistryError,
    UnsupportedVersion,
)
from zkconsumer.model import Broker
from zkconsumer.net.transport import Transport
from zkconsumer.offsets.coordinator import ChannelSettings
from zkconsumer.offsets.store import FetchedOffset
from zkconsumer.wire.api import ApiKey, Request, Response
from zkconsumer.wire.messages import offset_commit as oc
from zkconsumer.wire.messages import offset_fetch as of
from zkconsumer.wire.messages.find_coordinator import FindCoordinatorRequest

NOTHING = {T0: FetchedOffset(None)}
SOON_MS = 5_000
PATIENT = ChannelSettings(timeout_ms=30_000, backoff_ms=30_000, limit_ms=60_000)


@pytest.fixture
def bench() -> Iterator[OffsetBench]:
    """Three brokers; broker 2 is the coordinator."""
    with coordinated_bench() as bench:
        yield bench


# --- finding --------------------------------------------------------------------------------------


def test_any_broker_can_name_the_coordinator(bench: OffsetBench) -> None:
    """One broker is asked, then disconnected, and the coordinator is connected to."""
    assert bench.store().fetch([T0]) == NOTHING
    assert bench.requested(ApiKey.CONSUMER_METADATA) == [0]
    assert bench.net.brokers[0].requests[0].request == FindCoordinatorRequest(group_id="g")
    assert bench.requested(ApiKey.OFFSET_FETCH) == [2]
    assert bench.open_connections() == 1


def test_the_channel_is_kept(bench: OffsetBench) -> None:
    """Later calls use it without another lookup."""
    store = bench.store()
    for _ in range(3):
        store.fetch([T0])
    assert bench.requested(ApiKey.CONSUMER_METADATA) == [0]
    assert len(bench.net.brokers[2]._conversations) == 1


def test_a_coordinator_that_names_itself_is_not_connected_to_twice(bench: OffsetBench) -> None:
    """The connection of the lookup becomes the channel."""
    bench.net.cluster.coordinator = 0
    assert bench.store().fetch([T0]) == NOTHING
    assert len(bench.net.brokers[0]._conversations) == 1
    assert bench.open_connections() == 1


def test_requests_are_those_that_a_broker_of_0_8_2_supports(bench: OffsetBench) -> None:
    """The requests are compared byte by byte: no versions are negotiated, and ids run on."""
    bench.net.cluster.coordinator = 0
    bench.store().fetch([T0])
    bench.commit(5)
    topics = (of.OffsetFetchTopic(topic="t", partitions=(0,)),)
    partition = oc.OffsetCommitPartition(partition=0, offset=5)
    expected: list[tuple[Request[Response], int]] = [
        (FindCoordinatorRequest(group_id="g"), 0),
        (of.OffsetFetchRequest(group_id="g", topics=topics), 1),
        (
            oc.OffsetCommitRequest(
                group_id="g", topics=(oc.OffsetCommitTopic(topic="t", partitions=(partition,)),)
            ),
            1,
        ),
    ]
    requests = [request for broker in bench.net.brokers for request in broker.requests]
    sent = [
        (request.request, request.version, request.correlation_id, request.client_id)
        for request in requests
    ]
    assert sent == [(*exchange, number, CLIENT_ID) for number, exchange in enumerate(expected)]


def test_brokers_are_asked_in_shuffled_order() -> None:
    """So the members of all groups do not ask the same broker."""
    bench = OffsetBench(shuffle=lambda brokers: brokers.sort(key=lambda broker: -broker.id))
    bench.store().fetch([T0])
    assert bench.requested(ApiKey.CONSUMER_METADATA) == [2]


@pytest.mark.parametrize("step", [Hang(), Close(), Raw(b"HTTP/1.1 400 Bad Request")])
def test_the_next_broker_is_asked_after_a_failure(bench: OffsetBench, step: Step) -> None:
    """A broker that is down, hangs, disconnects or sends garbage does not block the lookup."""
    settings = ChannelSettings(timeout_ms=50, backoff_ms=30_000, limit_ms=60_000)
    bench = OffsetBench(bench.net, settings=settings)
    bench.net.brokers[0].stop()
    bench.net.brokers[1].script(ApiKey.CONSUMER_METADATA, step)
    assert bench.store().fetch([T0]) == NOTHING
    assert bench.requested(ApiKey.CONSUMER_METADATA) == [1, 2]


def test_a_lookup_is_repeated_while_there_is_no_coordinator(bench: OffsetBench) -> None:
    """While the offsets topic is created the lookup fails, and is repeated."""
    not_yet = [Fail(ErrorCode.COORDINATOR_NOT_AVAILABLE)] * 3
    bench.net.brokers[0].script(ApiKey.CONSUMER_METADATA, *not_yet)
    assert bench.store().fetch([T0]) == NOTHING
    assert bench.requested(ApiKey.CONSUMER_METADATA) == [0] * 4


def test_a_lookup_is_repeated_while_the_coordinator_is_down(bench: OffsetBench) -> None:
    """Brokers may name a coordinator that is down: they are asked again until they name another."""
    net = bench.net
    requested = 0

    class Late:
        """A connector whose coordinator accepts connections after three refusals."""

        def connect(self, host: str, port: int, *, timeout_ms: int) -> Transport:
            nonlocal requested
            if host == net.brokers[2].address.host:
                requested += 1
                if requested <= 3:
                    raise ConnectFailed(f"{host}:{port}: can't connect: refused")
            return net.network.connect(host, port, timeout_ms=timeout_ms)

    bench = OffsetBench(net, connector=Late())
    assert bench.store().fetch([T0]) == NOTHING
    assert bench.requested(ApiKey.CONSUMER_METADATA) == [0] * 4


def test_an_unauthorized_lookup_fails_at_once(bench: OffsetBench) -> None:
    """Every broker would respond the same, however often it is asked."""
    bench.net.brokers[0].script(
        ApiKey.CONSUMER_METADATA, Fail(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    )
    with pytest.raises(BrokerError, match=r"group g: .*GROUP_AUTHORIZATION_FAILED \(30\)"):
        bench.store().fetch([T0])
    assert bench.requested(ApiKey.CONSUMER_METADATA) == [0]
    assert bench.store().fetch([T0]) == NOTHING


# --- not finding ----------------------------------------------------------------------------------


def test_without_a_coordinator_the_call_fails_after_its_limit(bench: OffsetBench) -> None:
    """The call fails with the group, the brokers that were asked, and what to check."""
    bench.net.cluster.coordinator = None
    bench = OffsetBench(bench.net, settings=ChannelSettings(backoff_ms=20, limit_ms=300))
    began_ms = SystemClock().now_ms()
    reported = fetch_failure(bench)
    assert 200 <= SystemClock().now_ms() - began_ms < 300 + SOON_MS
    assert "group g: no offset coordinator responds" in reported
    assert "__consumer_offsets" in reported
    # The last round may have asked only some of the brokers when the time was over.
    reported_code = r"broker ([012]) \(fake-\1:9092\) reports COORDINATOR_NOT_AVAILABLE \(15\)"
    assert re.search(reported_code, reported)
    assert len(bench.requested(ApiKey.CONSUMER_METADATA)) > 1
    assert bench.open_connections() == 0


def test_the_error_names_every_broker_that_is_down(bench: OffsetBench) -> None:
    """Each of them is named with its reason."""
    for broker in bench.net.brokers:
        broker.stop()
    reported = fetch_failure(
        OffsetBench(bench.net, settings=ChannelSettings(backoff_ms=200, limit_ms=500))
    )
    for number in range(3):
        assert f"fake-{number}:9092: can't connect" in reported


@pytest.mark.parametrize("step", [Close(), Raw(b"HTTP/1.1 400 Bad Request"), Hang()])
def test_a_coordinator_without_a_response_is_named_once(bench: OffsetBench, step: Step) -> None:
    """The error names it once, whatever the failure is."""
    bench.net.brokers[2].script(ApiKey.OFFSET_FETCH, *[step] * 50)
    settings = ChannelSettings(timeout_ms=50, backoff_ms=20, limit_ms=200)
    reported = fetch_failure(OffsetBench(bench.net, settings=settings))
    reason = reported.removeprefix("group g: no offset coordinator responds: ").split(": check")[0]
    for part in reason.split("; then "):
        assert part.startswith("broker 2 (fake-2:9092): ")
        assert part.count("fake-2") == 1


def test_silent_brokers_share_the_limit(bench: OffsetBench) -> None:
    """The limit holds however long each of them may take."""
    for broker in bench.net.brokers:
        broker.script(ApiKey.CONSUMER_METADATA, *[Hang()] * 10)
    bench = OffsetBench(bench.net, settings=ChannelSettings(timeout_ms=10_000, limit_ms=200))
    began_ms = SystemClock().now_ms()
    assert "broker 0 (fake-0:9092): no response in time" in fetch_failure(bench)
    assert SystemClock().now_ms() - began_ms < 200 + SOON_MS


def test_the_error_lists_a_few_of_many_brokers() -> None:
    """The message stays readable."""
    bench = OffsetBench(fake_net(30), settings=ChannelSettings(backoff_ms=400, limit_ms=1_000))
    for broker in bench.net.brokers:
        broker.stop()
    reported = fetch_failure(bench)
    assert "and 20 more" in reported
    assert "fake-29" not in reported


def test_the_call_waits_for_a_broker_to_register(bench: OffsetBench) -> None:
    """A broker may register within the limit; the call fails only after it."""
    lists: list[Sequence[Broker]] = [bench.net.brokers.addresses, (), ()]

    class Late(OffsetBench):
        def list_brokers(self) -> Sequence[Broker]:
            return lists.pop()

    assert Late(bench.net).store().fetch([T0]) == NOTHING

    class Never(OffsetBench):
        def list_brokers(self) -> Sequence[Broker]:
            return ()

    settings = ChannelSettings(backoff_ms=20, limit_ms=100)
    assert "no broker is registered" in fetch_failure(Never(bench.net, settings=settings))


def test_an_error_of_zookeeper_ends_the_call(bench: OffsetBench) -> None:
    """ZooKeeper lists the brokers: its error is raised at once, and later calls are unaffected."""
    responses = [None, RegistryError("away")]

    class Away(OffsetBench):
        def list_brokers(self) -> Sequence[Broker]:
            error = responses.pop()
            if error is not None:
                raise error
            return super().list_brokers()

    away = Away(bench.net)
    assert fetch_failure(away, RegistryError) == "away"
    assert away.store().fetch([T0]) == NOTHING


def test_brokers_before_0_8_2_are_recognized(bench: OffsetBench) -> None:
    """They close the connection on a lookup: the call fails before its limit, with the reason."""
    for broker in bench.net.brokers:
        broker.script(ApiKey.CONSUMER_METADATA, *[Close()] * 10)
    bench = OffsetBench(bench.net, settings=ChannelSettings(backoff_ms=20, limit_ms=60_000))
    reported = fetch_failure(bench, UnsupportedVersion)
    assert "offsets in Kafka need 0.8.2; set offsets.storage=zookeeper" in reported
    assert bench.requested(ApiKey.CONSUMER_METADATA) == [0] * 3 + [1] * 3 + [2] * 3


def test_unreachable_brokers_leave_time_for_the_others() -> None:
    """However long each may take, all were tried when the time is over, and not later."""
    clock = ManualClock()
    bench = OffsetBench(clock=clock)

    class Slow:
        """A connector whose connects take all their time, and then fail."""

        def connect(self, host: str, port: int, *, timeout_ms: int) -> Transport:
            clock.advance(timeout_ms)
            raise ConnectFailed(f"{host}:{port}: can't connect: timed out")

    bench = OffsetBench(
        bench.net,
        ChannelSettings(timeout_ms=700, backoff_ms=20, limit_ms=1_000),
        clock,
        connector=Slow(),
    )
    reported = fetch_failure(bench)
    assert all(f"fake-{number}:9092: can't connect" in reported for number in range(3))
    # Pauses are random: with a millisecond left no other attempt is made.
    assert 1_995 <= clock.now_ms() <= 1_000 + 1_000


def test_an_idle_channel_is_closed(bench: OffsetBench) -> None:
    """No call needs to be in progress."""
    bench.store().fetch([T0])
    assert bench.open_connections() == 1
    bench.channel.close()
    assert bench.open_connections() == 0


def test_an_interrupt_of_an_idle_channel_does_nothing(bench: OffsetBench) -> None:
    """A later call is not affected."""
    store = bench.store()
    bench.channel.interrupt()
    assert store.fetch([T0]) == NOTHING
    bench.channel.interrupt()
    assert store.fetch([T0]) == NOTHING
    assert bench.requested(ApiKey.CONSUMER_METADATA) == [0]


@pytest.mark.parametrize(
    ("api", "requested"), [(ApiKey.OFFSET_FETCH, [0, 0]), (ApiKey.CONSUMER_METADATA, [0, 0, 1, 2])]
)
def test_a_read_without_a_response_is_hedged(api: ApiKey, requested: list[int]) -> None:
    """All brokers that can respond are asked, over a second connection, which becomes the channel.

    Commits are sent once, as always.
    """
    settings = replace(PATIENT, timeout_ms=6_000)  # a second connection after 0.4 s
    bench = OffsetBench(settings=settings)
    for broker in bench.net.brokers:
        broker.script(api, Hang())
    began_ms = SystemClock().now_ms()
    assert bench.store().fetch([T0]) == NOTHING
    assert SystemClock().now_ms() - began_ms < settings.timeout_ms / 2
    assert bench.requested(api) == requested
    assert bench.open_connections() == 1
    assert bench.commit() == {T0: None}
    assert len(bench.requested(ApiKey.OFFSET_COMMIT)) == 1
