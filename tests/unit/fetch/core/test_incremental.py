"""Fetch sessions: what a request names, and what becomes of the session."""

from dataclasses import replace

import pytest

from tests.support.polled import TP, TP1, request_of
from zkconsumer.error_codes import ErrorCode
from zkconsumer.fetch.core.completed import PartitionRequest
from zkconsumer.fetch.core.incremental import FetchSessionState
from zkconsumer.model import TopicPartition

_LAST = (1 << 31) - 1
U = TopicPartition("u", 0)
T_ID, U_ID, NEW_ID = (bytes([number]) * 16 for number in (1, 2, 3))


def begun(session_id: int = 7) -> FetchSessionState:
    """Build a state whose session has both partitions, at offset 0."""
    session = FetchSessionState()
    step = session.next({TP: request_of(), TP1: request_of(TP1)})
    assert session.on_response(step, 0, session_id, [TP, TP1])
    return session


def test_the_first_fetch_names_all_and_requests_a_session() -> None:
    """It has session id 0 and epoch 0."""
    step = FetchSessionState().next({TP: request_of()})
    assert (step.session_id, step.epoch, step.is_full) == (0, 0, True)
    assert list(step.send) == [TP]


def test_later_fetches_name_changed_and_removed_partitions() -> None:
    """The epoch increases with each request."""
    session = begun()
    step = session.next({TP: request_of(offset=5)})
    assert (step.session_id, step.epoch) == (7, 1)
    assert list(step.send) == [TP]
    assert step.forget == (TP1,)
    assert session.on_response(step, 0, 7, [TP])
    step = session.next({TP: request_of(offset=5)})
    assert (step.epoch, dict(step.send), step.forget) == (2, {}, ())


def test_a_response_may_leave_out_unchanged_partitions() -> None:
    """Partitions without news are left out."""
    session = begun()
    step = session.next({TP: request_of(offset=1), TP1: request_of(TP1)})
    assert session.on_response(step, 0, 7, [])


def test_after_a_lost_response_a_new_session_replaces_the_old_one() -> None:
    """With its id and epoch 0 all partitions are named: the broker's state is unknown."""
    session = begun()
    session.next({TP: request_of(offset=1), TP1: request_of(TP1)})
    session.on_response_lost()
    step = session.next({TP: request_of(offset=1), TP1: request_of(TP1)})
    assert (step.session_id, step.epoch, list(step.send)) == (7, 0, [TP, TP1])


def test_an_evicted_session_is_replaced_without_its_id() -> None:
    """It no longer exists, so there is nothing to close."""
    session = begun()
    step = session.next({TP: request_of()})
    assert not session.on_response(step, ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0, [])
    step = session.next({TP: request_of()})
    assert (step.session_id, step.epoch) == (0, 0)


def test_an_epoch_mismatch_closes_the_session() -> None:
    """The next request asks for a new session with the old id."""
    session = begun()
    step = session.next({TP: request_of()})
    assert not session.on_response(step, ErrorCode.INVALID_FETCH_SESSION_EPOCH, 0, [])
    step = session.next({TP: request_of()})
    assert (step.session_id, step.epoch) == (7, 0)


def test_without_a_session_the_next_fetch_is_full() -> None:
    """A broker without capacity for a session still returns records."""
    session = FetchSessionState()
    step = session.next({TP: request_of()})
    assert session.on_response(step, 0, 0, [TP])
    assert session.next({TP: request_of(offset=3)}).is_full


def test_a_full_response_without_a_partition_starts_no_session() -> None:
    """The records that it brought count all the same."""
    session = FetchSessionState()
    step = session.next({TP: request_of(), TP1: request_of(TP1)})
    assert session.on_response(step, 0, 7, [TP])
    step = session.next({TP: request_of(), TP1: request_of(TP1)})
    assert (step.session_id, step.epoch) == (7, 0)


def test_a_response_with_unwanted_partitions_is_ignored() -> None:
    """The two sides disagree about the session."""
    session = begun()
    step = session.next({TP: request_of()})
    assert not session.on_response(step, 0, 7, [TP1])
    assert session.next({TP: request_of()}).epoch == 0


def test_the_epoch_wraps_around_to_one() -> None:
    """0 would start a new session."""
    session = begun()
    session._epoch = _LAST
    step = session.next({TP: request_of(), TP1: request_of(TP1)})
    assert session.on_response(step, 0, 7, [])
    assert session.next({TP: request_of(), TP1: request_of(TP1)}).epoch == 1


def test_old_brokers_get_full_requests() -> None:
    """There are no sessions before version 7."""
    session = FetchSessionState()
    for _ in range(2):
        step = session.next({TP: request_of()}, has_sessions=False)
        assert (step.session_id, step.epoch, list(step.send)) == (0, -1, [TP])
        assert session.on_response(step, 0, 0, [TP])


Wanted = dict[TopicPartition, PartitionRequest]


def wanted_of(offset: int = 0, **topic_ids: bytes) -> Wanted:
    """Return requests for partition 0 of each of these topics, with their ids."""
    return {
        tp: replace(request_of(tp, offset), topic_id=topic_id)
        for topic, topic_id in topic_ids.items()
        for tp in (TopicPartition(topic, 0),)
    }


def begun_with(wanted: Wanted, *, by_id: bool) -> FetchSessionState:
    """Build a state whose session has these partitions."""
    session = FetchSessionState()
    step = session.next(wanted, by_id=by_id)
    assert step.by_id is by_id
    assert session.on_response(step, 0, 7, wanted)
    return session


def test_a_session_continues_while_its_topics_keep_their_ids() -> None:
    """Topics may be added and removed; all are named by their ids."""
    session = begun_with(wanted_of(t=T_ID), by_id=True)
    step = session.next(wanted_of(5, t=T_ID, u=U_ID), by_id=True)
    assert (step.session_id, step.epoch, step.forget) == (7, 1, ())
    assert list(step.send) == [TP, U]
    assert (step.topic_id("t"), step.topic_id("u")) == (T_ID, U_ID)
    assert session.on_response(step, 0, 7, [U])
    step = session.next(wanted_of(5, u=U_ID), by_id=True)
    assert (step.session_id, step.epoch, step.forget) == (7, 2, (TP,))
    assert (step.topic_id("t"), step.topic_id("u")) == (T_ID, U_ID)
    assert session.on_response(step, 0, 7, [])
    step = session.next(wanted_of(5, t=NEW_ID, u=U_ID), by_id=True)
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
def test_topics_with_other_ids_start_a_new_session(
    was_by_id: bool, wanted: Wanted, by_id: bool
) -> None:
    """It closes the former one, in which the broker knows topics by their first names or ids."""
    session = begun_with(wanted_of(t=T_ID, u=U_ID), by_id=was_by_id)
    step = session.next(wanted, by_id=by_id)
    assert (step.session_id, step.epoch, list(step.send)) == (7, 0, [TP, U])
    assert step.by_id is by_id
