"""Finding a group's coordinator, and breaking that off."""

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


def test_any_broker_tells_who_it_is(bench: OffsetBench) -> None:
    """One is asked, the coordinator is connected to, and the question's connection is closed."""
    assert bench.store().fetch([T0]) == NOTHING
    assert bench.requested(ApiKey.CONSUMER_METADATA) == [0]
    assert bench.net.brokers[0].requests[0].request == FindCoordinatorRequest(group_id="g")
    assert bench.requested(ApiKey.OFFSET_FETCH) == [2]
    assert bench.open_connections() == 1


def test_the_channel_is_kept(bench: OffsetBench) -> None:
    """Later calls use it, and ask nobody where it leads."""
    store = bench.store()
    for _ in range(3):
        store.fetch([T0])
    assert bench.requested(ApiKey.CONSUMER_METADATA) == [0]
    assert len(bench.net.brokers[2]._conversations) == 1


def test_a_coordinator_that_was_asked_is_not_connected_to_twice(bench: OffsetBench) -> None:
    """The connection of the question becomes the channel."""
    bench.net.cluster.coordinator = 0
    assert bench.store().fetch([T0]) == NOTHING
    assert len(bench.net.brokers[0]._conversations) == 1
    assert bench.open_connections() == 1


def test_what_goes_out_is_what_a_broker_of_0_8_2_knows(bench: OffsetBench) -> None:
    """Byte by byte: nobody is asked what it serves, and the numbers of the requests run on."""
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
    """So that the members of all groups do not ask the same one."""
    bench = OffsetBench(shuffle=lambda brokers: brokers.sort(key=lambda broker: -broker.id))
    bench.store().fetch([T0])
    assert bench.requested(ApiKey.CONSUMER_METADATA) == [2]


@pytest.mark.parametrize("step", [Hang(), Close(), Raw(b"HTTP/1.1 400 Bad Request")])
def test_the_next_broker_is_asked(bench: OffsetBench, step: Step) -> None:
    """One that is down, hangs, leaves or talks nonsense does not keep the others from answering."""
    settings = ChannelSettings(timeout_ms=50, backoff_ms=30_000, limit_ms=60_000)
    bench = OffsetBench(bench.net, settings=settings)
    bench.net.brokers[0].stop()
    bench.net.brokers[1].script(ApiKey.CONSUMER_METADATA, step)
    assert bench.store().fetch([T0]) == NOTHING
    assert bench.requested(ApiKey.CONSUMER_METADATA) == [1, 2]


def test_no_coordinator_yet(bench: OffsetBench) -> None:
    """While the offsets topic is being made, brokers say "later": it is asked again."""
    not_yet = [Fail(ErrorCode.COORDINATOR_NOT_AVAILABLE)] * 3
    bench.net.brokers[0].script(ApiKey.CONSUMER_METADATA, *not_yet)
    assert bench.store().fetch([T0]) == NOTHING
    assert bench.requested(ApiKey.CONSUMER_METADATA) == [0] * 4


def test_a_coordinator_that_is_just_gone(bench: OffsetBench) -> None:
    """Brokers may name one that nobody reaches: they are asked again until they know better."""
    net = bench.net
    requested = 0

    class Late:
        """Connects; the coordinator's listener comes up after its third refusal."""

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


