"""Commits that only the owner of a partition may make, with and without transactions."""

import pytest

from tests.support.offset_owners import OffsetOwner
from tests.support.zk_members import Member
from tests.support.zk_worlds import ZkWorld
from zkconsumer.errors import SessionLost
from zkconsumer.model import ConsumerThreadId, OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.store import FetchedOffset
from zkconsumer.offsets.zookeeper import ZookeeperOffsetStore
from zkconsumer.zk.nodes import Registration

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
REGISTRATION = Registration(subscription={"t": 1}, timestamp_ms=1795227905398)
OFFSET_OF_T0, OWNER_OF_T0 = "/consumers/g/offsets/t/0", "/consumers/g/owners/t/0"


@pytest.fixture
def a(alice: Member) -> OffsetOwner:
    """The first member."""
    return OffsetOwner(alice.store, alice.registry, "a")


@pytest.fixture
def b(bob: Member) -> OffsetOwner:
    """The second member."""
    return OffsetOwner(bob.store, bob.registry, "b")


def test_the_owner_commits_forward_and_back(a: OffsetOwner) -> None:
    """The owner's offset may decrease (after a truncation) where no other client wrote it."""
    a.claim(T0)
    for offset in (5, 900, 900, 17, 0):
        assert a.commit(T0, offset) is None
        assert a.stored(T0) == offset


def test_a_member_without_partitions_cannot_commit(a: OffsetOwner, b: OffsetOwner) -> None:
    """A commit without ownership is refused with the partition and its owner, if any."""
    a.claim(T0)
    assert "g_a-0" in str(b.commit(T0, 1))
    assert f"{OWNER_OF_T0[:-1]}1 is gone" in str(b.commit(T1, 1))
    assert a.stored(T0) is None


def test_a_slow_former_owner_cannot_move_an_offset_back(a: OffsetOwner, b: OffsetOwner) -> None:
    """A commit that a former owner sends late is refused, and the new owner's offset stays."""
    a.claim(T0)
    assert a.commit(T0, 100) is None
    a.release(T0)
    b.claim(T0)
    assert b.commit(T0, 900) is None
    assert "g_b-0" in str(a.commit(T0, 150))
    assert b.stored(T0) == 900


def test_a_larger_offset_of_another_client_is_kept(a: OffsetOwner) -> None:
    """A larger offset of another client is not overwritten, except by an explicit rewind."""
    a.claim(T0)
    assert a.commit(T0, 800) is None
    a.store.set_or_create_many({OFFSET_OF_T0: b"900"})
    assert a.commit(T0, 850) == (
        f"{OFFSET_OF_T0} holds 900, written by another client since; ours is 850: kept"
    )
    assert a.stored(T0) == 900
    assert a.commit(T0, 901) is None
    a.store.set_or_create_many({OFFSET_OF_T0: b"999"})
    assert a.commit(T0, 10, rewind=True) is None
    assert a.stored(T0) == 10


@pytest.mark.parametrize("data", [b"3", b"850", b"-1", b"", b"no offset", b"\xff"])
def test_a_smaller_or_invalid_offset_is_overwritten(a: OffsetOwner, data: bytes) -> None:
    """A smaller offset, or data that is no offset, is overwritten by ours."""
    a.claim(T0)
    assert a.commit(T0, 800) is None
    a.store.set_or_create_many({OFFSET_OF_T0: data})
    assert a.commit(T0, 850) is None
    assert a.stored(T0) == 850


def test_an_offset_node_that_was_deleted_is_created_again(a: OffsetOwner) -> None:
    """A deleted offset node is created again, together with its parents."""
    a.claim(T0)
    assert a.commit(T0, 800) is None
    a.store.delete_many([OFFSET_OF_T0, "/consumers/g/offsets/t"])
    assert a.commit(T0, 850) is None
    assert a.stored(T0) == 850


def test_an_offset_node_that_appeared_is_compared_first(a: OffsetOwner) -> None:
    """An offset that another client wrote after our claim is compared before it is overwritten."""
    a.claim(T0, T1)
    a.store.set_or_create_many({OFFSET_OF_T0: b"7", "/consumers/g/offsets/t/1": b"70"})
    outcome = a.offsets.commit({T0: OffsetAndMetadata(8), T1: OffsetAndMetadata(8)})
    assert outcome[T0] is None
    assert "holds 70" in str(outcome[T1])


def test_an_offset_that_was_never_fetched_is_compared_first(a: OffsetOwner, b: OffsetOwner) -> None:
    """An offset that was never fetched is not replaced by a smaller one."""
    b.claim(T0)
    assert b.commit(T0, 50) is None
    b.release(T0)
    a.registry.claim({T0: ConsumerThreadId("g_a", 0)})
    assert "holds 50" in str(a.commit(T0, 40))
    assert a.commit(T0, 60) is None


def test_a_refused_partition_does_not_stop_the_others(a: OffsetOwner) -> None:
    """120 partitions in three transactions: two are refused, and all others are written."""
    many = [TopicPartition("t", number) for number in range(120)]
    a.claim(*many)
    a.store.delete_many(["/consumers/g/owners/t/60"])
    a.store.set_or_create_many(
        {OFFSET_OF_T0: b"500", "/consumers/g/offsets/t/119": b"4"},
    )
    outcome = a.offsets.commit({tp: OffsetAndMetadata(9) for tp in many})
    refused = {tp.partition: why for tp, why in outcome.items() if why is not None}
    assert set(refused) == {0, 60}
    assert "holds 500" in refused[0]
    assert "/consumers/g/owners/t/60 is gone" in refused[60]
    fetched = ZookeeperOffsetStore(a.store, "g").fetch(many)
    stored = {tp.partition: fetched_offset for tp, fetched_offset in fetched.items()}
    assert (stored[0], stored[60]) == (FetchedOffset(500), FetchedOffset(None))
    assert {stored[n] for n in range(1, 120) if n != 60} == {FetchedOffset(9)}


def test_after_the_sessions_end_nothing_is_committed(any_world: ZkWorld, a: OffsetOwner) -> None:
    """A commit that belongs to an expired session is not sent in the next one."""
    a.registry.register("g_a", REGISTRATION)
    a.claim(T0)
    assert a.commit(T0, 1) is None
    any_world.expire(a.store)
    with pytest.raises(SessionLost):
        a.commit(T0, 2)
    assert a.stored(T0) == 1


def test_a_node_of_another_session_with_our_thread_id_is_not_ours(
    any_world: ZkWorld, a: OffsetOwner, b: OffsetOwner
) -> None:
    """Ownership is decided by the session that created the node, not by the node's data."""
    b.claim(T0)
    a.store.set_or_create_many({OWNER_OF_T0: b"g_a-0"})
    assert "no longer owned by this member" in str(a.commit(T0, 2))
    any_world.expire(b.store)
    assert "is gone" in str(a.commit(T0, 2))
    a.store.set_or_create_many({OWNER_OF_T0: b"g_a-0"})
    assert "delete it" in str(a.commit(T0, 2))
    assert a.stored(T0) is None
