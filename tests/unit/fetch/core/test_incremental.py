"""Fetch sessions: what is named in a request, and what becomes of the session."""

from dataclasses import replace

import pytest

from tests.support.polled import TP, TP1, asked_of
from zkconsumer.error_codes import ErrorCode
from zkconsumer.fetch.core.completed import PartitionRequest
from zkconsumer.fetch.core.incremental import FetchSessionState
from zkconsumer.model import TopicPartition

_LAST = (1 << 31) - 1
U = TopicPartition("u", 0)
T_ID, U_ID, NEW_ID = (bytes([number]) * 16 for number in (1, 2, 3))


def begun(session_id: int = 7) -> FetchSessionState:
    """A book whose session has both partitions, at offset 0."""
    claims = FetchSessionState()
    step = claims.next({TP: asked_of(), TP1: asked_of(TP1)})
    assert claims.on_response(step, 0, session_id, [TP, TP1])
    return claims


def test_the_first_fetch_names_all_and_asks_for_a_session() -> None:
    """With id 0 and epoch 0."""
    step = FetchSessionState().next({TP: asked_of()})
    assert (step.session_id, step.epoch, step.is_full) == (0, 0, True)
    assert list(step.send) == [TP]


def test_later_ones_name_what_changed_and_what_is_unwanted() -> None:
    """And the epoch counts up."""
    claims = begun()
    step = claims.next({TP: asked_of(offset=5)})
    assert (step.session_id, step.epoch) == (7, 1)
    assert list(step.send) == [TP]
    assert step.forget == (TP1,)
    assert claims.on_response(step, 0, 7, [TP])
    step = claims.next({TP: asked_of(offset=5)})
    assert (step.epoch, dict(step.send), step.forget) == (2, {}, ())


def test_an_answer_about_some_partitions_counts() -> None:
    """Those without news are left out."""
    claims = begun()
    step = claims.next({TP: asked_of(offset=1), TP1: asked_of(TP1)})
    assert claims.on_response(step, 0, 7, [])


def test_after_a_lost_answer_all_is_named_and_the_old_session_closed() -> None:
    """Its id, with epoch 0: nobody knows what the broker knows."""
    claims = begun()
    claims.next({TP: asked_of(offset=1), TP1: asked_of(TP1)})
    claims.lost()
    step = claims.next({TP: asked_of(offset=1), TP1: asked_of(TP1)})
    assert (step.session_id, step.epoch, list(step.send)) == (7, 0, [TP, TP1])


def test_an_evicted_session_is_begun_anew_without_its_id() -> None:
    """It is gone: there is nothing to close."""
    claims = begun()
    step = claims.next({TP: asked_of()})
    assert not claims.on_response(step, ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0, [])
    step = claims.next({TP: asked_of()})
    assert (step.session_id, step.epoch) == (0, 0)


def test_another_idea_of_the_epoch_closes_the_session() -> None:
    """By asking for a new one with its id."""
    claims = begun()
    step = claims.next({TP: asked_of()})
    assert not claims.on_response(step, ErrorCode.INVALID_FETCH_SESSION_EPOCH, 0, [])
    step = claims.next({TP: asked_of()})
    assert (step.session_id, step.epoch) == (7, 0)


def test_a_broker_without_room_for_a_session_is_asked_fully_again() -> None:
    """Its answer counts, but the next fetch names all."""
    claims = FetchSessionState()
    step = claims.next({TP: asked_of()})
    assert claims.on_response(step, 0, 0, [TP])
    assert claims.next({TP: asked_of(offset=3)}).is_full


def test_a_full_answer_that_lacks_a_partition_begins_no_session() -> None:
    """What it brought counts all the same."""
    claims = FetchSessionState()
    step = claims.next({TP: asked_of(), TP1: asked_of(TP1)})
    assert claims.on_response(step, 0, 7, [TP])
    step = claims.next({TP: asked_of(), TP1: asked_of(TP1)})
    assert (step.session_id, step.epoch) == (7, 0)


def test_an_answer_about_what_nobody_wants_does_not_count() -> None:
    """The two sides differ about the session."""
    claims = begun()
    step = claims.next({TP: asked_of()})
    assert not claims.on_response(step, 0, 7, [TP1])
    assert claims.next({TP: asked_of()}).epoch == 0


def test_the_epoch_goes_round() -> None:
    """Behind the largest comes 1: 0 would begin a session."""
    claims = begun()
    claims._epoch = _LAST
    step = claims.next({TP: asked_of(), TP1: asked_of(TP1)})
    assert claims.on_response(step, 0, 7, [])
    assert claims.next({TP: asked_of(), TP1: asked_of(TP1)}).epoch == 1


def test_old_brokers_get_everything_each_time() -> None:
    """Before version 7 there are no sessions."""
    claims = FetchSessionState()
    for _ in range(2):
        step = claims.next({TP: asked_of()}, has_sessions=False)
        assert (step.session_id, step.epoch, list(step.send)) == (0, -1, [TP])
        assert claims.on_response(step, 0, 0, [TP])


Wanted = dict[TopicPartition, PartitionRequest]


def wanted_of(offset: int = 0, **topic_ids: bytes) -> Wanted:
    """Partition 0 of each of these topics, whose ids are known."""
    return {
        tp: replace(asked_of(tp, offset), topic_id=topic_id)
        for topic, topic_id in topic_ids.items()
        for tp in (TopicPartition(topic, 0),)
    }


def begun_with(wanted: Wanted, *, by_id: bool) -> FetchSessionState:
    """A book whose session has these, at offset 0."""
    claims = FetchSessionState()
    step = claims.next(wanted, by_id=by_id)
    assert step.by_id is by_id
    assert claims.on_response(step, 0, 7, wanted)
    return claims


def test_a_session_whose_topics_keep_their_ids_goes_on() -> None:
    """A topic that comes, or goes, changes nothing of that; the broker names all by their ids."""
    claims = begun_with(wanted_of(t=T_ID), by_id=True)
    step = claims.next(wanted_of(5, t=T_ID, u=U_ID), by_id=True)
    assert (step.session_id, step.epoch, step.forget) == (7, 1, ())
    assert list(step.send) == [TP, U]
    assert (step.topic_id("t"), step.topic_id("u")) == (T_ID, U_ID)
    assert claims.on_response(step, 0, 7, [U])
    step = claims.next(wanted_of(5, u=U_ID), by_id=True)
    assert (step.session_id, step.epoch, step.forget) == (7, 2, (TP,))
    assert (step.topic_id("t"), step.topic_id("u")) == (T_ID, U_ID)
    assert claims.on_response(step, 0, 7, [])
    step = claims.next(wanted_of(5, t=NEW_ID, u=U_ID), by_id=True)
    assert (step.session_id, step.epoch, list(step.send)) == (7, 3, [TP])


@pytest.mark.parametrize(
    ("was_by_id", "wanted", "by_id"),
    [
        (True, wanted_of(t=NEW_ID, u=U_ID), True),
        (True, wanted_of(t=T_ID, u=U_ID), False),
        (False, wanted_of(t=T_ID, u=U_ID), True),
    ],
    ids=["another-id", "by-name", "by-id"],
)
def test_topics_that_are_named_otherwise_begin_a_new_session(
    was_by_id: bool, wanted: Wanted, by_id: bool
) -> None:
    """Which closes the former one: a broker knows a session's topics by what they were named."""
    claims = begun_with(wanted_of(t=T_ID, u=U_ID), by_id=was_by_id)
    step = claims.next(wanted, by_id=by_id)
    assert (step.session_id, step.epoch, list(step.send)) == (7, 0, [TP, U])
    assert step.by_id is by_id
