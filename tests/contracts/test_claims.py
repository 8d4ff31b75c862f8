"""Claims and releases of partitions, with and without transactions, in memory and for real."""

import pytest

from tests.support.waiting import wait_until
from tests.support.zk_members import Member, SeenEvents, children
from tests.support.zk_worlds import ZkWorld
from zkconsumer.errors import RegistryError, SessionLost
from zkconsumer.model import ConsumerThreadId, TopicPartition
from zkconsumer.zk.group_values import ClaimConflict, Owner
from zkconsumer.zk.nodes import Registration
from zkconsumer.zk.store import CreateOp, DeleteOp, SetOp

ALICE = ConsumerThreadId("g_alice", 0)
BOB = ConsumerThreadId("g_bob", 0)
STATIC = Registration(subscription={"t": 1}, timestamp_ms=1795227905398)


def partitions(count: int, topic: str = "t") -> list[TopicPartition]:
    """The first partitions of a topic."""
    return [TopicPartition(topic, number) for number in range(count)]


def to(
    thread: ConsumerThreadId, tps: list[TopicPartition]
) -> dict[TopicPartition, ConsumerThreadId]:
    """All of these partitions for one thread."""
    return dict.fromkeys(tps, thread)


def test_a_claim_makes_ephemeral_nodes_with_the_thread_id(alice: Member, bob: Member) -> None:
    """Every client sees each owner and its session; the node's data is the bare thread id."""
    tps = partitions(3)
    assert alice.registry.claim(to(ALICE, tps)) is None
    assert bob.registry.read_owners([*tps, TopicPartition("t", 3)]) == {
        **dict.fromkeys(tps, Owner("g_alice-0", alice.store.session_id)),
        TopicPartition("t", 3): None,
    }
    node = bob.store.get_many(["/consumers/g/owners/t/2"])[0]
    assert node is not None
    assert node.data == b"g_alice-0"


def test_a_claim_of_nothing_succeeds(alice: Member) -> None:
    """A member without partitions writes nothing."""
    assert alice.registry.claim({}) is None
    alice.registry.release({})
    assert children(alice.store, "/") == []


def test_a_conflict_claims_nothing_and_names_the_owners(alice: Member, bob: Member) -> None:
    """One partition with another owner fails the whole claim; the result names every owner."""
    bob.registry.claim(to(BOB, [TopicPartition("t", 1), TopicPartition("u", 0)]))
    result = alice.registry.claim(to(ALICE, [*partitions(3), *partitions(2, "u")]))
    owner = Owner("g_bob-0", bob.store.session_id)
    held = {TopicPartition("t", 1): owner, TopicPartition("u", 0): owner}
    assert result == ClaimConflict(held)
    assert children(alice.store, "/consumers/g/owners/t") == ["1"]
    assert children(alice.store, "/consumers/g/owners/u") == ["0"]


def test_a_conflict_in_the_last_of_many_chunks_rolls_all_back(alice: Member, bob: Member) -> None:
    """Nodes that earlier transactions of the claim created are deleted again."""
    tps = partitions(730)
    bob.registry.claim(to(BOB, [tps[729]]))
    result = alice.registry.claim(to(ALICE, tps))
    assert isinstance(result, ClaimConflict)
    assert list(result.held) == [tps[729]]
    assert children(bob.store, "/consumers/g/owners/t") == ["729"]


def test_a_large_claim_and_its_release(alice: Member, bob: Member) -> None:
    """2,000 partitions of several topics are claimed, visible to others, and released."""
    tps = [TopicPartition(f"t{number % 7}", number) for number in range(2000)]
    assert alice.registry.claim(to(ALICE, tps)) is None
    owners = bob.registry.read_owners(tps)
    assert set(owners.values()) == {Owner("g_alice-0", alice.store.session_id)}
    alice.registry.release(to(ALICE, tps))
    assert set(bob.registry.read_owners(tps).values()) == {None}


def test_a_node_of_our_session_with_our_thread_id_counts_as_claimed(alice: Member) -> None:
    """A claim whose response was lost can be repeated, also with more partitions."""
    alice.registry.claim(to(ALICE, partitions(150)))
    assert alice.registry.claim(to(ALICE, partitions(300))) is None
    assert len(children(alice.store, "/consumers/g/owners/t")) == 300


def test_a_large_claim_whose_responses_were_lost_can_be_repeated(alice: Member) -> None:
    """Where all transactions were applied, the repeat succeeds, and restores deleted nodes."""
    tps = partitions(1500)
    assert alice.registry.claim(to(ALICE, tps)) is None
    alice.store.write_many(
        [DeleteOp("/consumers/g/owners/t/7"), DeleteOp("/consumers/g/owners/t/1400")]
    )
    assert alice.registry.claim(to(ALICE, tps)) is None
    assert len(children(alice.store, "/consumers/g/owners/t")) == 1500


