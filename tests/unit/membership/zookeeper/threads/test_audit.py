"""Audits: a member without a rebalance checks its nodes, and repairs what no watch reported."""

import logging
from collections.abc import Sequence
from unittest.mock import patch

import pytest

from tests.support.chunks import chunk_of, ignore
from tests.support.control_bench import (
    BACKOFF_MS,
    ControlledMember,
    Group,
    consume_all,
    own_as_stranger,
)
from tests.support.recording_listener import RecordingListener
from zkconsumer.errors import ConsumerTimeout, OffsetCommitFailed, PartitionFailed
from zkconsumer.membership.zookeeper.core.states import RebalanceState
from zkconsumer.model import TopicPartition
from zkconsumer.observe import OrphansSeen, PartitionsLost, RebalanceFinished, RebalanceStarted
from zkconsumer.zk.nodes import Registration, encode_registration
from zkconsumer.zk.owners import PartitionOwners

AUDIT_MS = 10_000
T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)
OWNER_0 = "/consumers/g/owners/t/0"


def audited(group: Group, name: str = "a", *, auto_commit: bool = True) -> ControlledMember:
    """Join a member of topic t that audits every ten seconds."""
    return group.joined(name, auto_commit=auto_commit, audit_interval_ms=AUDIT_MS)


def replace_owner(group: Group) -> None:
    """Replace the owner node of partition 0 by another session's, without any watch."""
    group.admin.delete_many([OWNER_0])
    own_as_stranger(group, 0)


def next_error(member: ControlledMember) -> Exception:
    """Return the error that its stream raises next."""
    with pytest.raises((PartitionFailed, ConsumerTimeout)) as caught:
        next(member.stream())
    return caught.value


def is_in_state(member: ControlledMember, state: RebalanceState) -> bool:
    """Return whether its core is in this state."""
    return member.core.state is state


# --- owner nodes ---------------------------------------------------------------------------------


def test_a_deleted_owner_node_is_made_again_at_the_next_audit() -> None:
    """It is not made earlier, as no watch is set on it; the other partition is not touched."""
    group = Group()
    member = audited(group)
    claims = member.owned()
    group.admin.delete_many([OWNER_0])
    group.pass_time(AUDIT_MS - 1)
    assert group.owners() == {1: "g_a-0"}
    group.pass_time(1)
    assert group.owners() == {0: "g_a-0", 1: "g_a-0"}
    assert member.owned()[T1] is claims[T1]
    assert member.owned()[T0] is not claims[T0]
    assert not claims[T0].active
    (lost,) = member.observed.of(PartitionsLost)
    assert tuple(lost.partitions) == (T0,)


def test_queued_records_of_a_disowned_partition_come_again_with_the_new_claim() -> None:
    """No record is lost: fetching continues at the consumed offset, with the message in hand."""
    group = Group()
    member = audited(group)
    member.deliver(T0, range(10))
    assert member.consume(4)[-1] == (0, 3)
    group.admin.delete_many([OWNER_0])
    group.pass_time(AUDIT_MS)
    assert member.starts()[T0] == 3
    assert consume_all(member.stream()) == []
    member.deliver(T0, range(3, 10))
    assert consume_all(member.stream()) == [(0, number) for number in range(3, 10)]


def test_without_automatic_commits_it_is_read_again_from_the_committed_offset() -> None:
    """The partition was not ours for a while: what the caller dropped meanwhile must come again."""
    group = Group()
    member = audited(group, auto_commit=False)
    member.deliver(T0, range(10))
    member.consume(4)
    member.commit()
    group.settle()
    member.consume(4)
    group.admin.delete_many([OWNER_0])
    group.pass_time(AUDIT_MS)
    assert member.starts()[T0] == 4
    assert group.offset(0) == "4"