def test_a_look_up_that_is_not_allowed_is_an_error_at_once(bench: OffsetBench) -> None:
    """Whoever is asked says the same, however long it is asked."""
    bench.net.brokers[0].script(
        ApiKey.CONSUMER_METADATA, Fail(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    )
    with pytest.raises(BrokerError, match=r"group g: .*GROUP_AUTHORIZATION_FAILED \(30\)"):
        bench.store().fetch([T0])
    assert bench.requested(ApiKey.CONSUMER_METADATA) == [0]
    assert bench.store().fetch([T0]) == NOTHING


# --- not finding ----------------------------------------------------------------------------------


def test_no_coordinator_at_all(bench: OffsetBench) -> None:
    """After its limit the call fails, and says whose, who was asked, and what to look at."""
    bench.net.cluster.coordinator = None
    bench = OffsetBench(bench.net, settings=ChannelSettings(backoff_ms=20, limit_ms=300))
    began_ms = SystemClock().now_ms()
    reported = fetch_failure(bench)
    assert 200 <= SystemClock().now_ms() - began_ms < 300 + SOON_MS
    assert "group g: no offset coordinator responds" in reported
    assert "__consumer_offsets" in reported
    # The last round may have asked only some of them when its time was over.
    reported_code = r"broker ([012]) \(fake-\1:9092\) reports COORDINATOR_NOT_AVAILABLE \(15\)"
    assert re.search(reported_code, reported)
    assert len(bench.requested(ApiKey.CONSUMER_METADATA)) > 1
    assert bench.open_connections() == 0


def test_no_broker_answers(bench: OffsetBench) -> None:
    """Each of them is named with its reason."""
    for broker in bench.net.brokers:
        broker.stop()
    reported = fetch_failure(
        OffsetBench(bench.net, settings=ChannelSettings(backoff_ms=200, limit_ms=500))
    )
    for number in range(3):
        assert f"fake-{number}:9092: can't connect" in reported


@pytest.mark.parametrize("step", [Close(), Raw(b"HTTP/1.1 400 Bad Request"), Hang()])
def test_a_coordinator_that_answers_nothing_is_named_once(bench: OffsetBench, step: Step) -> None:
    """Whatever its connection says of itself."""
    bench.net.brokers[2].script(ApiKey.OFFSET_FETCH, *[step] * 50)
    settings = ChannelSettings(timeout_ms=50, backoff_ms=20, limit_ms=200)
    reported = fetch_failure(OffsetBench(bench.net, settings=settings))
    reason = reported.removeprefix("group g: no offset coordinator responds: ").split(": check")[0]
    for part in reason.split("; then "):
        assert part.startswith("broker 2 (fake-2:9092): ")
        assert part.count("fake-2") == 1


def test_silent_brokers_together_take_no_longer_than_the_limit(bench: OffsetBench) -> None:
    """However long each of them may take."""
    for broker in bench.net.brokers:
        broker.script(ApiKey.CONSUMER_METADATA, *[Hang()] * 10)
    bench = OffsetBench(bench.net, settings=ChannelSettings(timeout_ms=10_000, limit_ms=200))
    began_ms = SystemClock().now_ms()
    assert "broker 0 (fake-0:9092): no response in time" in fetch_failure(bench)
    assert SystemClock().now_ms() - began_ms < 200 + SOON_MS


def test_a_crowd_of_brokers_is_not_listed_one_by_one() -> None:
    """The message stays readable."""
    bench = OffsetBench(fake_net(30), settings=ChannelSettings(backoff_ms=400, limit_ms=1_000))
    for broker in bench.net.brokers:
        broker.stop()
    reported = fetch_failure(bench)
    assert "and 20 more" in reported
    assert "fake-29" not in reported


def test_no_broker_is_registered(bench: OffsetBench) -> None:
    """Which may change within the limit: only then it fails."""
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


def test_zookeeper_that_does_not_answer_ends_the_call(bench: OffsetBench) -> None:
    """There the brokers are listed: its error is passed on at once, and harms no later call."""
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


def test_brokers_before_0_8_2(bench: OffsetBench) -> None:
    """They hang up at the question: the call does not use up its time on them, and says so."""
    for broker in bench.net.brokers:
        broker.script(ApiKey.CONSUMER_METADATA, *[Close()] * 10)
    bench = OffsetBench(bench.net, settings=ChannelSettings(backoff_ms=20, limit_ms=60_000))
    reported = fetch_failure(bench, UnsupportedVersion)
    assert "offsets in Kafka need 0.8.2; set offsets.storage=zookeeper" in reported
    assert bench.requested(ApiKey.CONSUMER_METADATA) == [0] * 3 + [1] * 3 + [2] * 3


def test_brokers_that_can_not_be_connected_to_leave_time_for_the_others() -> None:
    """However long each may take, all have been tried when the time is over, and not later."""
    clock = ManualClock()
    bench = OffsetBench(clock=clock)

    class Slow:
        """Connecting takes as long as it may, and then fails."""

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
    # Pauses are random: with a millisecond left nobody is tried any more.
    assert 1_995 <= clock.now_ms() <= 1_000 + 1_000


def test_close_at_rest_closes_the_channel(bench: OffsetBench) -> None:
    """Nothing has to be under way."""
    bench.store().fetch([T0])
    assert bench.open_connections() == 1
    bench.channel.close()
    assert bench.open_connections() == 0


def test_interrupt_at_rest_does_nothing(bench: OffsetBench) -> None:
    """A call that comes later is not meant."""
    store = bench.store()
    bench.channel.interrupt()
    assert store.fetch([T0]) == NOTHING
    bench.channel.interrupt()
    assert store.fetch([T0]) == NOTHING
    assert bench.requested(ApiKey.CONSUMER_METADATA) == [0]


@pytest.mark.parametrize(
    ("api", "requested"), [(ApiKey.OFFSET_FETCH, [0, 0]), (ApiKey.CONSUMER_METADATA, [0, 0, 1, 2])]
)
def test_an_answer_that_never_comes_is_asked_for_once_more(
    api: ApiKey, requested: list[int]
) -> None:
    """Of all that can tell, over a second connection, which then is the channel.

    Commits go once, as ever.
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
