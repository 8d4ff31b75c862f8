"""Where reading continues when a partition changes threads, or leaves and returns."""

from collections.abc import Callable

import pytest

from tests.support.control_bench import AUTO_COMMIT_MS, ControlledMember, Group, consume_all
from zkconsumer.model import TopicPartition
from zkconsumer.observe import PositionReset
from zkconsumer.streams.delivery import Delivery

T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)
OFFSET_0 = "/consumers/g/offsets/t/0"


def reading(
    group: Group, *, auto_commit: bool, streams: int = 1, take: int = 4
) -> ControlledMember:
    """Join member a, with messages 0 to 9 of partition 0 queued and some of them handed over."""
    member = group.joined("a", {"t": streams}, auto_commit=auto_commit)
    member.deliver(T0, range(10))
    assert member.consume(take) == [(0, number) for number in range(take)]
    return member


def hand_over_and_back(group: Group, *, meanwhile: bytes | None = None) -> None:
    """Let another member own partition 0 for a while, and perhaps commit an offset for it."""
    other = group.joined("0")
    assert group.owners()[0] == "g_0-0"
    if meanwhile is not None:
        group.write(OFFSET_0, meanwhile)
    other.close()
    group.settle()
    assert group.owners()[0] == "g_a-0"


def replayed(member: ControlledMember) -> list[int]:
    """Deliver partition 0 from the member's start offset; return the offsets consumed."""
    member.deliver(T0, range(member.starts()[T0] or 0, 10))
    return [offset for partition, offset in consume_all(member.stream()) if partition == 0]


# --- what stays ----------------------------------------------------------------------------------


@pytest.mark.parametrize("auto_commit", [True, False])
def test_a_partition_that_stays_is_read_without_a_gap(auto_commit: bool) -> None:
    """Other members join; no message is repeated, and none is missed."""
    group = Group(partitions=3)
    member = reading(group, auto_commit=auto_commit)
    for name in ("b", "c"):
        group.joined(name)
    assert consume_all(member.stream()) == [(0, number) for number in range(4, 10)]


# --- threads -------------------------------------------------------------------------------------


def move_to_second_stream(group: Group, *, auto_commit: bool) -> ControlledMember:
    """Join member a, whose partition 1 then moves to its second stream."""
    member = group.joined("a", {"t": 2}, auto_commit=auto_commit)
    assert group.owners() == {0: "g_a-0", 1: "g_a-0", 2: "g_a-1"}
    member.deliver(T1, range(10))
    assert member.consume(4) == [(1, number) for number in range(4)]
    group.joined("b")
    assert group.owners() == {0: "g_a-0", 1: "g_a-1", 2: "g_b-0"}
    return member


def test_a_partition_that_moves_to_another_thread_repeats_the_message_in_hand() -> None:
    """It was not consumed; the former stream returns no more of its messages."""
    member = move_to_second_stream(Group(partitions=3), auto_commit=True)
    assert member.starts()[T1] == 3
    assert consume_all(member.stream("t", 0)) == []
    member.deliver(T1, range(3, 10))
    assert consume_all(member.stream("t", 1)) == [(1, number) for number in range(3, 10)]


def test_a_partition_that_moves_without_automatic_commits_is_read_from_the_committed_offset() -> (
    None
):
    """Its node was released in between, so others might have owned it."""
    group = Group(partitions=3)
    group.write("/consumers/g/offsets/t/1", b"0")
    member = move_to_second_stream(group, auto_commit=False)
    assert member.starts()[T1] == 0
    assert group.offset(1) == "0"


def test_late_consumption_by_the_old_thread_does_not_move_the_new_claim() -> None:
    """The old stream holds a message of the old claim; requesting the next one affects nothing."""
    group = Group(partitions=3)
    member = move_to_second_stream(group, auto_commit=True)
    claim = member.owned()[T1]
    consume_all(member.stream("t", 0))
    assert claim.consumed_offset == 3
    request = member.commit()
    group.settle()
    request.reply.wait(0)
    assert group.offset(1) == "3"


