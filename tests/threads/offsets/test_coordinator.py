"""Looking up a group's coordinator, and ending that early, on real threads."""

import threading
from collections.abc import Callable, Iterator, Sequence

import pytest

from tests.fakes.fake_script import Fail, Hang, Step
from tests.support.fake_net import LONG_MS, fake_net
from tests.support.offset_bench import T0, OffsetBench, coordinated_bench, fetch_failure
from tests.support.waiting import wait_until
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import (
    TransportError,
)
from zkconsumer.model import Broker
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.net.transport import Transport
from zkconsumer.offsets.coordinator import ChannelSettings, CoordinatorChannel
from zkconsumer.offsets.store import FetchedOffset
from zkconsumer.scope import ThreadScope
from zkconsumer.wire.api import ApiKey

NO_OFFSETS = {T0: FetchedOffset(None)}
SOON_MS = 5_000
PATIENT = ChannelSettings(timeout_ms=30_000, backoff_ms=30_000, limit_ms=60_000)


@pytest.fixture
def bench() -> Iterator[OffsetBench]:
    """Three brokers; broker 2 is the coordinator."""
    with coordinated_bench() as bench:
        yield bench


# --- ending early ---------------------------------------------------------------------------------


class FetchingThread:
    """Fetches offsets in a thread of its own, and keeps the outcome."""

    def __init__(self, bench: OffsetBench) -> None:
        self._bench = bench
        self.outcome: object = None
        self._scope = ThreadScope("test-coordinator")
        self._scope.spawn("fetch", self._run, stop=lambda: None)

    def _run(self) -> None:
        try:
            self.outcome = self._bench.store().fetch([T0])
        except TransportError as error:
            self.outcome = error

    def ended_within(self, limit_ms: int) -> str:
        """Return the error that the fetch ended with."""
        assert self._scope.close(limit_ms) == []
        assert isinstance(self.outcome, TransportError)
        return str(self.outcome)


def in_a_pause(bench: OffsetBench) -> None:
    """Wait until the call pauses: its one broker responded that it must retry."""
    wait_until(lambda: bench.requested(ApiKey.CONSUMER_METADATA), what="a first look-up")
    wait_until(lambda: bench.open_connections() == 0, what="the pause")


def in_a_lookup(bench: OffsetBench) -> None:
    """Wait until a broker, which hangs, has got a lookup."""
    wait_until(lambda: bench.requested(ApiKey.CONSUMER_METADATA), what="a question")


def in_a_fetch(bench: OffsetBench) -> None:
    """Wait until the coordinator, which hangs, has got a fetch."""
    wait_until(lambda: bench.requested(ApiKey.OFFSET_FETCH), what="a fetch")


MOMENTS = pytest.mark.parametrize(
    ("api", "step", "moment"),
    [
        (ApiKey.CONSUMER_METADATA, Fail(ErrorCode.COORDINATOR_NOT_AVAILABLE), in_a_pause),
        (ApiKey.CONSUMER_METADATA, Hang(), in_a_lookup),
        (ApiKey.OFFSET_FETCH, Hang(), in_a_fetch),
    ],
)


@MOMENTS
def test_interrupt_ends_a_call_at_once(
    api: ApiKey, step: Step, moment: Callable[[OffsetBench], None]
) -> None:
    """It does whatever the call waits for; the next call works again."""
    bench = OffsetBench(settings=PATIENT)
    bench.net.brokers[0].script(api, step)
    caller = FetchingThread(bench)
    moment(bench)
    bench.channel.interrupt()
    assert "interrupted" in caller.ended_within(SOON_MS)
    assert bench.store().fetch([T0]) == NO_OFFSETS
    bench.channel.close()


@MOMENTS
def test_close_ends_all_calls(
    api: ApiKey, step: Step, moment: Callable[[OffsetBench], None]
) -> None:
    """It ends the current one and every later one, and leaves no connection."""
    bench = OffsetBench(settings=PATIENT)
    bench.net.brokers[0].script(api, step)
    caller = FetchingThread(bench)
    moment(bench)
    bench.channel.close()
    bench.channel.close()
    assert "interrupted" in caller.ended_within(SOON_MS)
    assert "the offset channel is closed" in fetch_failure(bench)
    assert bench.open_connections() == 0


def test_a_member_that_leaves_fetches_no_more_but_commits() -> None:
    """The current fetch ends and later ones fail, but the last commit is written."""
    bench = OffsetBench(settings=PATIENT)
    bench.net.brokers[0].script(ApiKey.OFFSET_FETCH, Hang())
    caller = FetchingThread(bench)
    in_a_fetch(bench)
    bench.channel.stop_fetching()
    assert "interrupted" in caller.ended_within(SOON_MS)
    assert "the offset channel is closed" in fetch_failure(bench)
    assert bench.commit() == {T0: None}
    bench.channel.close()


def test_a_current_connect_is_ended() -> None:
    """The dialer is stopped, and a connection that it opened nevertheless is closed."""
    connecting = threading.Event()
    stopped = threading.Event()
    net = fake_net(1)

    class Slow:
        """A connector that connects only once it is stopped, too late."""

        def connect(self, host: str, port: int, *, timeout_ms: int) -> Transport:
            connecting.set()
            assert stopped.wait(LONG_MS / 1000)
            return net.network.connect(host, port, timeout_ms=timeout_ms)

        def stop(self) -> None:
            """Let the pending connect go on."""
            stopped.set()

        def sibling(self) -> "Slow":
            """Return itself, for another call."""
            return self

    bench = OffsetBench(net, settings=PATIENT, connector=Slow())
    caller = FetchingThread(bench)
    assert connecting.wait(LONG_MS / 1000)
    bench.channel.interrupt()
    assert "interrupted" in caller.ended_within(SOON_MS)
    assert bench.open_connections() == 0


def test_a_tcp_connect_without_a_response_is_ended() -> None:
    """An address that drops all packets does not delay a shutdown."""
    nowhere = Broker(0, "203.0.113.1", 9092)

    class Nowhere(OffsetBench):
        def list_brokers(self) -> Sequence[Broker]:
            return (nowhere,)

    bench = Nowhere(settings=PATIENT, connector=TcpConnector())
    caller = FetchingThread(bench)
    wait_until(lambda: _is_calling(bench.channel), what="the call")
    bench.channel.close()
    assert "interrupted" in caller.ended_within(SOON_MS)


def _is_calling(channel: CoordinatorChannel) -> bool:
    return channel._running is not None


def test_silent_brokers_are_not_taken_for_old_ones(bench: OffsetBench) -> None:
    """Brokers before 0.8.2 close the connection; a silent one may recover until the time-out."""
    for broker in bench.net.brokers:
        broker.script(ApiKey.CONSUMER_METADATA, *[Hang()] * 100)
    settings = ChannelSettings(timeout_ms=5, backoff_ms=1, limit_ms=60_000)
    bench = OffsetBench(bench.net, settings=settings)
    caller = FetchingThread(bench)
    wait_until(lambda: len(bench.requested(ApiKey.CONSUMER_METADATA)) > 9, what="a fourth round")
    bench.channel.interrupt()
    assert "interrupted" in caller.ended_within(SOON_MS)
