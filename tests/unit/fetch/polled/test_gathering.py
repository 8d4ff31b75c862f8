"""A poll waits for the first response about each newly assigned partition, within a limit."""

from tests.support.polled import (
    BROKER,
    OTHER,
    TP,
    TP1,
    batch,
    part,
    plan,
    response,
    states_of,
    view,
)
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import AuthenticationFailed
from zkconsumer.fetch.core.partition_states import PartitionStates
from zkconsumer.fetch.core.starts import PositionView
from zkconsumer.fetch.polled.collecting import MOST_MS, gathering_wait_ms


def remaining_ms(states: PartitionStates, now_ms: int = 0, enough: int = 500) -> int:
    """Return how much longer a poll waits."""
    return gathering_wait_ms(states, now_ms, enough=enough)


def one_of_two() -> PartitionStates:
    """Build two partitions of two brokers, of which one has responded."""
    states = states_of(TP, TP1, fresh=True)
    states.see(view({TP: BROKER, TP1: OTHER}))
    response(states, plan(states), {TP: part(TP, batch(0, 3))})
    return states


def test_a_poll_waits_for_the_first_response_about_each_partition() -> None:
    """A response without records counts, and wakes the caller."""
    states = one_of_two()
    assert remaining_ms(states) == MOST_MS
    states.take_effects()
    response(states, plan(states, broker=OTHER), {TP1: part(TP1)})
    assert states.take_effects().notify_caller
    assert remaining_ms(states) == 0


def test_a_poll_waits_once_and_no_longer_than_the_limit() -> None:
    """A broker that hangs delays other records only once, by the limit."""
    states = one_of_two()
    assert remaining_ms(states, 1_000) == MOST_MS
    assert remaining_ms(states, 1_000 + MOST_MS - 1) == 1
    assert remaining_ms(states, 1_000 + MOST_MS) == 0
    assert remaining_ms(states, 1_000 + MOST_MS) == 0


def test_the_limit_counts_from_the_first_records() -> None:
    """Without any records to return there is no such wait."""
    states = states_of(TP, TP1, fresh=True)
    assert remaining_ms(states, 10_000) == 0
    response(states, plan(states), {TP: part(TP, batch(0, 3))})
    assert remaining_ms(states, 20_000) == MOST_MS


def test_a_poll_with_enough_records_does_not_wait() -> None:
    """It could not return more."""
    states = one_of_two()
    assert remaining_ms(states, enough=4) == MOST_MS
    assert remaining_ms(states, enough=3) == 0


def test_partitions_that_cannot_respond_are_not_waited_for() -> None:
    """Paused, leaderless, failed, removed or refused partitions do not count."""
    states = one_of_two()
    states.pause([TP1])
    assert remaining_ms(states) == 0
    states.resume([TP1])
    assert remaining_ms(states) == MOST_MS
    states.see(view({TP: BROKER}))
    assert remaining_ms(states) == 0
    for change in (
        lambda states: states.broker_lost(OTHER),
        lambda states: states.remove([TP1]),
        lambda states: states.broker_refuses(OTHER, AuthenticationFailed("no")),
        lambda states: response(
            states,
            plan(states, broker=OTHER),
            {TP1: part(TP1, error_code=ErrorCode.NOT_LEADER_FOR_PARTITION)},
        ),
    ):
        states = one_of_two()
        change(states)
        assert remaining_ms(states) == 0


def test_brokers_respond_about_new_partitions_at_once() -> None:
    """Otherwise empty ones would delay the others by the broker's wait."""
    states = states_of(TP, fresh=True)
    planned = plan(states)
    assert planned.max_wait_ms == 0
    response(states, planned, {TP: part(TP)})
    assert plan(states).max_wait_ms == states.settings.max_wait_ms


def test_a_seek_starts_no_such_wait() -> None:
    """Only an assignment does, so later polls keep their latency."""
    states = states_of(TP, TP1)
    states.seek(TP, PositionView(5))
    response(states, plan(states), {TP: part(TP, batch(5, 1))})
    assert remaining_ms(states) == 0
