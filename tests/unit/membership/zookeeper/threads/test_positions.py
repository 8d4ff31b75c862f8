"""From where a partition is read on that changes threads, goes away and comes back."""

from collections.abc import Callable

import pytest

from tests.support.control_bench import AUTO_COMMIT_MS, ControlledMember, Group, drained
from zkconsumer.model import TopicPartition
from zkconsumer.observe import PositionReset
from zkconsumer.streams.delivery import Delivery

T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)
OFFSET_0 = "/consumers/g/offsets/t/0"


def reading(
    group: Group, *, auto_commit: bool, streams: int = 1, take: int = 4
) -> ControlledMember:
    """Member a, with messages 0 to 9 of partition 0 queued and some of them handed over."""
    member = group.joined("a", {"t": streams}, auto_commit=auto_commit)
    member.deliver(T0, range(10))
    assert member.consume(take) == [(0, number) for number in range(take)]
    return member


def away_and_back(group: Group, *, meanwhile: bytes | None = None) -> None:
    """Let another member have partition 0 for a while, and perhaps commit for it."""
    other = group.joined("0")
    assert group.owners()[0] == "g_0-0"
    if meanwhile is not None:
        group.write(OFFSET_0, meanwhile)
    other.close()
    group.settle()
    assert group.owners()[0] == "g_a-0"


def replayed(member: ControlledMember) -> list[int]:
    """What a fetcher brings of partition 0 from where the member goes on, as the caller gets it."""
    member.deliver(T0, range(member.starts()[T0] or 0, 10))
    return [offset for partition, offset in drained(member.stream()) if partition == 0]


# --- what stays ----------------------------------------------------------------------------------


@pytest.mark.parametrize("auto_commit", [True, False])
def test_what_stays_goes_on_without_a_gap(auto_commit: bool) -> None:
    """Others come and go; no message comes twice, none is missed."""
    group = Group(partitions=3)
    member = reading(group, auto_commit=auto_commit)
    for name in ("b", "c"):
        group.joined(name)
    assert drained(member.stream()) == [(0, number) for number in range(4, 10)]


# --- threads -------------------------------------------------------------------------------------


def moved(group: Group, *, auto_commit: bool) -> ControlledMember:
    """Member a, whose partition 1 has moved to its second stream."""
    member = group.joined("a", {"t": 2}, auto_commit=auto_commit)
    assert group.owners() == {0: "g_a-0", 1: "g_a-0", 2: "g_a-1"}
    member.deliver(T1, range(10))
    assert member.consume(4) == [(1, number) for number in range(4)]
    group.joined("b")
    assert group.owners() == {0: "g_a-0", 1: "g_a-1", 2: "g_b-0"}
    return member


def test_a_partition_that_moves_to_another_thread_repeats_the_message_in_hand() -> None:
    """It was not consumed; the stream that had it gives nothing of it any more."""
    member = moved(Group(partitions=3), auto_commit=True)
    assert member.starts()[T1] == 3
    assert drained(member.stream("t", 0)) == []
    member.deliver(T1, range(3, 10))
    assert drained(member.stream("t", 1)) == [(1, number) for number in range(3, 10)]


def test_one_that_moves_without_automatic_commits_is_read_again_from_the_commit() -> None:
    """Its node was released in between: others might have had it."""
    group = Group(partitions=3)
    group.write("/consumers/g/offsets/t/1", b"0")
    member = moved(group, auto_commit=False)
    assert member.starts()[T1] == 0
    assert group.offset(1) == "0"


def test_what_the_old_thread_consumes_late_does_not_move_the_new_claim() -> None:
    """It holds the old claim's message in hand; asking for the next one is nobody's business."""
    group = Group(partitions=3)
    member = moved(group, auto_commit=True)
    claim = member.owned()[T1]
    drained(member.stream("t", 0))
    assert claim.consumed_offset == 3
    request = member.commit()
    group.settle()
    request.reply.wait(0)
    assert group.offset(1) == "3"


# --- away and back -------------------------------------------------------------------------------


def test_with_automatic_commits_only_the_message_in_hand_comes_twice() -> None:
    """The rest was committed before the release."""
    group = Group()
    member = reading(group, auto_commit=True)
    away_and_back(group)
    assert group.offset(0) == "3"
    assert replayed(member) == list(range(3, 10))


def test_what_another_committed_meanwhile_counts() -> None:
    """It has read further: nothing of that comes again."""
    group = Group()
    member = reading(group, auto_commit=True)
    away_and_back(group, meanwhile=b"8")
    assert replayed(member) == [8, 9]


def test_what_another_moved_back_meanwhile_counts() -> None:
    """An operator wants it read again."""
    group = Group()
    member = reading(group, auto_commit=True)
    away_and_back(group, meanwhile=b"1")
    assert replayed(member) == list(range(1, 10))


