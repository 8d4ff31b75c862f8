"""Fetch sessions: what is named in a request, and what becomes of the session."""

from tests.support.polled import TP, TP1, asked_of
from zkconsumer.error_codes import ErrorCode
from zkconsumer.fetch.polled.incremental import FetchSessionState

_LAST = (1 << 31) - 1


def begun(session_id: int = 7) -> FetchSessionState:
    """A book whose session has both partitions, at offset 0."""
    book = FetchSessionState()
    step = book.next({TP: asked_of(), TP1: asked_of(TP1)})
    assert book.answered(step, 0, session_id, [TP, TP1])
    return book


def test_the_first_fetch_names_all_and_asks_for_a_session() -> None:
    """With id 0 and epoch 0."""
    step = FetchSessionState().next({TP: asked_of()})
    assert (step.session_id, step.epoch, step.is_full) == (0, 0, True)
    assert list(step.send) == [TP]


def test_later_ones_name_what_changed_and_what_is_unwanted() -> None:
    """And the epoch counts up."""
    book = begun()
    step = book.next({TP: asked_of(offset=5)})
    assert (step.session_id, step.epoch) == (7, 1)
    assert list(step.send) == [TP]
    assert step.forget == (TP1,)
    assert book.answered(step, 0, 7, [TP])
    step = book.next({TP: asked_of(offset=5)})
    assert (step.epoch, dict(step.send), step.forget) == (2, {}, ())


def test_an_answer_about_some_partitions_counts() -> None:
    """Those without news are left out."""
    book = begun()
    step = book.next({TP: asked_of(offset=1), TP1: asked_of(TP1)})
    assert book.answered(step, 0, 7, [])


def test_after_a_lost_answer_all_is_named_and_the_old_session_closed() -> None:
    """Its id, with epoch 0: nobody knows what the broker knows."""
    book = begun()
    book.next({TP: asked_of(offset=1), TP1: asked_of(TP1)})
    book.lost()
    step = book.next({TP: asked_of(offset=1), TP1: asked_of(TP1)})
    assert (step.session_id, step.epoch, list(step.send)) == (7, 0, [TP, TP1])


def test_an_evicted_session_is_begun_anew_without_its_id() -> None:
    """It is gone: there is nothing to close."""
    book = begun()
    step = book.next({TP: asked_of()})
    assert not book.answered(step, ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0, [])
    step = book.next({TP: asked_of()})
    assert (step.session_id, step.epoch) == (0, 0)


def test_another_idea_of_the_epoch_closes_the_session() -> None:
    """By asking for a new one with its id."""
    book = begun()
    step = book.next({TP: asked_of()})
    assert not book.answered(step, ErrorCode.INVALID_FETCH_SESSION_EPOCH, 0, [])
    step = book.next({TP: asked_of()})
    assert (step.session_id, step.epoch) == (7, 0)


def test_a_broker_without_room_for_a_session_is_asked_fully_again() -> None:
    """Its answer counts, but the next fetch names all."""
    book = FetchSessionState()
    step = book.next({TP: asked_of()})
    assert book.answered(step, 0, 0, [TP])
    assert book.next({TP: asked_of(offset=3)}).is_full


def test_a_full_answer_that_lacks_a_partition_begins_no_session() -> None:
    """What it brought counts all the same."""
    book = FetchSessionState()
    step = book.next({TP: asked_of(), TP1: asked_of(TP1)})
    assert book.answered(step, 0, 7, [TP])
    step = book.next({TP: asked_of(), TP1: asked_of(TP1)})
    assert (step.session_id, step.epoch) == (7, 0)


def test_an_answer_about_what_nobody_wants_does_not_count() -> None:
    """The two sides differ about the session."""
    book = begun()
    step = book.next({TP: asked_of()})
    assert not book.answered(step, 0, 7, [TP1])
    assert book.next({TP: asked_of()}).epoch == 0


def test_the_epoch_goes_round() -> None:
    """Behind the largest comes 1: 0 would begin a session."""
    book = begun()
    book._epoch = _LAST
    step = book.next({TP: asked_of(), TP1: asked_of(TP1)})
    assert book.answered(step, 0, 7, [])
    assert book.next({TP: asked_of(), TP1: asked_of(TP1)}).epoch == 1


def test_old_brokers_get_everything_each_time() -> None:
    """Before version 7 there are no sessions."""
    book = FetchSessionState()
    for _ in range(2):
        step = book.next({TP: asked_of()}, has_sessions=False)
        assert (step.session_id, step.epoch, list(step.send)) == (0, -1, [TP])
        assert book.answered(step, 0, 0, [TP])
