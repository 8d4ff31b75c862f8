"""A poll waits for the first answer about each partition that was just assigned, and no more."""

from tests.support.polled import BROKER, OTHER, TP, TP1, batch, board_of, part, plan, response, view
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import AuthenticationFailed
from zkconsumer.fetch.core.partition_states import PartitionStates
from zkconsumer.fetch.core.starts import AtOffset
from zkconsumer.fetch.polled.collecting import MOST_MS, gather_ms


def left(states: PartitionStates, now_ms: int = 0, enough: int = 500) -> int:
    """How much longer a poll waits."""
    return gather_ms(states, now_ms, enough=enough)


def one_of_two() -> PartitionStates:
    """Two partitions of two brokers, of which one has answered."""
    states = board_of(TP, TP1, fresh=True)
    states.see(view({TP: BROKER, TP1: OTHER}))
    response(states, plan(states), {TP: part(TP, batch(0, 3))})
    return states


def test_a_poll_waits_until_each_partition_has_been_heard_of() -> None:
    """A response without records counts, too, and wakes the caller."""
    states = one_of_two()
    assert left(states) == MOST_MS
    states.take_effects()
    response(states, plan(states, broker=OTHER), {TP1: part(TP1)})
    assert states.take_effects().notify_caller
    assert left(states) == 0


def test_it_waits_no_longer_than_the_bound_and_only_once() -> None:
    """A broker that hangs holds up the others' records for that long, and later ones not at all."""
    states = one_of_two()
    assert left(states, 1_000) == MOST_MS
    assert left(states, 1_000 + MOST_MS - 1) == 1
    assert left(states, 1_000 + MOST_MS) == 0
    assert left(states, 1_000 + MOST_MS) == 0


def test_nothing_is_waited_for_while_there_is_nothing_to_hand_out() -> None:
    """The bound counts from the first records."""
    states = board_of(TP, TP1, fresh=True)
    assert left(states, 10_000) == 0
    response(states, plan(states), {TP: part(TP, batch(0, 3))})
    assert left(states, 20_000) == MOST_MS


def test_enough_records_wait_for_nobody() -> None:
    """A poll could not hand out more."""
    states = one_of_two()
    assert left(states, enough=4) == MOST_MS
    assert left(states, enough=3) == 0


def test_what_can_not_answer_is_not_waited_for() -> None:
    """Paused, without a leader, failed, of a broker that is gone, given up, or refused."""
    states = one_of_two()
    states.pause([TP1])
    assert left(states) == 0
    states.resume([TP1])
    assert left(states) == MOST_MS
    states.see(view({TP: BROKER}))
    assert left(states) == 0
    for happens in (
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
        happens(states)
        assert left(states) == 0


def test_brokers_answer_about_fresh_partitions_at_once() -> None:
    """Else those without records would hold up the others for as long as a broker may wait."""
    states = board_of(TP, fresh=True)
    planned = plan(states)
    assert planned.max_wait_ms == 0
    response(states, planned, {TP: part(TP)})
    assert plan(states).max_wait_ms == states.settings.max_wait_ms


def test_a_seek_gathers_nothing() -> None:
    """Only what was assigned does: later polls have their usual latency."""
    states = board_of(TP, TP1)
    states.seek(TP, AtOffset(5))
    response(states, plan(states), {TP: part(TP, batch(5, 1))})
    assert left(states) == 0