def test_without_automatic_commits_all_behind_the_commit_comes_again() -> None:
    """Who dropped what it was given, since others would read it, must get it again."""
    group = Group()
    member = reading(group, auto_commit=False, take=2)
    member.commit()
    group.settle()
    member.consume(3)
    away_and_back(group)
    assert replayed(member) == list(range(2, 10))


def test_without_any_commit_the_reset_policy_decides_again() -> None:
    """Nobody said that anything is done."""
    group = Group()
    member = reading(group, auto_commit=False)
    away_and_back(group)
    assert member.starts()[T0] is None


def test_a_commit_that_failed_is_made_up_for_by_the_position() -> None:
    """With automatic commits: the member knows what its caller is done with."""
    group = Group()
    member = reading(group, auto_commit=True)
    other = group.member("0")
    other.join({"t": 1})
    other.pump()
    # Its commit is refused: somebody wrote a larger offset, and takes it back later.
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


def _lend_it(group: Group, member: ControlledMember) -> None:
    del member
    away_and_back(group)


LOSSES = pytest.mark.parametrize("lose", [_lose_the_session, _lose_the_node, _lend_it])


@LOSSES
def test_a_message_in_hand_that_the_caller_committed_does_not_come_again(
    lose: Callable[[Group, ControlledMember], None],
) -> None:
    """And no automatic commit moves back behind it."""
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
def test_an_offset_that_the_caller_named_is_where_it_goes_on(
    lose: Callable[[Group, ControlledMember], None], offset: int
) -> None:
    """It wants that read again, or left out: nothing of it is undone by how far it was."""
    group = Group()
    member = reading(group, auto_commit=True)
    member.commit({T0: offset})
    group.settle()
    lose(group, member)
    group.pass_time(AUTO_COMMIT_MS)
    assert group.offset(0) == str(offset)
    assert replayed(member) == list(range(offset, 10))


@LOSSES
def test_what_was_consumed_after_an_offset_was_named_counts_again(
    lose: Callable[[Group, ControlledMember], None],
) -> None:
    """The caller went on behind it."""
    group = Group()
    member = reading(group, auto_commit=True)
    member.commit({T0: 1})
    group.settle()
    member.consume(3)
    lose(group, member)
    assert replayed(member) == list(range(6, 10))


# --- sessions ------------------------------------------------------------------------------------


def test_a_lost_session_with_automatic_commits_repeats_the_message_in_hand() -> None:
    """Nothing was committed, but the position is known, and nobody else has committed."""
    group = Group()
    member = reading(group, auto_commit=True)
    group.server.expire(member.store.session_id)
    group.settle()
    assert group.offset(0) is None
    assert replayed(member) == list(range(3, 10))


def test_a_lost_session_without_automatic_commits_repeats_from_the_commit() -> None:
    """As after a crash."""
    group = Group()
    member = reading(group, auto_commit=False, take=2)
    member.commit()
    group.settle()
    member.consume(5)
    group.server.expire(member.store.session_id)
    group.settle()
    assert replayed(member) == list(range(2, 10))


def test_a_lost_session_whose_partition_another_read_on_goes_on_behind_that() -> None:
    """However far our own caller was."""
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
    """Nothing was read in between: the position is still the first claim's, or the commit."""
    group = Group()
    member = reading(group, auto_commit=True)
    for _ in range(2):
        group.server.expire(member.store.session_id)
        group.settle()
    assert replayed(member)[-7:] == list(range(3, 10))


# --- the other modes -----------------------------------------------------------------------------


def test_in_scala_mode_the_message_in_hand_does_not_come_again() -> None:
    """It counts as consumed from the moment it is handed over."""
    group = Group()
    member = group.joined("a", delivery=Delivery.SCALA)
    member.deliver(T0, range(10))
    member.consume(4)
    away_and_back(group)
    assert group.offset(0) == "4"
    assert replayed(member) == list(range(4, 10))


@pytest.mark.parametrize("how", ["handed over", "session lost", "node deleted"])
def test_at_most_once_never_goes_back_below_the_commit(how: str) -> None:
    """The rest of the chunk in hand is lost, as documented; nothing comes twice."""
    group = Group()
    member = group.joined("a", delivery=Delivery.AT_MOST_ONCE)
    member.deliver(T0, range(6))
    member.consume(2)
    match how:
        case "handed over":
            away_and_back(group)
        case "session lost":
            group.server.expire(member.store.session_id)
            group.settle()
        case _:
            group.admin.delete_many(["/consumers/g/owners/t/0"])
            group.joined("b", {})
    assert group.offset(0) == "6"
    assert replayed(member) == list(range(6, 10))


def test_a_topic_made_anew_is_read_by_the_policy_and_told_with_where_one_stood(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Nothing was committed: what this member read of the former one is all that is known."""
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
