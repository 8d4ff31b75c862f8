"""``commit_offsets`` with offsets: exactly those, back or forth, and only of what is ours."""

import pytest

from tests.support.control_bench import (
    AUTO_COMMIT_MS,
    BACKOFF_MS,
    ControlledMember,
    Group,
    drained,
)
from zkconsumer.connector.subscription import check_offsets
from zkconsumer.errors import OffsetCommitFailed
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.observe import CommitFailed, Committed

T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)


def reading(group: Group, *, auto_commit: bool = False) -> ControlledMember:
    """Member a, to whom five of ten messages of partition 0 were handed over."""
    member = group.joined("a", auto_commit=auto_commit)
    member.deliver(T0, range(10))
    member.consume(5)
    return member


def commit(group: Group, member: ControlledMember, offsets: dict[TopicPartition, int]) -> int:
    """Commit these; gives how many were written."""
    request = member.commit(offsets)
    group.settle()
    count, is_done = request.reply.wait(0)
    assert is_done
    return count or 0


def test_just_these_offsets_are_written() -> None:
    """Neither what was handed over, nor the other partition."""
    group = Group()
    member = reading(group)
    member.deliver(T1, range(3))
    assert commit(group, member, {T0: 2}) == 1
    assert (group.offset(0), group.offset(1)) == ("2", None)


def test_they_may_go_back_and_forth() -> None:
    """Below what is committed, and above what was delivered; each time as told."""
    group = Group()
    member = reading(group)
    for offset in (4, 1, 0, 1_000_000_000_000, 3):
        assert commit(group, member, {T0: offset}) == 1
        assert group.offset(0) == str(offset)


def test_the_same_again_is_written_again() -> None:
    """The answer says how many were written, as asked."""
    group = Group()
    member = reading(group)
    assert commit(group, member, {T0: 2}) == 1
    assert commit(group, member, {T0: 2}) == 1
    assert group.offset(0) == "2"


def test_no_offsets_are_no_commit() -> None:
    """An empty map is not the same as none at all."""
    group = Group()
    member = reading(group)
    assert commit(group, member, {}) == 0
    assert group.offset(0) is None


def test_they_overwrite_what_somebody_else_wrote() -> None:
    """The caller means it: larger or not an offset at all."""
    group = Group()
    member = reading(group)
    for there in (b"700", b"garbage", b"1"):
        group.write("/consumers/g/offsets/t/0", there)
        assert commit(group, member, {T0: 2}) == 1
        assert group.offset(0) == "2"


def test_a_commit_of_what_was_handed_over_does_not_overwrite_somebody_else_s_larger_one() -> None:
    """Without offsets the caller does not mean to go back."""
    group = Group()
    member = reading(group)
    group.write("/consumers/g/offsets/t/0", b"700")
    request = member.commit()
    group.settle()
    with pytest.raises(OffsetCommitFailed, match="700"):
        request.reply.wait(0)
    assert group.offset(0) == "700"


def test_what_is_not_ours_is_refused_by_name_and_the_rest_is_written() -> None:
    """Another member's, another topic's, one that does not exist."""
    group = Group()
    member = reading(group)
    group.joined("b")
    strangers = {T1: 5, TopicPartition("u", 0): 6, TopicPartition("t", 99): 7}
    with pytest.raises(OffsetCommitFailed) as caught:
        commit(group, member, {T0: 2, **strangers})
    assert set(caught.value.failed) == set(strangers)
    assert group.offset(0) == "2"
    assert group.offset(1) is None
    [failed] = member.observed.of(CommitFailed)
    assert set(failed.reasons) == set(strangers)
    assert [dict(committed.offsets) for committed in member.observed.of(Committed)] == [{T0: 2}]


@pytest.mark.parametrize("offset", [-1, 2**63])
def test_what_can_be_no_offset_is_refused(offset: int) -> None:
    """It names the number; nothing is written."""
    group = Group()
    member = reading(group)
    with pytest.raises(OffsetCommitFailed, match=str(offset)):
        commit(group, member, {T0: offset})
    assert group.offset(0) is None


def test_before_joining_nothing_is_ours() -> None:
    """A commit before joining is refused for every partition."""
    group = Group()
    with pytest.raises(OffsetCommitFailed, match="t-0"):
        commit(group, group.member("a"), {T0: 1})


def test_the_stream_does_not_move_by_a_commit() -> None:
    """It goes on where it is; only who comes later starts at the commit."""
    group = Group()
    member = reading(group)
    commit(group, member, {T0: 1})
    assert drained(member.stream()) == [(0, number) for number in range(5, 10)]
    assert group.joined("0").starts()[T0] == 1