def test_a_partition_that_moves_between_own_threads_is_rewritten(alice: Member) -> None:
    """A node of our session that names another of our threads is overwritten."""
    tps = partitions(3)
    alice.registry.claim(to(ALICE, tps[1:2]))
    second = ConsumerThreadId("g_alice", 1)
    assert alice.registry.claim(to(second, tps)) is None
    owners = alice.registry.read_owners(tps)
    assert {owner and owner.thread_id for owner in owners.values()} == {"g_alice-1"}


def test_a_conflict_keeps_earlier_claims(alice: Member, bob: Member) -> None:
    """The rollback undoes this claim only, not an earlier one."""
    tps = partitions(4)
    alice.registry.claim(to(ALICE, tps[:1]))
    bob.registry.claim(to(BOB, tps[3:]))
    assert isinstance(alice.registry.claim(to(ALICE, tps)), ClaimConflict)
    assert children(alice.store, "/consumers/g/owners/t") == ["0", "3"]
    assert isinstance(alice.registry.claim(to(ConsumerThreadId("g_alice", 1), tps)), ClaimConflict)
    assert alice.registry.read_owners(tps[:1]) == {
        tps[0]: Owner("g_alice-0", alice.store.session_id)
    }


def test_our_thread_id_in_another_session_is_a_conflict(alice: Member, bob: Member) -> None:
    """A node of our former session will vanish with that session, so it is not ours."""
    tps = partitions(1)
    bob.registry.claim(to(ALICE, tps))
    result = alice.registry.claim(to(ALICE, tps))
    assert result == ClaimConflict({tps[0]: Owner("g_alice-0", bob.store.session_id)})


def test_an_owner_that_leaves_can_be_waited_for(alice: Member, bob: Member) -> None:
    """Free partitions are returned at once; for the others the watch fires when they are."""
    tps = partitions(2)
    bob.registry.claim(to(BOB, tps[:1]))
    seen = SeenEvents()
    assert alice.registry.watch_owners(tps, seen) == (tps[1],)
    bob.registry.release(to(BOB, tps[:1]))
    wait_until(lambda: seen.events, what="the owner to leave")
    assert seen.events == [("/consumers/g/owners/t/0", "DELETED")]
    assert alice.registry.claim(to(ALICE, tps)) is None


def test_release_deletes_only_what_is_ours(alice: Member, bob: Member) -> None:
    """A release leaves nodes of other sessions and threads alone, and ignores missing ones."""
    tps = partitions(4)
    second = ConsumerThreadId("g_alice", 1)
    alice.registry.claim({tps[0]: ALICE, tps[1]: second})
    bob.registry.claim(to(ALICE, [tps[2]]))
    alice.registry.release(to(ALICE, tps))
    assert children(alice.store, "/consumers/g/owners/t") == ["1", "2"]
    alice.registry.release(to(ALICE, tps))
    assert children(alice.store, "/consumers/g/owners/t") == ["1", "2"]


def test_a_claim_creates_deleted_parents_again(alice: Member, bob: Member) -> None:
    """Parent nodes are created once, and again if another client deleted them."""
    tps = partitions(2)
    alice.registry.claim(to(ALICE, tps))
    alice.registry.release(to(ALICE, tps))
    bob.store.delete_many(["/consumers/g/owners/t", "/consumers/g/owners"])
    assert alice.registry.claim(to(ALICE, tps)) is None


def test_a_lost_session_loses_its_partitions(
    any_world: ZkWorld, alice: Member, bob: Member
) -> None:
    """Its nodes are gone; it writes nothing before it has registered in the new session."""
    tps = partitions(2)
    alice.registry.register("g_alice", STATIC)
    alice.registry.claim(to(ALICE, tps))
    any_world.expire(alice.store)
    assert set(bob.registry.read_owners(tps).values()) == {None}
    with pytest.raises(SessionLost):
        alice.registry.claim(to(ALICE, tps))
    with pytest.raises(SessionLost):
        alice.registry.release(to(ALICE, tps))
    assert alice.registry.register("g_alice", STATIC) is None
    assert alice.registry.claim(to(ALICE, tps)) is None


