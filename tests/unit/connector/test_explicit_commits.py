"""``commit_offsets`` with explicit offsets: exactly those, in any direction, if owned."""

import pytest

from tests.support.control_bench import (
    AUTO_COMMIT_MS,
    BACKOFF_MS,
    ControlledMember,
    Group,
    consume_all,
)
from zkconsumer.connector.arguments import check_offsets
from zkconsumer.errors import OffsetCommitFailed
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.observe import CommitFailed, Committed

T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)


def reading(group: Group, *, auto_commit: bool = False) -> ControlledMember:
    """Return member a, which has consumed five of ten messages of partition 0."""
    member = group.joined("a", auto_commit=auto_commit)
    member.deliver(T0, range(10))
    member.consume(5)
    return member


def commit(group: Group, member: ControlledMember, offsets: dict[TopicPartition, int]) -> int:
    """Commit these offsets and return how many were written."""
    request = member.commit(offsets)
    group.settle()
    count, is_done = request.reply.wait(0)
    assert is_done
    return count or 0


def test_only_the_given_offsets_are_written() -> None:
    """Neither the consumed position nor other partitions are committed."""
    group = Group()
    member = reading(group)
    member.deliver(T1, range(3))
    assert commit(group, member, {T0: 2}) == 1
    assert (group.offset(0), group.offset(1)) == ("2", None)


def test_explicit_offsets_may_go_back_or_ahead() -> None:
    """Offsets below the committed one and above the consumed one are written as given."""
    group = Group()
    member = reading(group)
    for offset in (4, 1, 0, 1_000_000_000_000, 3):
        assert commit(group, member, {T0: offset}) == 1
        assert group.offset(0) == str(offset)


def test_an_unchanged_offset_is_written_again() -> None:
    """A repeated commit counts as written, as its caller expects."""
    group = Group()
    member = reading(group)
    assert commit(group, member, {T0: 2}) == 1
    assert commit(group, member, {T0: 2}) == 1
    assert group.offset(0) == "2"


def test_an_empty_map_commits_nothing() -> None:
    """An empty map differs from no map at all, which commits what was consumed."""
    group = Group()
    member = reading(group)
    assert commit(group, member, {}) == 0
    assert group.offset(0) is None


def test_explicit_offsets_overwrite_what_others_wrote() -> None:
    """An explicit offset replaces a larger one and even invalid data."""
    group = Group()
    member = reading(group)
    for there in (b"700", b"garbage", b"1"):
        group.write("/consumers/g/offsets/t/0", there)
        assert commit(group, member, {T0: 2}) == 1
        assert group.offset(0) == "2"


def test_a_commit_of_consumed_offsets_does_not_overwrite_a_larger_one() -> None:
    """A commit without explicit offsets never moves a stored offset back."""
    group = Group()
    member = reading(group)
    group.write("/consumers/g/offsets/t/0", b"700")
    request = member.commit()
    group.settle()
    with pytest.raises(OffsetCommitFailed, match="700"):
        request.reply.wait(0)
    assert group.offset(0) == "700"


def test_partitions_not_owned_are_refused_and_the_rest_is_written() -> None:
    """The error names partitions of other members and topics, and ones that do not exist."""
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
def test_an_impossible_offset_is_refused(offset: int) -> None:
    """The error names the number, and nothing is written."""
    group = Group()
    member = reading(group)
    with pytest.raises(OffsetCommitFailed, match=str(offset)):
        commit(group, member, {T0: offset})
    assert group.offset(0) is None


def test_a_commit_before_joining_is_refused() -> None:
    """A member that has not joined owns nothing, so every partition is refused."""
    group = Group()
    with pytest.raises(OffsetCommitFailed, match="t-0"):
        commit(group, group.member("a"), {T0: 1})


def test_a_commit_does_not_move_the_stream() -> None:
    """The stream continues at its position; the next owner starts at the committed offset."""
    group = Group()
    member = reading(group)
    commit(group, member, {T0: 1})
    assert consume_all(member.stream()) == [(0, number) for number in range(5, 10)]
    assert group.joined("0").starts()[T0] == 1


