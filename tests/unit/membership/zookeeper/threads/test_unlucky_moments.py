"""Failed releases, withdrawals without ZooKeeper, and refused commits lose and block nothing."""

import pytest

from tests.support.control_bench import (
    AUTO_COMMIT_MS,
    BACKOFF_MS,
    ControlledMember,
    Group,
    consume_all,
    own_as_stranger,
)
from tests.support.recording_listener import RecordingListener
from zkconsumer.errors import RegistryError
from zkconsumer.membership.zookeeper.core import events as ev
from zkconsumer.model import ConsumerThreadId, TopicPartition
from zkconsumer.observe import RebalanceGivenUp
from zkconsumer.streams.delivery import Delivery

T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)


def fail(_reported: object) -> None:
    """Raise, as a listener with a bug does."""
    raise ZeroDivisionError("a bug of the caller")


def listened(group: Group, *, auto_commit: bool = True) -> ControlledMember:
    """Join member a, with a listener that fails, and let it read partition 0 to the end."""
    member = group.member("a", auto_commit=auto_commit)
    member.listener.listener = RecordingListener(fail)
    member.join({"t": 1})
    group.settle()
    member.deliver(T0, [0, 1, 2])
    assert len(consume_all(member.stream())) == 3
    return member


def fail_next_release(member: ControlledMember) -> None:
    """Let ZooKeeper hang once, so that nothing is released."""
    release, failures = member.registry.release, [RegistryError("no answer within 6000 ms")]

    def hang_once(owned: dict[TopicPartition, ConsumerThreadId]) -> None:
        if failures:
            raise failures.pop()
        release(owned)

    member.registry.release = hang_once  # type: ignore[method-assign, assignment]


def test_messages_that_a_listener_did_not_finish_are_not_committed_after_a_failed_release() -> None:
    """The commit timer is due before the release is tried again."""
    group = Group()
    member = listened(group)
    fail_next_release(member)
    successor = group.member("0")
    successor.join({"t": 1})
    successor.pump()
    group.clock.advance(AUTO_COMMIT_MS)
    group.settle()
    group.pass_time(2 * BACKOFF_MS)
    assert group.offset(0) is None
    assert successor.starts() == {T0: None}


def test_messages_that_a_listener_did_not_finish_come_again_after_a_failed_release() -> None:
    """With the caller's own commits nobody committed it, so it is not skipped."""
    group = Group()
    member = listened(group, auto_commit=False)
    fail_next_release(member)
    other = group.member("0")
    other.join({"t": 1})
    other.pump()
    member.pump()
    other.close()
    group.settle()
    group.pass_time(2 * BACKOFF_MS)
    assert member.starts()[T0] is None


def test_a_member_that_withdraws_without_zookeeper_leaves_when_it_is_back() -> None:
    """A stale registration would keep its partitions from the others."""
    group = Group()
    member = group.joined("a")
    group.server.disconnect(member.store.session_id)
    member.withdraw()
    group.settle()
    group.server.reconnect(member.store.session_id)
    group.settle()
    assert (group.ids(), group.owners()) == ([], {})


def test_partitions_that_a_withdrawal_could_not_release_are_released_by_the_next_join() -> None:
    """Nobody else would ever get partitions of topics that the next join does not read."""
    group = Group()
    group.set_topic("u", 2)
    member = group.joined("a")
    group.server.disconnect(member.store.session_id)
    member.withdraw()
    group.settle()
    group.server.reconnect(member.store.session_id)
    member.join({"u": 1})
    group.settle()
    other = group.joined("b")
    assert set(other.owned()) == {T0, T1}


def test_a_join_given_up_late_does_not_withdraw_the_next_one() -> None:
    """The caller's time is over, and it joins again in the turn in which the core gives up."""
    group = Group()
    nodes = own_as_stranger(group, 0)
    member = group.member("a", max_retries=1)
    member.join({"t": 1})
    group.settle()
    group.clock.advance(2 * BACKOFF_MS)
    member.withdraw()
    again = member.join({"t": 1})
    member.control._feed(ev.DeadlineReached())  # the turn in progress
    group.admin.delete_many(nodes)
    group.settle()
    assert again.reply.wait(0) == (None, True)
    assert group.ids() == [member.consumer_id]


def test_refused_commits_do_not_delay_giving_up() -> None:
    """They wake the member each time, but the attempts in between count."""
    group = Group()
    member = group.joined("a")
    member.deliver(T0, list(range(100)))
    member.consume(2)
    group.pass_time(AUTO_COMMIT_MS)
    group.write("/consumers/g/offsets/t/0", b"5000")
    group.set_topic("t", 3)
    own_as_stranger(group, 2)
    for _ in range(40):
        member.consume(1)
        group.pass_time(AUTO_COMMIT_MS)
    assert len(member.observed.of(RebalanceGivenUp)) == 1


def test_a_commit_ahead_does_not_go_back_before_the_callers_offset() -> None:
    """Only the caller may go back."""
    group = Group()
    member = group.joined("a", delivery=Delivery.AT_MOST_ONCE)
    member.deliver(T0, [0, 1, 2])
    member.consume(1)
    member.commit({T0: 1000})
    group.settle()
    member.deliver(T0, [3, 4, 5])
    member.consume(3)
    assert group.offset(0) == "1000"


@pytest.mark.parametrize("named", [3, 1000])
def test_a_commit_ahead_follows_a_truncated_log(named: int) -> None:
    """The offsets that were named or committed belong to the log before the truncation."""
    group = Group()
    member = group.joined("a", delivery=Delivery.AT_MOST_ONCE)
    member.deliver(T0, [0, 1, 2])
    member.consume(3)
    member.commit({T0: named})
    group.settle()
    member.deliver(T0, [1, 2])
    member.consume(1)
    assert group.offset(0) == "3"
    member.consume(1)
    member.deliver(T0, [0])
    member.consume(1)
    assert group.offset(0) == "1"


def test_at_most_once_hands_over_nothing_before_the_offset_of_others() -> None:
    """Another member got those messages; later ones are delivered as usual."""
    group = Group()
    member = group.joined("a", delivery=Delivery.AT_MOST_ONCE)
    group.write("/consumers/g/offsets/t/0", b"3")
    member.deliver(T0, [0, 1])
    assert consume_all(member.stream()) == []
    member.deliver(T0, [3, 4])
    assert consume_all(member.stream()) == [(0, 3), (0, 4)]
    assert group.offset(0) == "5"
