"""Looking up positions: which requests are sent, with which time-outs, and the retries."""

from collections.abc import Callable, Mapping
from typing import cast

import pytest

from tests.support.manual_clock import ManualClock
from tests.support.polled import BROKER, OTHER, TP, TP1, batch, fetched, view
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.cluster.epoch_ends import EpochEnd
from zkconsumer.cluster.offset_times import TimedOffset
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import AuthenticationFailed, ConnectionLost
from zkconsumer.fetch.core.effects import Effects
from zkconsumer.fetch.core.partition_state import PartitionState, Phase
from zkconsumer.fetch.core.partition_states import PartitionStates
from zkconsumer.fetch.core.positions import PositionResolver
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.core.shared_state import SharedFetchState
from zkconsumer.fetch.core.starts import EARLIEST, LATEST, PositionView, Start
from zkconsumer.model import TopicPartition
from zkconsumer.records.transactions import IsolationLevel

OffsetOrCode = TimedOffset | int
COMMITTED = IsolationLevel.READ_COMMITTED


class Client:
    """A cluster with scripted responses that records its requests."""

    def __init__(self) -> None:
        self.listed: list[tuple[dict[TopicPartition, int], int, IsolationLevel]] = []
        self.epochs: list[tuple[dict[TopicPartition, tuple[int, int]], int]] = []
        self.offsets: Callable[[TopicPartition, int], OffsetOrCode] = lambda _tp, _time: (
            TimedOffset(7)
        )
        self.end: EpochEnd | int | None = None

    def list_offsets(
        self, times: Mapping[TopicPartition, int], *, timeout_ms: int, isolation: IsolationLevel
    ) -> dict[TopicPartition, OffsetOrCode]:
        """See ``ClusterClient``."""
        self.listed.append((dict(times), timeout_ms, isolation))
        return {tp: self.offsets(tp, time) for tp, time in times.items()}

    def epoch_ends(
        self, requested: Mapping[TopicPartition, tuple[int, int]], *, timeout_ms: int
    ) -> dict[TopicPartition, EpochEnd | int | None]:
        """See ``ClusterClient``."""
        self.epochs.append((dict(requested), timeout_ms))
        return dict.fromkeys(requested, self.end)


class MetadataCounter:
    """Counts requested metadata updates."""

    def __init__(self) -> None:
        self.updates = 0

    def update(self) -> None:
        """See ``MetadataManager``."""
        self.updates += 1


class ResolverBench:
    """A ``PositionResolver`` for partitions that broker 1 leads, run step by step."""

    def __init__(self, *partitions: TopicPartition, **settings: int) -> None:
        self.clock, self.client, self.metadata = ManualClock(), Client(), MetadataCounter()
        self.effects = Effects()
        fetching = CoreFetchSettings(
            isolation=COMMITTED,
            reset=None,
            retry_backoff_ms=settings.get("backoff_ms", 100),
            retry_backoff_max_ms=1_000,
            request_timeout_ms=settings.get("request_timeout_ms", 30_000),
        )
        self.shared = SharedFetchState(PartitionStates(fetching), self.clock, self.effects.add)
        self.resolver = PositionResolver(
            self.shared,
            cast("ClusterClient", self.client),
            self.metadata.update,
            fetching,
            self.clock,
        )

        def begin(states: PartitionStates, _now_ms: int) -> None:
            states.see(view(dict.fromkeys(partitions, BROKER)))
            states.add(partitions)

        self.shared.change(begin)

    def seek(self, tp: TopicPartition, start: Start) -> None:
        """Seek as the caller does."""
        self.shared.change(lambda states, _: states.seek(tp, start))

    def state(self, tp: TopicPartition = TP) -> PartitionState:
        """Return the state of a partition."""
        return self.shared.read(lambda states: states.states[tp])

    def doubt(self, tp: TopicPartition = TP) -> None:
        """Let a broker have reported that the offset is out of range."""
        self.seek(tp, PositionView(50))
        self.state(tp).phase = Phase.CHECKING_RANGE


