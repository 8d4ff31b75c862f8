"""Commits of the control thread: by the caller, by timer, at hand-overs, across sessions."""

import logging
from typing import Any

import pytest

from tests.support.control_bench import AUTO_COMMIT_MS, Group, consume_all
from zkconsumer.errors import ConsumerClosed, OffsetCommitFailed
from zkconsumer.membership.zookeeper.core import events as ev
from zkconsumer.membership.zookeeper.threads.messages import CommitRequest
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.streams.stream_queue import Closed

T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)


def test_the_callers_commit_covers_what_was_handed_over() -> None:
    """This includes the message in hand; the result is the number of partitions written."""
    group = Group()
    member = group.joined("a")
    member.deliver(T0, [0, 1, 2])
    member.consume(2)
    request = member.commit()
    group.settle()
    assert request.reply.wait(0) == (1, True)
    assert group.offset(0) == "2"


def test_an_offset_that_is_not_new_is_not_written() -> None:
    """A second commit of the same offset writes nothing."""
    group = Group()
    member = group.joined("a")
    member.deliver(T0, [0])
    member.consume(1)
    first, second = member.commit(), member.commit()
    group.settle()
    assert (first.reply.wait(0), second.reply.wait(0)) == ((1, True), (0, True))


def test_an_automatic_commit_does_not_undo_the_callers_commit() -> None:
    """The caller committed the message in hand, and a later automatic commit does not go back."""
    group = Group()
    member = group.joined("a")
    member.deliver(T0, [0, 1, 2])
    member.consume(2)
    member.commit()
    group.settle()
    group.pass_time(AUTO_COMMIT_MS)
    assert group.offset(0) == "2"
    assert consume_all(member.stream()) == [(0, 2)]
    group.pass_time(AUTO_COMMIT_MS)
    assert group.offset(0) == "3"


def test_an_automatic_commit_comes_after_its_interval_and_covers_consumed_messages() -> None:
    """It comes when the interval has passed, and leaves out the message in hand."""
    group = Group()
    member = group.joined("a")
    member.deliver(T0, [0, 1, 2])
    member.consume(2)
    group.pass_time(AUTO_COMMIT_MS - 1)
    assert group.offset(0) is None
    group.pass_time(1)
    assert group.offset(0) == "1"


def test_without_automatic_commits_only_the_caller_commits() -> None:
    """There is no commit by timer, at a hand-over, or at the end (KAFKA-919)."""
    group = Group()
    member = group.member("a", auto_commit=False)
    member.join({"t": 1})
    group.settle()
    member.deliver(T0, [0, 1])
    member.deliver(T1, [0, 1])
    assert len(consume_all(member.stream())) == 4
    group.pass_time(10 * AUTO_COMMIT_MS)
    second = group.joined("b")
    assert second.starts() == {T1: None}
    member.close()
    group.settle()
    assert (group.offset(0), group.offset(1)) == (None, None)


def test_a_commit_requested_during_a_rebalance_follows_it() -> None:
    """It covers what is owned by then; what was handed over was committed with the hand-over."""
    group = Group()
    first = group.joined("a")
    first.deliver(T0, [0])
    first.deliver(T1, [0])
    assert len(consume_all(first.stream())) == 2
    second = group.member("b")
    second.join({"t": 1})
    second.pump()  # it registers: the first one's watch fires, and the commit is queued after it
    request = first.commit()
    group.settle()
    assert request.reply.wait(0) == (1, True)
    assert (group.offset(0), group.offset(1)) == ("1", "1")
    assert group.owners() == {0: "g_a-0", 1: "g_b-0"}


def test_a_commit_that_fails_raises() -> None:
    """The error has the partitions; a later commit tries them again."""
    group = Group()
    member = group.joined("a")
    member.deliver(T0, [0])
    member.consume(1)
    group.server.disconnect(member.store.session_id)
    request = member.commit()
    group.settle()
    with pytest.raises(OffsetCommitFailed, match="t-0"):
        request.reply.wait(0)
    group.server.reconnect(member.store.session_id)
    request = member.commit()
    group.settle()
    assert request.reply.wait(0) == (1, True)
    assert group.offset(0) == "1"


def test_automatic_commits_wait_while_zookeeper_is_away(caplog: pytest.LogCaptureFixture) -> None:
    """No error, no write; the first one after the reconnect catches up."""
    group = Group()
    member = group.joined("a")
    member.deliver(T0, [0])
    consume_all(member.stream())
    group.server.disconnect(member.store.session_id)
    with caplog.at_level(logging.WARNING):
        group.pass_time(3 * AUTO_COMMIT_MS)
    assert group.offset(0) is None
    assert caplog.messages == []
    group.server.reconnect(member.store.session_id)
    group.pass_time(AUTO_COMMIT_MS)
    assert group.offset(0) == "1"