def test_a_claim_without_a_connection_is_not_applied_later(
    any_world: ZkWorld, alice: Member, bob: Member
) -> None:
    """A claim that failed while disconnected is not applied after the reconnect."""
    tps = partitions(2)
    alice.registry.register("g_alice", STATIC)
    any_world.disconnect(alice.store)
    with pytest.raises(RegistryError):
        alice.registry.claim(to(ALICE, tps))
    any_world.reconnect(alice.store)
    assert alice.registry.read_owners(tps) == dict.fromkeys(tps)
    assert bob.registry.claim(to(BOB, tps)) is None


def test_blind_deletes_of_scala_members_do_not_confuse_a_release(
    alice: Member, bob: Member
) -> None:
    """Nodes that were deleted, taken over or overwritten are left alone by a release."""
    tps = partitions(3)
    alice.registry.claim(to(ALICE, tps))
    bob.store.write_many(
        [
            DeleteOp("/consumers/g/owners/t/0"),
            DeleteOp("/consumers/g/owners/t/1"),
            CreateOp("/consumers/g/owners/t/1", b"g_bob-0", ephemeral=True),
            SetOp("/consumers/g/owners/t/2", b"g_carol-0"),
        ]
    )
    alice.registry.release(to(ALICE, tps))
    assert bob.registry.read_owners(tps) == {
        tps[0]: None,
        tps[1]: Owner("g_bob-0", bob.store.session_id),
        tps[2]: Owner("g_carol-0", alice.store.session_id),
    }


# --- What is remembered --------------------------------------------------------------------------


def test_a_node_that_another_member_created_again_is_not_taken_for_ours(
    alice: Member, bob: Member
) -> None:
    """Scala members delete blindly and create again: the new node's version equals ours."""
    tps = partitions(3)
    assert alice.registry.claim(to(ALICE, tps)) is None
    assert set(alice.registry.read_owners(tps).values()) == {
        Owner("g_alice-0", alice.store.session_id)
    }
    bob.store.delete_many(["/consumers/g/owners/t/1"])
    bob.store.create("/consumers/g/owners/t/1", b"g_alice-0", ephemeral=True)
    owners = alice.registry.read_owners(tps)
    assert owners[tps[1]] == Owner("g_alice-0", bob.store.session_id)
    alice.registry.release(to(ALICE, tps))
    assert children(alice.store, "/consumers/g/owners/t") == ["1"]


def test_remembered_owners_follow_our_own_writes(alice: Member, bob: Member) -> None:
    """After claims and releases by both members, reads return the current owners."""
    tps = partitions(6)
    alice.registry.claim(to(ALICE, tps[:4]))
    alice.registry.release(to(ALICE, tps[:1]))
    bob.registry.claim(to(BOB, tps[:1]))
    alice.registry.claim(to(ALICE, tps[4:5]))
    alice.registry.release(to(ALICE, tps[1:2]))
    for member in (alice, bob):
        owners = member.registry.read_owners(tps)
        assert [owner and owner.thread_id for owner in owners.values()] == [
            *("g_bob-0", None),
            *["g_alice-0"] * 3,
            None,
        ]
        assert owners == member.registry.read_owners(tps)


def test_a_node_of_ours_that_a_tool_rewrote_is_still_released(alice: Member, bob: Member) -> None:
    """A node that a tool rewrote has another version; the release notices and deletes it."""
    tps = partitions(3)
    alice.registry.claim(to(ALICE, tps))
    bob.store.set_or_create_many({"/consumers/g/owners/t/1": b"g_alice-0"})
    alice.registry.release(to(ALICE, tps))
    assert children(alice.store, "/consumers/g/owners/t") == []


def test_a_conflict_over_many_partitions_names_every_larger_owner(
    any_world: ZkWorld, alice: Member, bob: Member
) -> None:
    """Two owners hold 100 of 300 partitions each; the conflict names some of both, and the last."""
    carol = Member(any_world.connect())
    tps = partitions(300)
    alice.registry.claim(to(ALICE, tps[:100]))
    bob.registry.claim(to(BOB, tps[100:200]))
    result = carol.registry.claim(to(ConsumerThreadId("g_carol", 0), tps))
    assert isinstance(result, ClaimConflict)
    assert {owner.thread_id for owner in result.held.values()} == {"g_alice-0", "g_bob-0"}
    assert tps[199] in result.held
    assert len(result.held) <= 32
    seen = SeenEvents()
    assert carol.registry.watch_owners(list(result.held), seen) == ()
    alice.registry.release(to(ALICE, tps[:100]))
    wait_until(lambda: len(seen.events) == 1, what="word of the last of alice's nodes")
    bob.registry.release(to(BOB, tps[100:200]))
    wait_until(lambda: len(seen.events) == 2, what="word of the last of bob's nodes")
    assert carol.registry.claim(to(ConsumerThreadId("g_carol", 0), tps)) is None