def test_a_partition_that_another_session_took_stops_at_the_audit() -> None:
    """It stops without a commit and without a call of the listener; the other is read on."""
    group, listener = Group(), RecordingListener()
    member = audited(group)
    member.listener.listener = listener
    claims = member.owned()
    member.deliver(T0, range(10))
    member.consume(4)
    member.deliver(T1, [0, 1])
    replace_owner(group)
    group.pass_time(AUDIT_MS)
    assert not claims[T0].active
    assert consume_all(member.stream()) == [(1, 0), (1, 1)]
    assert member.owned() == {T1: claims[T1]}
    assert (group.offset(0), listener.released) == (None, [])
    assert group.owners() == {0: "g_x-0", 1: "g_a-0"}


@pytest.mark.parametrize("when", ["before the audit", "after it"])
def test_commits_of_a_partition_that_another_session_took_are_refused(when: str) -> None:
    """Before the audit the offset store refuses them; after it the error names the partition."""
    group = Group()
    member = audited(group, auto_commit=False)
    member.deliver(T0, range(10))
    member.consume(4)
    replace_owner(group)
    if when == "after it":
        group.pass_time(AUDIT_MS)
    request = member.commit({T0: 4})
    group.settle()
    with pytest.raises(OffsetCommitFailed, match="t-0"):
        request.reply.wait(0)
    assert group.offset(0) is None


def test_a_partition_that_another_session_took_is_claimed_when_released() -> None:
    """A watch starts the claim at once; reading continues at the offset that the other wrote."""
    group = Group()
    member = audited(group)
    member.deliver(T0, range(10))
    member.consume(4)
    replace_owner(group)
    group.pass_time(AUDIT_MS)
    assert is_in_state(member, RebalanceState.BACKING_OFF)
    group.write("/consumers/g/offsets/t/0", b"8")
    group.admin.delete_many([OWNER_0])
    group.settle()
    assert is_in_state(member, RebalanceState.OWNING)
    assert member.starts()[T0] == 8


def test_a_partition_that_another_session_took_stops_even_without_brokers() -> None:
    """Queued records are not delivered while the new owner delivers them."""
    group = Group()
    member = audited(group)
    claim = member.owned()[T0]
    group.admin.delete_many(["/brokers/ids/0"])
    replace_owner(group)
    group.pass_time(AUDIT_MS)
    assert not claim.active


def test_without_an_interval_there_is_no_audit() -> None:
    """An interval of 0 turns audits off; the next rebalance still notices the change."""
    group = Group()
    member = group.joined("a")
    assert member.core.next_deadline_ms() is None
    group.admin.delete_many([OWNER_0])
    group.pass_time(100 * AUDIT_MS)
    assert group.owners() == {1: "g_a-0"}
    group.joined("b", {})
    assert group.owners() == {0: "g_a-0", 1: "g_a-0"}


def test_an_audit_that_finds_nothing_changes_nothing() -> None:
    """No node is written, no claim replaced, and the round reports no change."""
    group = Group()
    member = audited(group)
    claims = member.owned()
    writes = member.store.requests["multi"], member.store.requests["write"]
    before = len(member.observed.events)
    group.pass_time(AUDIT_MS)
    assert (member.store.requests["multi"], member.store.requests["write"]) == writes
    assert member.owned() == claims
    events = member.observed.events[before:]
    assert [event.cause for event in events if isinstance(event, RebalanceStarted)] == ["an audit"]
    finished = [event for event in events if isinstance(event, RebalanceFinished)]
    assert [rebalance_finished.changed for rebalance_finished in finished] == [False]


def test_audits_go_on() -> None:
    """There is one per interval, even after one that failed since ZooKeeper was away."""
    group = Group()
    member = audited(group)
    group.pass_time(AUDIT_MS)
    group.server.disconnect(member.store.session_id)
    group.pass_time(AUDIT_MS)
    assert is_in_state(member, RebalanceState.BACKING_OFF)
    group.admin.delete_many([OWNER_0])
    group.server.reconnect(member.store.session_id)
    group.settle()
    assert group.owners() == {0: "g_a-0", 1: "g_a-0"}
    group.admin.delete_many([OWNER_0])
    group.pass_time(AUDIT_MS)
    assert group.owners() == {0: "g_a-0", 1: "g_a-0"}


