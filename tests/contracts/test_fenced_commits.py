"""Commits that only the owner of a partition can make, with and without transactions."""

import pytest

from tests.support.offset_owners import OffsetOwner
from tests.support.zk_members import Member
from tests.support.zk_worlds import ZkWorld
from zkconsumer.errors import SessionLost
from zkconsumer.model import ConsumerThreadId, OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.store import FetchedOffset
from zkconsumer.offsets.zookeeper import ZookeeperOffsetStore
from zkconsumer.zk.registry import Registration

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
    """Its own position may go back (a truncated log): nobody else wrote, so it is written."""
    a.claim(T0)
    for offset in (5, 900, 900, 17, 0):
        assert a.commit(T0, offset) is None
        assert a.stored(T0) == offset


def test_who_owns_nothing_commits_nothing(a: OffsetOwner, b: OffsetOwner) -> None:
    """The refusal names the partition and, where there is one, the owner."""
    a.claim(T0)
    assert "g_a-0" in str(b.commit(T0, 1))
    assert f"{OWNER_OF_T0[:-1]}1 is gone" in str(b.commit(T1, 1))
    assert a.stored(T0) is None


def test_a_slow_former_owner_moves_nothing_back(a: OffsetOwner, b: OffsetOwner) -> None:
    """What it held back while its partition went to another is refused."""
    a.claim(T0)
    assert a.commit(T0, 100) is None
    a.release(T0)
    b.claim(T0)
    assert b.commit(T0, 900) is None
    assert "g_b-0" in str(a.commit(T0, 150))
    assert b.stored(T0) == 900


def test_an_offset_that_somebody_else_moved_on_is_kept(a: OffsetOwner) -> None:
    """Even the owner doesn't go behind it, unless it means to."""
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
def test_what_is_smaller_or_no_offset_is_overwritten(a: OffsetOwner, data: bytes) -> None:
    """Ours is the better one."""
    a.claim(T0)
    assert a.commit(T0, 800) is None
    a.store.set_or_create_many({OFFSET_OF_T0: data})
    assert a.commit(T0, 850) is None
    assert a.stored(T0) == 850


def test_an_offset_node_that_was_deleted_is_made_again(a: OffsetOwner) -> None:
    """With its parents, if those are gone, too."""
    a.claim(T0)
    assert a.commit(T0, 800) is None
    a.store.delete_many([OFFSET_OF_T0, "/consumers/g/offsets/t"])
    assert a.commit(T0, 850) is None
    assert a.stored(T0) == 850


def test_an_offset_node_that_appeared_is_looked_at(a: OffsetOwner) -> None:
    """It was not there when the partition was claimed."""
    a.claim(T0, T1)
    a.store.set_or_create_many({OFFSET_OF_T0: b"7", "/consumers/g/offsets/t/1": b"70"})
    outcome = a.offsets.commit({T0: OffsetAndMetadata(8), T1: OffsetAndMetadata(8)})
    assert outcome[T0] is None
    assert "holds 70" in str(outcome[T1])


def test_one_that_was_never_fetched_is_looked_at_first(a: OffsetOwner, b: OffsetOwner) -> None:
    """Without a fetch nothing says that a smaller offset is meant."""
    b.claim(T0)
    assert b.commit(T0, 50) is None
    b.release(T0)
    a.registry.claim({T0: ConsumerThreadId("g_a", 0)})
    assert "holds 50" in str(a.commit(T0, 40))
    assert a.commit(T0, 60) is None


def test_one_that_is_refused_keeps_no_other_from_being_written(a: OffsetOwner) -> None:
    """120 partitions in three transactions; three of them are not as they should be."""
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
    stored = {tp.partition: it for tp, it in fetched.items()}
    assert (stored[0], stored[60]) == (FetchedOffset(500), FetchedOffset(None))
    assert {stored[n] for n in range(1, 120) if n != 60} == {FetchedOffset(9)}


def test_after_the_session_nothing_is_committed(any_world: ZkWorld, a: OffsetOwner) -> None:
    """What an ended owner held back is not sent in its next session."""
    a.registry.register("g_a", REGISTRATION)
    a.claim(T0)
    assert a.commit(T0, 1) is None
    any_world.expire(a.store)
    with pytest.raises(SessionLost):
        a.commit(T0, 2)
    assert a.stored(T0) == 1


def test_a_node_of_an_earlier_session_with_our_text_is_not_ours(
    any_world: ZkWorld, a: OffsetOwner, b: OffsetOwner
) -> None:
    """The text can't tell; the session that made the node does."""
    b.claim(T0)
    a.store.set_or_create_many({OWNER_OF_T0: b"g_a-0"})
    assert "no longer owned by this member" in str(a.commit(T0, 2))
    any_world.expire(b.store)
    assert "is gone" in str(a.commit(T0, 2))
    a.store.set_or_create_many({OWNER_OF_T0: b"g_a-0"})
    assert "delete it" in str(a.commit(T0, 2))
    assert a.stored(T0) is None