# --- away and back -------------------------------------------------------------------------------


def test_with_automatic_commits_only_the_message_in_hand_is_repeated() -> None:
    """The rest was committed before the release."""
    group = Group()
    member = reading(group, auto_commit=True)
    hand_over_and_back(group)
    assert group.offset(0) == "3"
    assert replayed(member) == list(range(3, 10))


def test_an_offset_committed_by_another_member_meanwhile_counts() -> None:
    """It has read further, and none of that comes again."""
    group = Group()
    member = reading(group, auto_commit=True)
    hand_over_and_back(group, meanwhile=b"8")
    assert replayed(member) == [8, 9]


def test_an_offset_moved_back_meanwhile_counts() -> None:
    """An operator wants messages to be read again."""
    group = Group()
    member = reading(group, auto_commit=True)
    hand_over_and_back(group, meanwhile=b"1")
    assert replayed(member) == list(range(1, 10))


def test_without_automatic_commits_all_after_the_committed_offset_comes_again() -> None:
    """The caller may have dropped messages that others would read, so it must get them again."""
    group = Group()
    member = reading(group, auto_commit=False, take=2)
    member.commit()
    group.settle()
    member.consume(3)
    hand_over_and_back(group)
    assert replayed(member) == list(range(2, 10))


def test_without_any_commit_the_reset_policy_applies_again() -> None:
    """No offset was ever committed."""
    group = Group()
    member = reading(group, auto_commit=False)
    hand_over_and_back(group)
    assert member.starts()[T0] is None


def test_a_commit_that_failed_is_made_up_for_by_the_position() -> None:
    """With automatic commits the member knows which messages its caller has finished."""
    group = Group()
    member = reading(group, auto_commit=True)
    other = group.member("0")
    other.join({"t": 1})
    other.pump()
    # Its commit is refused, since a larger offset was written, which is deleted later.
    group.write(OFFSET_0, b"100")
    group.settle()
    group.admin.delete_many([OFFSET_0])
    other.close()
    group.settle()
    assert group.owners() == {0: "g_a-0", 1: "g_a-0"}
    assert replayed(member) == list(range(3, 10))


# --- after the caller's own commits --------------------------------------------------------------


def _lose_the_session(group: Group, member: ControlledMember) -> None:
    group.server.expire(member.store.session_id)
    group.settle()


def _lose_the_node(group: Group, member: ControlledMember) -> None:
    del member
    group.admin.delete_many(["/consumers/g/owners/t/0"])
    group.joined("b", {})


def _hand_it_over_and_back(group: Group, member: ControlledMember) -> None:
    del member
    hand_over_and_back(group)


LOSSES = pytest.mark.parametrize(
    "lose", [_lose_the_session, _lose_the_node, _hand_it_over_and_back]
)


@LOSSES
def test_a_message_in_hand_that_the_caller_committed_does_not_come_again(
    lose: Callable[[Group, ControlledMember], None],
) -> None:
    """No automatic commit goes back before it."""
    group = Group()
    member = reading(group, auto_commit=True)
    member.commit()
    group.settle()
    lose(group, member)
    group.pass_time(AUTO_COMMIT_MS)
    assert group.offset(0) == "4"
    assert replayed(member) == list(range(4, 10))


@LOSSES
@pytest.mark.parametrize("offset", [1, 8])
def test_reading_continues_at_an_offset_that_the_caller_committed(
    lose: Callable[[Group, ControlledMember], None], offset: int
) -> None:
    """The caller wants messages read again or skipped: the member's position does not count."""
    group = Group()
    member = reading(group, auto_commit=True)
    member.commit({T0: offset})
    group.settle()
    lose(group, member)
    group.pass_time(AUTO_COMMIT_MS)
    assert group.offset(0) == str(offset)
    assert replayed(member) == list(range(offset, 10))