def test_members_audit_without_disturbing_each_other() -> None:
    """Each member repairs its own nodes."""
    group = Group(partitions=3)
    members = [audited(group, name) for name in ("a", "b", "c")]
    for number in range(3):
        group.admin.delete_many([f"/consumers/g/owners/t/{number}"])
    group.pass_time(AUDIT_MS)
    assert group.owners() == {0: "g_a-0", 1: "g_b-0", 2: "g_c-0"}
    assert [len(member.observed.of(PartitionsLost)) for member in members] == [1, 1, 1]


# --- what falls to us, and what does not ---------------------------------------------------------


def test_an_orphan_that_is_assigned_to_us_is_taken() -> None:
    """Its topic grew, and the watch was lost."""
    group = Group(delivery="queued")
    member = group.member("a", audit_interval_ms=AUDIT_MS)
    request = member.join({"t": 1})
    group.settle()
    group.server.deliver_all()
    group.settle()
    assert request.reply.wait(0) == (None, True)
    group.set_topic("t", 3)
    group.pass_time(AUDIT_MS)
    assert group.owners() == {0: "g_a-0", 1: "g_a-0", 2: "g_a-0"}
    orphans = [tuple(orphans_seen.partitions) for orphans_seen in member.observed.of(OrphansSeen)]
    assert orphans == [(TopicPartition("t", 2),)]
    group.pass_time(AUDIT_MS)
    assert [tuple(orphans_seen.partitions) for orphans_seen in member.observed.of(OrphansSeen)] == [
        *orphans,
        (),
    ]


def test_an_orphan_that_is_assigned_to_another_is_reported_once_and_left() -> None:
    """It shows that another member is in trouble; that it is over is reported once, too."""
    group = Group()
    member = audited(group)
    group.joined("b")  # does not audit
    group.admin.delete_many(["/consumers/g/owners/t/1"])
    for _ in range(3):
        group.pass_time(AUDIT_MS)
    assert group.owners() == {0: "g_a-0"}
    assert [tuple(orphans_seen.partitions) for orphans_seen in member.observed.of(OrphansSeen)] == [
        (T1,)
    ]
    group.joined("c", {})
    group.pass_time(AUDIT_MS)
    assert [tuple(orphans_seen.partitions) for orphans_seen in member.observed.of(OrphansSeen)] == [
        (T1,),
        (),
    ]


def test_topics_that_a_stranger_names_and_do_not_exist_are_not_audited() -> None:
    """It may name any number of them, and their owners would be listed one by one."""
    group, registration = Group(), Registration(subscription={"missing": 1, "t": 1}, timestamp_ms=1)
    group.write("/consumers/g/ids/g_z", encode_registration(registration))
    member = audited(group)
    registry, asked = member.registry, list[str]()

    def noted(topics: Sequence[str]) -> dict[str, frozenset[int]]:
        asked.extend(topics)
        return PartitionOwners.owned_partitions(registry, topics)

    with patch.object(registry, "owned_partitions", noted):
        group.pass_time(AUDIT_MS)
    assert asked == ["t"]


# --- what stands still ---------------------------------------------------------------------------


def test_an_unusable_offset_that_was_corrected_is_read_at_the_next_audit() -> None:
    """The stream raises the error; the other partition is read meanwhile."""
    group = Group()
    group.write("/consumers/g/offsets/t/0", b"garbage")
    member = audited(group)
    assert "/consumers/g/offsets/t/0" in str(next_error(member))
    member.deliver(T1, [0])
    assert consume_all(member.stream()) == [(1, 0)]
    group.write("/consumers/g/offsets/t/0", b"42")
    group.pass_time(AUDIT_MS)
    assert member.starts()[T0] == 42
    member.deliver(T0, [42])
    assert consume_all(member.stream()) == [(0, 42)]


