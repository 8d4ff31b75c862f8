"""Who asks about positions: what it asks, how long it waits for answers, when it looks again."""

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
from zkconsumer.fetch.core.starts import (
    EARLIEST,
    LATEST,
    AtOffset,
    ByTime,
    PositionView,
    Reset,
)
from zkconsumer.model import TopicPartition
from zkconsumer.records.fetched import IsolationLevel

Answer = TimedOffset | int
COMMITTED = IsolationLevel.READ_COMMITTED


class Client:
    """A cluster whose answers a test gives; it notes what it was asked."""

    def __init__(self) -> None:
        self.listed: list[tuple[dict[TopicPartition, int], int, IsolationLevel]] = []
        self.epochs: list[tuple[dict[TopicPartition, tuple[int, int]], int]] = []
        self.offsets: Callable[[TopicPartition, int], Answer] = lambda _tp, _time: TimedOffset(7)
        self.end: EpochEnd | int | None = None

    def list_offsets(
        self, times: Mapping[TopicPartition, int], *, timeout_ms: int, isolation: IsolationLevel
    ) -> dict[TopicPartition, Answer]:
        """See ``ClusterClient``."""
        self.listed.append((dict(times), timeout_ms, isolation))
        return {tp: self.offsets(tp, time) for tp, time in times.items()}

    def epoch_ends(
        self, requested: Mapping[TopicPartition, tuple[int, int]], *, timeout_ms: int
    ) -> dict[TopicPartition, EpochEnd | int | None]:
        """See ``ClusterClient``."""
        self.epochs.append((dict(requested), timeout_ms))
        return dict.fromkeys(requested, self.end)


class Keeper:
    """Counts how often it was reminded."""

    def __init__(self) -> None:
        self.updates = 0

    def update(self) -> None:
        """See ``MetadataManager``."""
        self.updates += 1