def failing(error: Exception) -> Callable[[TopicPartition, int], OffsetOrCode]:
    """Return a response function that raises an error."""

    def fail(_tp: TopicPartition, _time: int) -> OffsetOrCode:
        raise error

    return fail


def test_an_answered_lookup_is_sent_once() -> None:
    """It has the reader's isolation level; then there is nothing to do until a wakeup."""
    bench = ResolverBench(TP, TP1)
    bench.seek(TP, EARLIEST)
    bench.seek(TP1, LATEST)
    assert bench.resolver.run_due_lookups() == 0
    assert bench.client.listed == [({TP: -2, TP1: -1}, 3_000, COMMITTED)]
    assert bench.state().position == bench.state(TP1).position == PositionView(7)
    assert bench.resolver.run_due_lookups() is None
    assert (len(bench.client.listed), bench.metadata.updates) == (1, 0)


def test_a_response_without_an_offset_is_retried_after_a_pause() -> None:
    """No offset is made up."""
    bench = ResolverBench(TP)
    bench.client.offsets = lambda _tp, _time: TimedOffset(-1)
    bench.seek(TP, LATEST)
    assert bench.resolver.run_due_lookups() == 0
    assert len(bench.client.listed) == 1
    assert bench.state().position is None
    assert bench.resolver.run_due_lookups() == 100


@pytest.mark.parametrize("passed_ms", [0, 30, 99])
def test_a_failed_lookup_is_due_when_its_pause_is_over(passed_ms: int) -> None:
    """Until then the remaining pause is how long the thread may sleep."""
    bench = ResolverBench(TP)
    bench.client.offsets = failing(ConnectionLost("gone"))
    bench.seek(TP, EARLIEST)
    assert bench.resolver.run_due_lookups() == 0
    bench.clock.advance(passed_ms)
    assert bench.resolver.run_due_lookups() == 100 - passed_ms
    assert len(bench.client.listed) == 1
    bench.clock.advance(100 - passed_ms)
    assert bench.resolver.run_due_lookups() == 0
    assert len(bench.client.listed) == 2


def test_the_time_out_grows_without_responses_and_is_then_reset() -> None:
    """It grows up to that of a request, even if only one partition got no response."""
    bench = ResolverBench(TP, TP1, request_timeout_ms=10_000)
    bench.client.offsets = failing(ConnectionLost("gone"))
    bench.seek(TP, EARLIEST)
    bench.seek(TP1, EARLIEST)

    def take_turn() -> None:
        bench.clock.advance(5_000)
        bench.resolver.run_due_lookups()

    take_turn()
    take_turn()
    bench.client.offsets = lambda tp, _time: (
        TimedOffset(7) if tp == TP else ErrorCode.NOT_LEADER_FOR_PARTITION
    )
    take_turn()
    bench.client.offsets = lambda _tp, _time: TimedOffset(7)
    take_turn()
    bench.seek(TP, EARLIEST)
    take_turn()
    assert [deadline for _, deadline, _ in bench.client.listed] == [
        3_000,
        6_000,
        10_000,
        10_000,
        3_000,
    ]


def test_the_time_out_never_exceeds_that_of_a_request() -> None:
    """This holds for the first lookup as well."""
    bench = ResolverBench(TP, request_timeout_ms=500)
    for _ in range(2):
        bench.seek(TP, EARLIEST)
        bench.resolver.run_due_lookups()
    assert [deadline for _, deadline, _ in bench.client.listed] == [500, 500]


def test_a_failed_lookup_refreshes_the_metadata(caplog: pytest.LogCaptureFixture) -> None:
    """The connection may have failed because another broker leads now."""
    bench = ResolverBench(TP)
    bench.client.offsets = failing(ConnectionLost("gone"))
    bench.seek(TP, EARLIEST)
    bench.effects.refresh_metadata = False
    bench.resolver.run_due_lookups()
    assert bench.effects.refresh_metadata
    assert "t-0: ListOffsets: NETWORK_EXCEPTION" in caplog.text