def test_an_unusable_offset_that_was_deleted_counts_as_none() -> None:
    """The reset policy applies, since the operator deleted the offset."""
    group = Group()
    group.write("/consumers/g/offsets/t/0", b"")
    member = audited(group)
    group.admin.delete_many(["/consumers/g/offsets/t/0"])
    group.pass_time(AUDIT_MS)
    assert member.starts() == {T0: None, T1: None}


def test_an_unusable_offset_is_never_overwritten_with_an_earlier_claims() -> None:
    """Otherwise unfinished records would be skipped, and the operator's mistake hidden."""
    group = Group(partitions=1)

    def fail(_share: object) -> None:
        raise ZeroDivisionError("a bug of the caller")

    member = audited(group)
    member.listener.listener = RecordingListener(fail)
    member.deliver(T0, range(10))
    member.consume(8)
    other = group.joined("0")
    assert group.offset(0) is None
    other.close()
    group.write("/consumers/g/offsets/t/0", b"garbage")
    group.settle()
    assert group.owners() == {0: "g_a-0"}
    for _ in range(2):
        group.pass_time(AUDIT_MS)
    member.close()
    group.settle()
    assert group.offset(0) == "garbage"


def test_an_unusable_offset_is_not_overwritten_after_a_lost_session() -> None:
    """It is not overwritten by the audit, nor when the member leaves."""
    group = Group(partitions=1)
    member = audited(group)
    member.deliver(T0, range(10))
    member.consume(8)
    group.write("/consumers/g/offsets/t/0", b"garbage")
    group.server.expire(member.store.session_id)
    group.settle()
    group.pass_time(AUDIT_MS)
    member.close()
    group.settle()
    assert group.offset(0) == "garbage"


def test_a_damaged_record_is_tried_again_at_every_audit() -> None:
    """It starts at the offset where it stopped; what was delivered before is committed first."""
    group, listener = Group(), RecordingListener()
    member = audited(group)
    member.listener.listener = listener
    for _ in range(2):
        claim = member.owned()[T0]
        start = claim.consumed_offset or 0
        damaged = PartitionFailed(T0, 3, "damaged")
        chunk = chunk_of(claim, range(start, 3), fetched_at=start, next_offset=3, error=damaged)
        assert claim.sink.offer(chunk, ignore)
        claim.halted = True
        assert [offset for _, offset in member.consume(3 - start)] == list(range(start, 3))
        assert next_error(member) is damaged
        group.pass_time(AUDIT_MS)
        assert not claim.active
        assert member.starts()[T0] == 3
        assert group.offset(0) == "3"
    assert listener.released == []  # the partition was owned all the time


# --- the registration ----------------------------------------------------------------------------


def test_a_registration_that_vanished_unnoticed_is_found_by_the_audit(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The watch was lost; partitions that are read are not touched, and nothing is logged."""
    group = Group(delivery="queued")
    member = group.member("a", audit_interval_ms=AUDIT_MS)
    member.join({"t": 1})
    group.settle()
    group.server.deliver_all()
    group.settle()
    claims = member.owned()
    group.admin.delete_many(["/consumers/g/ids/g_a"])
    with caplog.at_level(logging.WARNING):
        group.pass_time(AUDIT_MS)
    assert group.ids() == ["g_a"]
    assert member.owned() == claims
    assert caplog.messages == []


def test_a_registration_that_another_session_made_stops_the_audits() -> None:
    """The member backs off, and tries again until the other registration is gone."""
    group = Group()
    member = audited(group)
    claims = member.owned()
    group.server.disconnect(member.store.session_id)
    group.admin.delete_many(["/consumers/g/ids/g_a"])
    group.admin.create("/consumers/g/ids/g_a", b"x", ephemeral=True)
    group.server.reconnect(member.store.session_id)
    group.settle()
    assert is_in_state(member, RebalanceState.BACKING_OFF)
    group.pass_time(BACKOFF_MS)
    assert is_in_state(member, RebalanceState.BACKING_OFF)
    group.admin.delete_many(["/consumers/g/ids/g_a"])
    group.settle()
    assert is_in_state(member, RebalanceState.OWNING)
    assert member.owned() == claims
