"""A poll waits for the first answer about each partition that was just assigned, and no more."""

from tests.support.polled import BROKER, OTHER, TP, TP1, answer, batch, board_of, part, plan, view
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import AuthenticationFailed
from zkconsumer.fetch.polled.gathering import MOST_MS, gather_ms
from zkconsumer.fetch.polled.partition_states import PartitionStates
from zkconsumer.fetch.polled.starts import AtOffset


def left(board: PartitionStates, now_ms: int = 0, enough: int = 500) -> int:
    """How much longer a poll waits."""
    return gather_ms(board, now_ms, enough=enough)


def one_of_two() -> PartitionStates:
    """Two partitions of two brokers, of which one has answered."""
    board = board_of(TP, TP1, fresh=True)
    board.see(view({TP: BROKER, TP1: OTHER}))
    answer(board, plan(board), {TP: part(TP, batch(0, 3))})
    return board


def test_a_poll_waits_until_each_partition_has_been_heard_of() -> None:
    """Also one that has nothing; it rings the bell."""
    board = one_of_two()
    assert left(board) == MOST_MS
    board.take_effects()
    answer(board, plan(board, broker=OTHER), {TP1: part(TP1)})
    assert board.take_effects().tell_caller
    assert left(board) == 0


def test_it_waits_no_longer_than_the_bound_and_only_once() -> None:
    """A broker that hangs holds up the others' records for that long, and later ones not at all."""
    board = one_of_two()
    assert left(board, 1_000) == MOST_MS
    assert left(board, 1_000 + MOST_MS - 1) == 1
    assert left(board, 1_000 + MOST_MS) == 0
    assert left(board, 1_000 + MOST_MS) == 0


def test_nothing_is_waited_for_while_there_is_nothing_to_hand_out() -> None:
    """The bound counts from the first records."""
    board = board_of(TP, TP1, fresh=True)
    assert left(board, 10_000) == 0
    answer(board, plan(board), {TP: part(TP, batch(0, 3))})
    assert left(board, 20_000) == MOST_MS


def test_enough_records_wait_for_nobody() -> None:
    """A poll could not hand out more."""
    board = one_of_two()
    assert left(board, enough=4) == MOST_MS
    assert left(board, enough=3) == 0


def test_what_can_not_answer_is_not_waited_for() -> None:
    """Paused, without a leader, failed, of a broker that is gone, given up, or refused."""
    board = one_of_two()
    board.pause([TP1])
    assert left(board) == 0
    board.resume([TP1])
    assert left(board) == MOST_MS
    board.see(view({TP: BROKER}))
    assert left(board) == 0
    for happens in (
        lambda board: board.broker_lost(OTHER),
        lambda board: board.remove([TP1]),
        lambda board: board.broker_refuses(OTHER, AuthenticationFailed("no")),
        lambda board: answer(
            board,
            plan(board, broker=OTHER),
            {TP1: part(TP1, error_code=ErrorCode.NOT_LEADER_FOR_PARTITION)},
        ),
    ):
        board = one_of_two()
        happens(board)
        assert left(board) == 0


def test_brokers_answer_about_fresh_partitions_at_once() -> None:
    """Else those without records would hold up the others for as long as a broker may wait."""
    board = board_of(TP, fresh=True)
    planned = plan(board)
    assert planned.max_wait_ms == 0
    answer(board, planned, {TP: part(TP)})
    assert plan(board).max_wait_ms == board.settings.max_wait_ms


def test_a_seek_gathers_nothing() -> None:
    """Only what was assigned does: later polls have their usual latency."""
    board = board_of(TP, TP1)
    board.seek(TP, AtOffset(5))
    answer(board, plan(board), {TP: part(TP, batch(5, 1))})
    assert left(board) == 0
