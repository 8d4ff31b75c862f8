"""A listener that fails or is slow breaks neither its member nor the group."""

import pytest

from tests.support.control_bench import AUTO_COMMIT_MS, ControlledMember, Group, consume_all
from tests.support.recording_listener import RecordingListener, Share
from zkconsumer.errors import OffsetCommitFailed
from zkconsumer.model import TopicPartition
from zkconsumer.observe import ErrorSeen, RebalanceStep

T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)


def listened(group: Group, listener: RecordingListener, **settings: bool) -> ControlledMember:
    """Join member a with this listener."""
    member = group.member("a", auto_commit=settings.get("auto_commit", True))
    member.listener.listener = listener
    member.join({"t": 1})
    group.settle()
    return member


def fail(_reported: object) -> None:
    """Raise, as a listener with a bug does."""
    raise ZeroDivisionError("a bug of the caller")


def errors_of(member: ControlledMember) -> list[tuple[str, str]]:
    """Return where errors occurred, and their messages."""
    return [
        (error_seen.where, str(error_seen.error)) for error_seen in member.observed.of(ErrorSeen)
    ]


def test_an_error_before_a_release_prevents_the_automatic_commit_of_what_leaves() -> None:
    """The rebalance completes, observers get the error, and unfinished messages come again."""
    group = Group()
    member = listened(group, RecordingListener(fail))
    member.deliver(T0, [0, 1, 2])
    member.deliver(T1, [0, 1, 2])
    assert len(consume_all(member.stream())) == 6
    successor = group.joined("0")
    assert group.owners() == {0: "g_0-0", 1: "g_a-0"}
    assert successor.starts() == {T0: None}
    assert errors_of(member) == [("listener before a release", "a bug of the caller")]
    group.pass_time(AUTO_COMMIT_MS)
    assert (group.offset(0), group.offset(1)) == (None, "3")


def test_unfinished_messages_come_again_even_if_the_same_member_gets_the_partition_back() -> None:
    """Nobody else read the partition meanwhile, and the member's position must not skip them."""
    group = Group()
    member = listened(group, RecordingListener(fail))
    member.deliver(T0, [0, 1, 2])
    assert len(consume_all(member.stream())) == 3
    other = group.joined("0")
    other.close()
    group.settle()
    assert member.starts()[T0] is None


def test_an_error_in_a_shutdown_does_not_prevent_leaving() -> None:
    """Everything is released, and nothing committed."""
    group = Group()
    member = listened(group, RecordingListener(fail))
    member.deliver(T0, [0, 1, 2])
    assert len(consume_all(member.stream())) == 3
    request = member.close()
    group.settle()
    assert request.reply.wait(0) == (None, True)
    assert (group.ids(), group.owners(), group.offset(0)) == ([], {}, None)


def test_an_error_before_a_start_does_not_prevent_the_start() -> None:
    """Joining and later rebalances succeed in spite of the error."""
    group = Group()
    member = listened(group, RecordingListener(on_start=fail))
    assert set(member.starts()) == {T0, T1}
    group.joined("0")
    assert group.owners() == {0: "g_0-0", 1: "g_a-0"}
    assert errors_of(member) == [("listener before a start", "a bug of the caller")] * 2


def test_a_member_whose_listener_always_fails_goes_on_rebalancing() -> None:
    """Both methods fail in many rebalances, and the assignment is right each time."""
    group = Group(partitions=4)
    listened(group, RecordingListener(fail, fail))
    for name in ("b", "0", "c"):
        other = group.joined(name)
        assert sorted(set(group.owners().values())) == sorted({"g_a-0", f"g_{name}-0"})
        other.close()
        group.settle()
        assert set(group.owners().values()) == {"g_a-0"}


def test_a_slow_listener_delays_the_rebalance_and_nothing_else() -> None:
    """The time counts for the step that calls it; a commit that was due is made up for."""
    group = Group()
    member = listened(group, RecordingListener(lambda _share: group.clock.advance(7_000)))
    member.deliver(T1, [0, 1])
    assert len(consume_all(member.stream())) == 2
    group.joined("0")
    assert group.owners() == {0: "g_0-0", 1: "g_a-0"}
    steps = member.observed.of(RebalanceStep)
    assert {step.duration_ms for step in steps if step.step == "Commit"} == {7_000}
    assert {step.duration_ms for step in steps if step.step != "Commit"} == {0}
    assert group.offset(1) == "2"


def test_a_session_that_ends_during_the_call_prevents_commits() -> None:
    """Neither the automatic commit nor the listener's own is written; the member joins again."""
    group = Group()

    def lose(_share: Share) -> None:
        if len(listener.released) == 1:
            group.server.expire(member.store.session_id)
            with pytest.raises(OffsetCommitFailed):
                member.commit_inside()

    listener = RecordingListener(lose)
    member = listened(group, listener)
    member.deliver(T0, [0, 1, 2])
    assert len(consume_all(member.stream())) == 3
    other = group.joined("0")
    assert group.offset(0) is None
    assert other.starts() == {T0: None}
    assert group.owners() == {0: "g_0-0", 1: "g_a-0"}
    assert set(member.owned()) == {T1}