def test_without_automatic_commits_they_are_the_last_word() -> None:
    """Neither time, nor a rebalance, nor the end writes another one."""
    group = Group()
    member = reading(group)
    commit(group, member, {T0: 1})
    drained(member.stream())
    group.pass_time(10 * AUTO_COMMIT_MS)
    group.joined("b")
    member.close()
    group.settle()
    assert group.offset(0) == "1"


def test_automatic_commits_leave_it_alone_until_more_is_consumed() -> None:
    """The caller named it: it stands, though more was consumed before; progress goes past it."""
    group = Group()
    member = reading(group, auto_commit=True)
    commit(group, member, {T0: 1})
    group.pass_time(AUTO_COMMIT_MS)
    assert group.offset(0) == "1"
    member.consume(2)
    group.pass_time(AUTO_COMMIT_MS)
    assert group.offset(0) == "6"


def test_an_automatic_commit_does_not_go_back_behind_the_message_in_hand() -> None:
    """The caller is done with it, though it did not ask for the next one yet."""
    group = Group()
    member = reading(group, auto_commit=True)
    commit(group, member, {T0: 5})
    group.pass_time(AUTO_COMMIT_MS)
    assert group.offset(0) == "5"


def test_an_automatic_commit_does_not_go_back_behind_an_explicit_one() -> None:
    """The caller wants to leave out what lies between."""
    group = Group()
    member = reading(group, auto_commit=True)
    commit(group, member, {T0: 100})
    group.pass_time(AUTO_COMMIT_MS)
    assert group.offset(0) == "100"


@pytest.mark.parametrize("named", [4, 100])
def test_an_explicit_one_does_not_outlast_a_log_that_went_back(named: int) -> None:
    """An unclean election, or the reset policy: what it named lies in another log by now."""
    group = Group()
    member = reading(group, auto_commit=True)
    member.consume(5)
    commit(group, member, {T0: named})
    member.deliver(T0, [2, 3])
    member.consume(1)
    group.pass_time(AUTO_COMMIT_MS)
    assert group.offset(0) == "2"
    member.consume(1)
    group.pass_time(AUTO_COMMIT_MS)
    assert group.offset(0) == "3"
    commit(group, member, {T0: named})
    group.pass_time(AUTO_COMMIT_MS)
    assert group.offset(0) == str(named)


def test_a_commit_of_all_after_an_explicit_one_is_about_what_was_handed_over() -> None:
    """The later word of the caller counts, be it larger or smaller."""
    group = Group()
    member = reading(group)
    for explicit in (1, 100):
        commit(group, member, {T0: explicit})
        request = member.commit()
        group.settle()
        assert request.reply.wait(0) == (1, True)
        assert group.offset(0) == "5"


def test_one_whose_answer_was_lost_may_be_repeated() -> None:
    """It may have happened; the caller hears so, and the second try succeeds."""
    group = Group()
    member = reading(group)
    member.store.lose_replies(1)
    with pytest.raises(OffsetCommitFailed):
        commit(group, member, {T0: 3})
    assert commit(group, member, {T0: 3}) == 1
    assert group.offset(0) == "3"


def test_after_a_lost_session_they_are_about_the_new_ownership() -> None:
    """Refused while nothing is owned, written when it is again."""
    group = Group()
    member = reading(group)
    group.server.disconnect(member.store.session_id)
    group.server.expire(member.store.session_id)
    with pytest.raises(OffsetCommitFailed):
        commit(group, member, {T0: 3})
    group.server.reconnect(member.store.session_id)
    group.settle()
    assert commit(group, member, {T0: 3}) == 1


def test_after_a_release_whose_answer_was_lost_a_commit_is_about_what_is_left() -> None:
    """The nodes are gone all the same: a commit of all succeeds, one of what is gone does not."""
    group = Group()
    member = reading(group)
    member.deliver(T1, range(3))
    drained(member.stream())
    path = "/consumers/g/owners/t/0"
    group.admin.exists_many([path], watch=lambda *_: member.store.lose_replies(1))
    group.member("0").join({"t": 1})
    group.settle()
    group.pass_time(BACKOFF_MS)
    assert group.owners() == {0: "g_0-0", 1: "g_a-0"}
    assert set(member.owned()) == {T1}
    request = member.commit()
    group.settle()
    assert request.reply.wait(0) == (1, True)
    with pytest.raises(OffsetCommitFailed, match="t-0"):
        commit(group, member, {T0: 2})
    assert (group.offset(0), group.offset(1)) == (None, "3")


# --- what is no map of offsets -------------------------------------------------------------------

_GOOD = OffsetAndMetadata(1)


def test_the_map_may_change_while_it_is_being_committed() -> None:
    """It is copied first."""
    offsets = {T0: _GOOD}
    taken = check_offsets(offsets)
    offsets[T1] = _GOOD
    assert taken == {T0: _GOOD}