def test_an_automatic_commit_whose_response_is_lost_is_logged_and_repeated(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The offset may have been written; writing it again does no harm."""
    group = Group()
    member = group.joined("a")
    member.deliver(T0, [0])
    consume_all(member.stream())
    member.store.lose_replies(1)
    with caplog.at_level(logging.WARNING):
        group.pass_time(AUTO_COMMIT_MS)
    assert "auto-commit" in caplog.text
    group.pass_time(AUTO_COMMIT_MS)
    assert group.offset(0) == "1"
    assert member.owned()[T0].committed_offset == 1


def test_the_recovery_of_automatic_commits_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Repeated failures are logged once a minute, recovery once it has lasted ten seconds."""
    group = Group()
    member = group.joined("a")
    member.deliver(T0, list(range(40)))
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            member.consume(1)
            member.store.lose_replies(1)
            group.pass_time(AUTO_COMMIT_MS)
        assert sum("auto-commit" in line for line in caplog.messages) == 1
        for _ in range(11):
            member.consume(1)
            group.pass_time(AUTO_COMMIT_MS)
    assert caplog.messages[-1] == (
        "automatic commits: works again; it failed for 2 s; failures not logged: 2"
    )


# --- sessions ------------------------------------------------------------------------------------


def test_a_lost_session_voids_everything_and_is_replaced() -> None:
    """Delivery stops at once; nothing is committed, and reading starts at the committed offset."""
    group = Group()
    member = group.joined("a")
    member.deliver(T0, [0, 1, 2])
    member.consume(1)
    old = member.owned()
    group.server.expire(member.store.session_id)
    assert not any(claim.active for claim in old.values())
    assert group.owners() == {}
    group.settle()
    assert consume_all(member.stream()) == []
    assert group.owners() == {0: "g_a-0", 1: "g_a-0"}
    assert group.ids() == ["g_a"]
    assert group.offset(0) is None
    assert all(member.owned()[tp] is not claim for tp, claim in old.items())


def test_messages_consumed_in_a_lost_session_are_not_committed_after_it() -> None:
    """The offset of the next owner counts; a late commit covers only what is owned now."""
    group = Group()
    first = group.joined("a")
    first.deliver(T0, [0, 1, 2])
    assert len(consume_all(first.stream())) == 3
    group.server.expire(first.store.session_id)
    group.write("/consumers/g/offsets/t/0", b"2")  # its next owner, meanwhile
    late = first.commit()
    group.settle()
    assert late.reply.wait(0) == (0, True)
    assert group.offset(0) == "2"
    assert first.starts()[T0] == 2


def test_a_session_that_ends_while_disconnected_is_noticed_on_return() -> None:
    """Others took over meanwhile; the partitions are assigned again when it is back."""
    group = Group()
    first, second = group.joined("a"), group.joined("b")
    session = first.store.session_id
    group.server.disconnect(session)
    group.server.expire(session)
    group.settle()
    assert group.owners() == {0: "g_b-0", 1: "g_b-0"}
    group.server.reconnect(session)
    group.settle()
    assert group.owners() == {0: "g_a-0", 1: "g_b-0"}
    assert (set(first.owned()), set(second.owned())) == ({T0}, {T1})


def test_changes_missed_while_disconnected_are_seen_on_return() -> None:
    """Watches were lost with the connection; the session lives on, and so do the claims."""
    group = Group()
    member = group.joined("a")
    claim = member.owned()[T0]
    group.server.disconnect(member.store.session_id)
    group.set_topic("t", 3)
    group.settle()
    assert len(member.owned()) == 2
    group.server.reconnect(member.store.session_id)
    group.settle()
    assert len(member.owned()) == 3
    assert member.owned()[T0] is claim


def test_a_member_whose_session_is_lost_while_joining_joins_in_the_next_one() -> None:
    """The caller waits until the join in the next session succeeds."""
    group = Group()
    group.admin.ensure_paths(["/consumers/g/owners/t"])
    group.admin.create("/consumers/g/owners/t/0", b"g_x-0", ephemeral=True)
    member = group.member("a")
    request = member.join({"t": 1})
    group.settle()
    group.server.expire(member.store.session_id)
    group.settle()
    assert request.reply.wait(0) == (None, False)
    group.admin.delete_many(["/consumers/g/owners/t/0"])
    group.settle()
    assert request.reply.wait(0) == (None, True)


def test_nothing_is_registered_in_a_session_whose_start_was_not_reported_yet() -> None:
    """The late event of the old session's end would void what the new session claimed."""
    group = Group(delivery="queued")
    member = group.member("a")
    member.join({"t": 1})
    group.settle()
    group.server.deliver_all()
    group.settle()
    assert group.ids() == ["g_a"]
    group.server.expire(member.store.session_id)
    member.control.mailbox.put(ev.RebalanceTriggered(ev.RebalanceCause.MEMBERS))
    group.settle()
    assert (group.ids(), group.owners()) == ([], {})
    group.server.deliver_all()
    group.settle()
    assert group.ids() == ["g_a"]
    assert group.owners() == {0: "g_a-0", 1: "g_a-0"}
    assert set(member.owned()) == {T0, T1}


# --- the end -------------------------------------------------------------------------------------


def test_leaving_commits_releases_and_unregisters_with_the_session_still_open() -> None:
    """All nodes of the member are deleted, except for its offsets."""
    group = Group()
    member = group.joined("a")
    member.deliver(T0, [0, 1])
    consume_all(member.stream())
    request = member.close()
    group.settle()
    assert request.reply.wait(0) == (None, True)
    assert (group.ids(), group.owners(), group.offset(0)) == ([], {}, "2")
    assert member.control.done


def test_streams_end_when_the_member_leaves_and_deliver_nothing_more() -> None:
    """Queued messages are not delivered, as this would be after the last commit."""
    group = Group()
    member = group.joined("a")
    member.deliver(T0, [0, 1, 2])
    assert member.consume(1) == [(0, 0)]
    member.close()
    group.settle()
    with pytest.raises(StopIteration):
        next(member.stream())
    with pytest.raises(StopIteration):
        next(member.stream())
    assert group.offset(0) == "0"


def test_streams_end_before_any_request_to_zookeeper() -> None:
    """A ZooKeeper that does not respond must not block the callers' threads."""
    group = Group()
    member = group.joined("a")
    group.server.disconnect(member.store.session_id)
    request = member.close()
    group.settle()
    assert request.reply.wait(0) == (None, True)
    with pytest.raises(StopIteration):
        next(member.stream())


def test_streams_end_before_the_partitions_are_released() -> None:
    """A stream that reads on must not overlap with the partition's next owner."""
    group = Group()
    member = group.joined("a")
    seen: list[object] = []
    (queue,) = member.queues["t"]
    group.admin.exists_many(
        ["/consumers/g/owners/t/0"], watch=lambda *_: seen.append(queue.take(0))
    )
    member.close()
    group.settle()
    (item,) = seen
    assert isinstance(item, Closed)


def test_leaving_continues_when_a_step_fails(caplog: pytest.LogCaptureFixture) -> None:
    """The commit fails, and its nodes are deleted all the same."""
    group = Group()
    member = group.joined("a")
    member.deliver(T0, [0])
    consume_all(member.stream())
    member.store.lose_replies(1)
    member.close()
    with caplog.at_level(logging.WARNING):
        group.settle()
    assert "before handing over" in caplog.text
    assert (group.ids(), group.owners()) == ([], {})


def test_leaving_twice_is_leaving_once() -> None:
    """Both requests get a response, even one that comes after the end."""
    group = Group()
    member = group.joined("a")
    first, second = member.close(), member.close()
    group.settle()
    assert first.reply.wait(0) == (None, True)
    assert second.reply.wait(0) == (None, True)


def test_requests_that_wait_at_the_end_are_refused() -> None:
    """This is so for a join in progress, and for a request after the end."""
    group = Group()
    group.admin.ensure_paths(["/consumers/g/owners/t"])
    group.admin.create("/consumers/g/owners/t/0", b"g_x-0", ephemeral=True)
    member = group.member("a")
    joining = member.join({"t": 1})
    group.settle()
    member.close()
    commit = member.commit()
    group.settle()
    for reply in (joining.reply, commit.reply):
        with pytest.raises(ConsumerClosed, match="group g"):
            reply.wait(0)
    assert group.ids() == []


def test_leaving_before_joining_is_harmless() -> None:
    """No node was created, so none is left."""
    group = Group()
    member = group.member("a")
    request = member.close()
    group.settle()
    assert request.reply.wait(0) == (None, True)
    assert group.ids() == []


@pytest.mark.parametrize("retry", [True, False])
def test_explicit_offsets_are_retried_if_the_caller_wants_it(
    retry: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store gets the option, with and without offsets."""
    group = Group()
    member = group.joined("a")
    member.deliver(T0, [0])
    member.consume(1)
    received: list[bool] = []
    commit = member.offsets.commit

    def recording(*args: Any, retry: bool, rewind: bool) -> object:
        received.append(retry)
        return commit(*args, retry=retry, rewind=rewind)

    monkeypatch.setattr(member.offsets, "commit", recording)
    for offsets in ({T0: OffsetAndMetadata(1)}, None):
        member.control.mailbox.put(CommitRequest(offsets, retry=retry))
        member.deliver(T0, [1])
        member.consume(1)
        group.settle()
    assert received == [retry, retry]