@LOSSES
def test_messages_consumed_after_an_explicit_offset_count_again(
    lose: Callable[[Group, ControlledMember], None],
) -> None:
    """The caller read on after the offset that it named."""
    group = Group()
    member = reading(group, auto_commit=True)
    member.commit({T0: 1})
    group.settle()
    member.consume(3)
    lose(group, member)
    assert replayed(member) == list(range(6, 10))


# --- sessions ------------------------------------------------------------------------------------


def test_a_lost_session_with_automatic_commits_repeats_the_message_in_hand() -> None:
    """Nothing was committed, but the position is known, and no other member has committed."""
    group = Group()
    member = reading(group, auto_commit=True)
    group.server.expire(member.store.session_id)
    group.settle()
    assert group.offset(0) is None
    assert replayed(member) == list(range(3, 10))


def test_a_lost_session_without_automatic_commits_repeats_from_the_committed_offset() -> None:
    """This is as after a crash."""
    group = Group()
    member = reading(group, auto_commit=False, take=2)
    member.commit()
    group.settle()
    member.consume(5)
    group.server.expire(member.store.session_id)
    group.settle()
    assert replayed(member) == list(range(2, 10))


def test_a_lost_partition_that_another_member_read_continues_at_its_offset() -> None:
    """The other member's offset counts, however far our own caller was."""
    group = Group()
    member = reading(group, auto_commit=True)
    session_id = member.store.session_id
    group.server.disconnect(session_id)
    group.server.expire(session_id)
    other = group.joined("0")
    assert other.starts()[T0] is None
    other.deliver(T0, range(10))
    other.consume(7)
    other.close()
    group.settle()
    assert group.offset(0) == "6"
    group.server.reconnect(session_id)
    group.settle()
    assert replayed(member) == list(range(6, 10))


def test_two_lost_sessions_in_a_row_lose_nothing() -> None:
    """Nothing was read in between: the position is the first claim's, or the committed one."""
    group = Group()
    member = reading(group, auto_commit=True)
    for _ in range(2):
        group.server.expire(member.store.session_id)
        group.settle()
    assert replayed(member)[-7:] == list(range(3, 10))


# --- the other modes -----------------------------------------------------------------------------


def test_in_scala_mode_the_message_in_hand_does_not_come_again() -> None:
    """It counts as consumed as soon as it is handed over."""
    group = Group()
    member = group.joined("a", delivery=Delivery.SCALA)
    member.deliver(T0, range(10))
    member.consume(4)
    hand_over_and_back(group)
    assert group.offset(0) == "4"
    assert replayed(member) == list(range(4, 10))


@pytest.mark.parametrize("how", ["handed over", "session lost", "node deleted"])
def test_at_most_once_never_goes_back_before_the_committed_offset(how: str) -> None:
    """The rest of the chunk in hand is lost, as documented; nothing is delivered twice."""
    group = Group()
    member = group.joined("a", delivery=Delivery.AT_MOST_ONCE)
    member.deliver(T0, range(6))
    member.consume(2)
    match how:
        case "handed over":
            hand_over_and_back(group)
        case "session lost":
            group.server.expire(member.store.session_id)
            group.settle()
        case _:
            group.admin.delete_many(["/consumers/g/owners/t/0"])
            group.joined("b", {})
    assert group.offset(0) == "6"
    assert replayed(member) == list(range(6, 10))


def test_a_topic_created_again_is_read_by_the_reset_policy_and_reported(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Nothing was committed: all that is known is how far this member read the former topic."""
    group = Group(partitions=1)
    member = group.joined("a", auto_commit=False)
    member.deliver(T0, [0, 1, 2])
    member.consume(3)
    group.admin.delete_many(["/brokers/topics/t"])
    group.settle()
    group.set_topic("t", 1)
    group.settle()
    assert member.starts() == {T0: None}
    assert member.observed.of(PositionReset) == [PositionReset(T0, 3)]
    assert "topic t was deleted and created again" in caplog.text
    assert "partition 0: 3" in caplog.text
