"""Ownership according to events alone: claims, releases and losses must add up."""

from tests.support.control_bench import ControlledMember, Group, own_as_stranger
from zkconsumer.model import ConsumerThreadId, TopicPartition
from zkconsumer.observe import (
    MemberName,
    PartitionsBlocked,
    PartitionsClaimed,
    PartitionsLost,
    PartitionsReleased,
)

AUDIT_MS = 10_000
T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)
A0 = ConsumerThreadId("g_a", 0)
MEMBER = MemberName("g", "g_a")


def expire_unnoticed(group: Group) -> None:
    """Let the only member's session end while it is disconnected, then reconnect it."""
    [member] = group.members
    session_id = member.store.session_id
    group.server.disconnect(session_id)
    group.server.expire(session_id)
    group.settle()
    group.server.reconnect(session_id)
    group.settle()


def owned_by_events(member: ControlledMember) -> dict[TopicPartition, str]:
    """Add up claims, releases and losses, each of which must fit the ones before."""
    owned: dict[TopicPartition, str] = {}
    for event in member.observed.events:
        match event:
            case PartitionsClaimed(claimed):
                assert not [tp for tp, thread in claimed.items() if owned.get(tp) == str(thread)], (
                    "twice"
                )
                owned |= {tp: str(thread) for tp, thread in claimed.items()}
            case PartitionsReleased(released):
                texts = {tp: str(thread) for tp, thread in released.items()}
                assert texts.items() <= owned.items(), "released what was not owned"
                owned = {tp: thread for tp, thread in owned.items() if tp not in released}
            case PartitionsLost(lost):
                assert set(lost) <= set(owned), "lost twice, or never owned"
                owned = {tp: thread for tp, thread in owned.items() if tp not in lost}
            case _:
                pass
    return owned


def assert_balanced(group: Group, member: ControlledMember) -> None:
    """Assert that events and owner nodes agree."""
    owners = {number: text for number, text in group.owners().items() if text.startswith("g_a-")}
    assert {tp.partition: thread for tp, thread in owned_by_events(member).items()} == owners


def test_events_balance_while_members_and_topics_come_and_go() -> None:
    """Claims and releases balance after each change."""
    group = Group(partitions=3)
    member = group.joined("a", {"t": 2}, audit_interval_ms=AUDIT_MS)
    assert_balanced(group, member)
    for name in ("b", "0", "c"):
        other = group.joined(name)
        assert_balanced(group, member)
        group.set_topic("t", 3 + len(group.members))
        group.settle()
        assert_balanced(group, member)
        other.close()
        group.settle()
        assert_balanced(group, member)
    member.close()
    group.settle()
    assert owned_by_events(member) == {}


def test_events_balance_when_a_node_was_deleted() -> None:
    """It is lost, and claimed again at the audit."""
    group = Group()
    member = group.joined("a", audit_interval_ms=AUDIT_MS)
    group.admin.delete_many(["/consumers/g/owners/t/0"])
    group.pass_time(AUDIT_MS)
    assert_balanced(group, member)
    assert len(member.observed.of(PartitionsLost)) == 1


def test_events_balance_when_another_session_owns_a_node() -> None:
    """It is lost once, however often the claim is tried again."""
    group = Group()
    member = group.joined("a", audit_interval_ms=AUDIT_MS)
    group.admin.delete_many(["/consumers/g/owners/t/0"])
    own_as_stranger(group, 0)
    for _ in range(5):
        group.pass_time(AUDIT_MS)
    assert_balanced(group, member)


def test_events_balance_when_the_session_ends_unnoticed() -> None:
    """Everything is lost at once, and claimed again in the new session."""
    group = Group()
    member = group.joined("a")
    expire_unnoticed(group)
    assert_balanced(group, member)
    [lost] = member.observed.of(PartitionsLost)
    assert set(lost.partitions) == {T0, T1}


def test_events_balance_with_a_blocked_partition() -> None:
    """It was never claimed."""
    group = Group()
    group.write("/consumers/g/owners/t/0", b"garbage")
    member = group.joined("a", audit_interval_ms=AUDIT_MS)
    group.pass_time(AUDIT_MS)
    assert_balanced(group, member)
    assert set(member.observed.of(PartitionsBlocked)[0].reasons) == {T0}


def test_events_balance_when_watches_fire_before_the_end_of_the_session_is_reported() -> None:
    """The nodes are gone before the member knows why; each is lost once all the same."""
    group = Group()
    member = group.joined("a")
    group.server.expire(member.store.session_id)
    group.settle()
    assert_balanced(group, member)


def test_events_balance_when_registration_and_node_were_deleted() -> None:
    """It is lost once, though the group is read twice."""
    group = Group()
    member = group.joined("a")
    group.admin.delete_many(["/consumers/g/owners/t/0", "/consumers/g/ids/g_a"])
    group.settle()
    assert_balanced(group, member)


def test_events_balance_when_a_halted_partition_is_restarted() -> None:
    """An audit starts it again; its node stays."""
    group = Group()
    member = group.joined("a", audit_interval_ms=AUDIT_MS)
    member.owned()[T0].halted = True
    group.pass_time(AUDIT_MS)
    assert_balanced(group, member)


def test_events_balance_when_the_session_of_an_unreadable_partition_ends() -> None:
    """Its offset is unusable, so it is claimed, but not read."""
    group = Group()
    group.write("/consumers/g/offsets/t/0", b"garbage")
    member = group.joined("a")
    expire_unnoticed(group)
    assert_balanced(group, member)