def test_refused_credentials_are_raised_and_the_lookup_retried() -> None:
    """The error is raised by a call, and the lookup is repeated later."""
    bench = ResolverBench(TP)
    refusal = AuthenticationFailed("who are you?")
    bench.client.offsets = failing(refusal)
    bench.seek(TP, EARLIEST)
    bench.resolver.run_due_lookups()
    trouble = bench.state().trouble
    assert trouble is not None
    assert (trouble.error, trouble.is_retriable) == (refusal, True)


def test_metadata_is_refreshed_for_partitions_without_a_leader() -> None:
    """As often as the longest pause, or sooner if a lookup is due."""
    bench = ResolverBench(TP)
    third = TopicPartition("t", 2)
    bench.shared.change(lambda states, _: states.add([third]))
    bench.seek(third, PositionView(0))
    assert bench.resolver.run_due_lookups() == 1_000
    assert bench.metadata.updates == 1
    bench.client.offsets = failing(ConnectionLost("gone"))
    bench.seek(TP, EARLIEST)
    assert bench.resolver.run_due_lookups() == 0
    assert bench.resolver.run_due_lookups() == 100
    assert bench.metadata.updates == 2


def test_the_ends_of_a_log_are_looked_up_uncommitted() -> None:
    """Offsets of open transactions can be fetched, too."""
    bench = ResolverBench(TP)
    bench.client.offsets = lambda _tp, time: TimedOffset(10 if time == -2 else 20)
    bench.doubt()
    assert bench.resolver.run_due_lookups() == 0
    assert bench.client.listed == [
        ({TP: -2}, 3_000, IsolationLevel.READ_UNCOMMITTED),
        ({TP: -1}, 3_000, IsolationLevel.READ_UNCOMMITTED),
    ]
    trouble = bench.state().trouble
    assert trouble is not None
    assert "50" in str(trouble.error)


@pytest.mark.parametrize("failing_time", [-2, -1])
def test_a_failed_lookup_of_one_end_is_repeated(
    caplog: pytest.LogCaptureFixture, failing_time: int
) -> None:
    """After the pause, with a longer time-out."""
    bench = ResolverBench(TP)
    bench.client.offsets = lambda _tp, time: (
        ErrorCode.NOT_LEADER_FOR_PARTITION if time == failing_time else TimedOffset(10)
    )
    bench.doubt()
    bench.resolver.run_due_lookups()
    assert bench.state().trouble is None
    assert "t-0: ListOffsets: NOT_LEADER_FOR_PARTITION" in caplog.text
    bench.clock.advance(100)
    bench.resolver.run_due_lookups()
    assert [deadline for _, deadline, _ in bench.client.listed] == [3_000] * 2 + [6_000] * 2


@pytest.mark.parametrize("missing", [-2, -1])
def test_ends_without_offsets_count_as_no_response(missing: int) -> None:
    """A lookup of either end that returns no offset is repeated."""
    bench = ResolverBench(TP)
    bench.client.offsets = lambda _tp, time: TimedOffset(-1 if time == missing else 10)
    bench.doubt()
    bench.resolver.run_due_lookups()
    assert bench.state().trouble is None
    assert bench.resolver.run_due_lookups() == 100


def test_the_end_of_an_epoch_is_looked_up_with_a_new_leader() -> None:
    """The request names the last fetched epoch and the leader's.

    If the logs agree, reading continues.
    """
    bench = ResolverBench(TP)
    bench.seek(TP, PositionView(0))
    bench.shared.change(lambda states, now_ms: fetched(states, {TP: batch(0, 3, epoch=1)}, now_ms))
    bench.shared.change(lambda states, _: states.see(view({TP: OTHER}, epoch=2)))
    bench.client.end = EpochEnd(1, 3)
    assert bench.resolver.run_due_lookups() == 0
    assert bench.client.epochs == [({TP: (2, 1)}, 3_000)]
    assert not bench.state().awaits_validation