class Bench:
    """An asker for partitions that broker 1 leads, each turn of which a test takes."""

    def __init__(self, *partitions: TopicPartition, **settings: int) -> None:
        self.clock, self.client, self.metadata = ManualClock(), Client(), Keeper()
        self.effects = Effects()
        fetching = CoreFetchSettings(
            isolation=COMMITTED,
            reset=None,
            retry_backoff_ms=settings.get("backoff_ms", 100),
            retry_backoff_max_ms=1_000,
            request_timeout_ms=settings.get("request_timeout_ms", 30_000),
        )
        self.shared = SharedFetchState(PartitionStates(fetching), self.clock, self.effects.add)
        self.asker = PositionResolver(
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

    def seek(self, tp: TopicPartition, start: AtOffset | Reset) -> None:
        """As the caller does."""
        self.shared.change(lambda states, _: states.seek(tp, start))

    def state(self, tp: TopicPartition = TP) -> PartitionState:
        """How a partition stands."""
        return self.shared.look(lambda states: states.states[tp])

    def doubt(self, tp: TopicPartition = TP) -> None:
        """A broker said that the offset is out of range."""
        self.seek(tp, AtOffset(50))
        self.state(tp).phase = Phase.DOUBTFUL


def failing(error: Exception) -> Callable[[TopicPartition, int], Answer]:
    """Nobody answers."""

    def fail(_tp: TopicPartition, _time: int) -> Answer:
        raise error

    return fail


def test_what_has_an_answer_is_asked_once() -> None:
    """With the isolation of the reader; then there is nothing to do until somebody wakes it."""
    bench = Bench(TP, TP1)
    bench.seek(TP, Reset(EARLIEST))
    bench.seek(TP1, Reset(LATEST))
    assert bench.asker.turn() == 0
    assert bench.client.listed == [({TP: -2, TP1: -1}, 3_000, COMMITTED)]
    assert bench.state().position == bench.state(TP1).position == PositionView(7)
    assert bench.asker.turn() is None
    assert (len(bench.client.listed), bench.metadata.updates) == (1, 0)


@pytest.mark.parametrize("time_ms", [0, 1, 1_400_000_000_000])
def test_a_time_behind_all_records_is_the_end_of_the_log(time_ms: int) -> None:
    """Which is asked for then; the times of other partitions stand."""
    bench = Bench(TP, TP1)
    bench.client.offsets = lambda tp, time: TimedOffset(
        90 if time == -1 else 3 if tp == TP1 else -1
    )
    bench.seek(TP, Reset(ByTime(time_ms)))
    bench.seek(TP1, Reset(ByTime(time_ms)))
    bench.asker.turn()
    assert [times for times, _, _ in bench.client.listed] == [
        {TP: time_ms, TP1: time_ms},
        {TP: -1},
    ]
    assert bench.state().position == PositionView(90)
    assert bench.state(TP1).position == PositionView(3)


def test_an_end_without_an_offset_is_not_asked_for_twice_at_once() -> None:
    """It is no answer: tried again after the pause, and nothing is made up."""
    bench = Bench(TP)
    bench.client.offsets = lambda _tp, _time: TimedOffset(-1)
    bench.seek(TP, Reset(LATEST))
    assert bench.asker.turn() == 0
    assert len(bench.client.listed) == 1
    assert bench.state().position is None
    assert bench.asker.turn() == 100


@pytest.mark.parametrize("passed_ms", [0, 30, 99])
def test_what_failed_is_due_when_its_pause_is_over(passed_ms: int) -> None:
    """And not before; the rest of the pause is how long it may sleep."""
    bench = Bench(TP)
    bench.client.offsets = failing(ConnectionLost("gone"))
    bench.seek(TP, Reset(EARLIEST))
    assert bench.asker.turn() == 0
    bench.clock.advance(passed_ms)
    assert bench.asker.turn() == 100 - passed_ms
    assert len(bench.client.listed) == 1
    bench.clock.advance(100 - passed_ms)
    assert bench.asker.turn() == 0
    assert len(bench.client.listed) == 2


def test_patience_grows_while_nobody_answers_and_begins_anew_when_somebody_does() -> None:
    """Up to the time of a request; one partition without an answer is enough."""
    bench = Bench(TP, TP1, request_timeout_ms=10_000)
    bench.client.offsets = failing(ConnectionLost("gone"))
    bench.seek(TP, Reset(EARLIEST))
    bench.seek(TP1, Reset(EARLIEST))

    def turn() -> None:
        bench.clock.advance(5_000)
        bench.asker.turn()

    turn()
    turn()
    bench.client.offsets = lambda tp, _time: (
        TimedOffset(7) if tp == TP else ErrorCode.NOT_LEADER_FOR_PARTITION
    )
    turn()
    bench.client.offsets = lambda _tp, _time: TimedOffset(7)
    turn()
    bench.seek(TP, Reset(EARLIEST))
    turn()
    assert [deadline for _, deadline, _ in bench.client.listed] == [
        3_000,
        6_000,
        10_000,
        10_000,
        3_000,
    ]


def test_patience_is_never_longer_than_a_request_may_take() -> None:
    """From the first question on."""
    bench = Bench(TP, request_timeout_ms=500)
    for _ in range(2):
        bench.seek(TP, Reset(EARLIEST))
        bench.asker.turn()
    assert [deadline for _, deadline, _ in bench.client.listed] == [500, 500]


def test_without_an_answer_leaders_are_looked_for(caplog: pytest.LogCaptureFixture) -> None:
    """The connection may have failed since another one leads."""
    bench = Bench(TP)
    bench.client.offsets = failing(ConnectionLost("gone"))
    bench.seek(TP, Reset(EARLIEST))
    bench.effects.refresh_metadata = False
    bench.asker.turn()
    assert bench.effects.refresh_metadata
    assert "t-0: ListOffsets: NETWORK_EXCEPTION" in caplog.text


def test_a_refusal_is_told_to_the_caller_and_tried_again_later() -> None:
    """Whoever was asked will have nothing to do with us."""
    bench = Bench(TP)
    refusal = AuthenticationFailed("who are you?")
    bench.client.offsets = failing(refusal)
    bench.seek(TP, Reset(EARLIEST))
    bench.asker.turn()
    trouble = bench.state().trouble
    assert trouble is not None
    assert (trouble.error, trouble.passes) == (refusal, True)


def test_the_keeper_is_reminded_of_what_nobody_leads() -> None:
    """As often as the longest pause; sooner where something else is due."""
    bench = Bench(TP)
    third = TopicPartition("t", 2)
    bench.shared.change(lambda states, _: states.add([third]))
    bench.seek(third, AtOffset(0))
    assert bench.asker.turn() == 1_000
    assert bench.metadata.updates == 1
    bench.client.offsets = failing(ConnectionLost("gone"))
    bench.seek(TP, Reset(EARLIEST))
    assert bench.asker.turn() == 0
    assert bench.asker.turn() == 100
    assert bench.metadata.updates == 2


def test_the_ends_of_a_log_are_asked_for_whatever_is_committed() -> None:
    """That is what can be fetched."""
    bench = Bench(TP)
    bench.client.offsets = lambda _tp, time: TimedOffset(10 if time == -2 else 20)
    bench.doubt()
    assert bench.asker.turn() == 0
    assert bench.client.listed == [
        ({TP: -2}, 3_000, IsolationLevel.READ_UNCOMMITTED),
        ({TP: -1}, 3_000, IsolationLevel.READ_UNCOMMITTED),
    ]
    trouble = bench.state().trouble
    assert trouble is not None
    assert "50" in str(trouble.error)


@pytest.mark.parametrize("failing_time", [-2, -1])
def test_one_end_of_a_log_that_is_not_told_is_asked_for_again(
    caplog: pytest.LogCaptureFixture, failing_time: int
) -> None:
    """By its code; after the pause, with more patience."""
    bench = Bench(TP)
    bench.client.offsets = lambda _tp, time: (
        ErrorCode.NOT_LEADER_FOR_PARTITION if time == failing_time else TimedOffset(10)
    )
    bench.doubt()
    bench.asker.turn()
    assert bench.state().trouble is None
    assert "t-0: ListOffsets: NOT_LEADER_FOR_PARTITION" in caplog.text
    bench.clock.advance(100)
    bench.asker.turn()
    assert [deadline for _, deadline, _ in bench.client.listed] == [3_000] * 2 + [6_000] * 2


@pytest.mark.parametrize("missing", [-2, -1])
def test_ends_without_offsets_are_no_answer(missing: int) -> None:
    """A lookup of either end that finds no offset counts as no response."""
    bench = Bench(TP)
    bench.client.offsets = lambda _tp, time: TimedOffset(-1 if time == missing else 10)
    bench.doubt()
    bench.asker.turn()
    assert bench.state().trouble is None
    assert bench.asker.turn() == 100


def test_the_end_of_an_epoch_is_asked_for_when_another_one_leads() -> None:
    """Of what was fetched last, by the epoch that leads now; what is well goes on."""
    bench = Bench(TP)
    bench.seek(TP, AtOffset(0))
    bench.shared.change(lambda states, now_ms: fetched(states, {TP: batch(0, 3, epoch=1)}, now_ms))
    bench.shared.change(lambda states, _: states.see(view({TP: OTHER}, epoch=2)))
    bench.client.end = EpochEnd(1, 3)
    assert bench.asker.turn() == 0
    assert bench.client.epochs == [({TP: (2, 1)}, 3_000)]
    assert not bench.state().unproven
