"""A local clock that is set back: what is kept keeps its age."""

from dataclasses import replace

from tests.support.status import group_of, snapshot_of
from zkconsumer.model import TopicPartition
from zkconsumer.status.model import CommittedOffset, GroupPartition, MemberStatus, PartFailure, Seen
from zkconsumer.status.set_back import CLOCK_SET_BACK_MS, shift_times_back, was_set_back

TP = TopicPartition("t", 7)


def test_a_clock_was_set_back_if_it_falls_behind_the_monotonic_clock() -> None:
    """A clock was set back if it falls behind the monotonic clock in one step, not by slewing."""
    assert was_set_back(0, -CLOCK_SET_BACK_MS)
    assert not was_set_back(0, 1 - CLOCK_SET_BACK_MS)
    assert not was_set_back(0, CLOCK_SET_BACK_MS)


def test_times_of_the_local_clock_move_and_those_of_servers_do_not() -> None:
    """Times of the local clock are moved back at any depth, and those of servers are not."""

    def made(at_ms: int) -> object:
        committed = CommittedOffset(5, "zookeeper", at_ms, committed_ms=4)
        partition = GroupPartition(
            TP, owner_since_ms=3, committed=(committed,), log_at_ms=at_ms, next_written_ms=2
        )
        member = MemberStatus(member_id="m", registered_ms=1, created_ms=2)
        group = replace(group_of(partition, members=(member,)), seen_ms=at_ms)
        snapshot = snapshot_of(group, at_ms=at_ms, log_ends={TP: 9})
        failure = PartFailure(part="p", reason="r", since_ms=at_ms)
        return {"a": (snapshot, [1], None, Seen(frozenset({1}), at_ms)), "b": failure}

    assert shift_times_back(made(1_000), 300) == made(700)