def test_without_automatic_commits_an_explicit_offset_stays() -> None:
    """Neither time, a rebalance nor closing commits anything else."""
    group = Group()
    member = reading(group)
    commit(group, member, {T0: 1})
    consume_all(member.stream())
    group.pass_time(10 * AUTO_COMMIT_MS)
    group.joined("b")
    member.close()
    group.settle()
    assert group.offset(0) == "1"


def test_automatic_commits_keep_an_explicit_offset_until_more_is_consumed() -> None:
    """An explicit offset stands until further messages are consumed."""
    group = Group()
    member = reading(group, auto_commit=True)
    commit(group, member, {T0: 1})
    group.pass_time(AUTO_COMMIT_MS)
    assert group.offset(0) == "1"
    member.consume(2)
    group.pass_time(AUTO_COMMIT_MS)
    assert group.offset(0) == "6"


def test_an_automatic_commit_does_not_undo_the_commit_of_the_current_message() -> None:
    """The caller has committed the current message, though it has not requested the next one."""
    group = Group()
    member = reading(group, auto_commit=True)
    commit(group, member, {T0: 5})
    group.pass_time(AUTO_COMMIT_MS)
    assert group.offset(0) == "5"


def test_an_automatic_commit_does_not_go_back_from_an_explicit_one() -> None:
    """A caller that commits ahead wants to skip the messages in between."""
    group = Group()
    member = reading(group, auto_commit=True)
    commit(group, member, {T0: 100})
    group.pass_time(AUTO_COMMIT_MS)
    assert group.offset(0) == "100"


@pytest.mark.parametrize("named", [4, 100])
def test_an_explicit_commit_does_not_outlast_a_log_that_was_truncated(named: int) -> None:
    """Once the log went back, automatic commits follow it instead of an explicit offset.

    After an unclean election or a reset, that offset belongs to another log.
    """
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


def test_a_later_commit_without_offsets_replaces_an_explicit_one() -> None:
    """The latest call counts, whether the consumed offset is larger or smaller."""
    group = Group()
    member = reading(group)
    for explicit in (1, 100):
        commit(group, member, {T0: explicit})
        request = member.commit()
        group.settle()
        assert request.reply.wait(0) == (1, True)
        assert group.offset(0) == "5"


def test_a_commit_whose_response_was_lost_can_be_repeated() -> None:
    """The caller gets an error, since the outcome is unknown, and a repeated commit succeeds."""
    group = Group()
    member = reading(group)
    member.store.lose_replies(1)
    with pytest.raises(OffsetCommitFailed):
        commit(group, member, {T0: 3})
    assert commit(group, member, {T0: 3}) == 1
    assert group.offset(0) == "3"


def test_after_a_lost_session_commits_need_the_new_ownership() -> None:
    """A commit is refused while nothing is owned, and written once partitions are owned again."""
    group = Group()
    member = reading(group)
    group.server.disconnect(member.store.session_id)
    group.server.expire(member.store.session_id)
    with pytest.raises(OffsetCommitFailed):
        commit(group, member, {T0: 3})
    group.server.reconnect(member.store.session_id)
    group.settle()
    assert commit(group, member, {T0: 3}) == 1


def test_after_a_release_with_a_lost_response_only_owned_partitions_commit() -> None:
    """The owner nodes are gone although the response was lost.

    A commit of everything succeeds for what is left; one of the released partition is refused.
    """
    group = Group()
    member = reading(group)
    member.deliver(T1, range(3))
    consume_all(member.stream())
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


# --- Checking the map of offsets ------------------------------------------------------------------

_GOOD = OffsetAndMetadata(1)


def test_the_map_may_change_while_it_is_being_committed() -> None:
    """The caller's map is copied before it is used."""
    offsets = {T0: _GOOD}
    taken = check_offsets(offsets)
    offsets[T1] = _GOOD
    assert taken == {T0: _GOOD}
