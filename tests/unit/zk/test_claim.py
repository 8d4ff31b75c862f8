"""Claiming and releasing partitions in memory: the number of requests, and races."""

from collections.abc import Callable

import pytest

from tests.fakes.memory_zk import MemoryZkServer, MemoryZkStore
from tests.support.interference import interfered
from zkconsumer.errors import RegistryError
from zkconsumer.model import ConsumerThreadId, TopicPartition
from zkconsumer.zk.group_values import ClaimConflict, Owner
from zkconsumer.zk.registry import GroupRegistry

ALICE = ConsumerThreadId("g_alice", 0)
OWNER_0 = "/consumers/g/owners/t/0"


def all_of(count: int) -> dict[TopicPartition, ConsumerThreadId]:
    """Return the first partitions of topic t, all for one thread."""
    return {TopicPartition("t", number): ALICE for number in range(count)}


def names(store: MemoryZkStore) -> list[str]:
    """Return the owned partitions of topic t."""
    return store.children_many(["/consumers/g/owners/t"])[0] or []


def test_a_large_claim_takes_few_requests() -> None:
    """A claim of 2,000 partitions takes 20 transactions, and a few requests for parents."""
    store = MemoryZkServer().connect()
    assert GroupRegistry(store, "g").claim(all_of(2000)) is None
    assert store.requests["multi"] == 20
    assert store.requests.total() < 30


def test_parents_are_created_once() -> None:
    """A second claim of the same topics does not create their parents again."""
    store = MemoryZkServer().connect()
    registry = GroupRegistry(store, "g")
    registry.claim(all_of(10))
    registry.release(all_of(10))
    store.requests.clear()
    assert registry.claim(all_of(10)) is None
    assert +store.requests == {"exists": 1, "multi": 1}


def test_a_release_reads_once_and_deletes_in_transactions() -> None:
    """A release checks with one read that all nodes are still ours, then takes 20 transactions."""
    store = MemoryZkServer().connect()
    registry = GroupRegistry(store, "g")
    registry.claim(all_of(2000))
    store.requests.clear()
    registry.release(all_of(2000))
    assert +store.requests == {"exists": 1, "multi": 20}
    assert names(store) == []


def test_a_conflict_at_the_start_costs_one_transaction() -> None:
    """The first transaction is sent alone, since most conflicts show there."""
    server = MemoryZkServer()
    other, store = server.connect(), server.connect()
    other.create(OWNER_0, b"g_bob-0", ephemeral=True)
    result = GroupRegistry(store, "g").claim(all_of(2000))
    assert isinstance(result, ClaimConflict)
    assert store.requests["multi"] == 1
    assert names(other) == ["0"]


@pytest.mark.parametrize("supports_multi", [True, False])
def test_a_lost_reply_does_not_stop_the_next_claim(supports_multi: bool) -> None:
    """A claim that succeeded without our knowing counts as ours, by its session."""
    store = MemoryZkServer(supports_multi=supports_multi).connect()
    registry = GroupRegistry(store, "g")
    registry.claim({})
    store.ensure_paths(["/consumers/g/owners/t"])
    registry.claim(all_of(1))
    store.lose_replies()
    with pytest.raises(RegistryError):
        registry.claim(all_of(50))
    assert registry.claim(all_of(50)) is None
    assert len(names(store)) == 50


@pytest.mark.parametrize("supports_multi", [True, False])
def test_a_release_undoes_a_claim_of_unknown_outcome(supports_multi: bool) -> None:
    """After a claim of unknown outcome, a release leaves no node behind."""
    store = MemoryZkServer(supports_multi=supports_multi).connect()
    registry = GroupRegistry(store, "g")
    registry.claim(all_of(1))
    store.lose_replies()
    with pytest.raises(RegistryError):
        registry.claim(all_of(50))
    registry.release(all_of(50))
    assert names(store) == []


def before(kind: str, number: int, act: Callable[[], object]) -> Callable[[str, int], None]:
    """Return an interference that acts before one certain batch."""

    def interfere(now_kind: str, now_number: int) -> None:
        if (now_kind, now_number) == (kind, number):
            act()

    return interfere


@pytest.mark.parametrize("supports_multi", [True, False])
def test_an_owner_that_left_before_it_was_read_is_no_conflict(supports_multi: bool) -> None:
    """An owner node that is gone when it is read is no conflict, and the claim goes on."""
    server = MemoryZkServer(supports_multi=supports_multi)
    other = server.connect()
    other.create(OWNER_0, b"g_bob-0", ephemeral=True)
    store = interfered(server, before("get", 0, lambda: other.delete_many([OWNER_0])))
    assert GroupRegistry(store, "g").claim(all_of(150)) is None
    assert len(names(other)) == 150


@pytest.mark.parametrize("supports_multi", [True, False])
def test_a_member_that_claims_between_two_rounds_is_a_conflict(supports_multi: bool) -> None:
    """If another member takes a partition between two rounds of a claim, it is a conflict.

    The first round found an old node of ours in the way.
    """
    server = MemoryZkServer(supports_multi=supports_multi)
    other = server.connect()
    taken = "/consumers/g/owners/t/120"

    def take() -> None:
        other.delete_many([taken])  # without transactions we have it already
        other.create(taken, b"g_bob-0", ephemeral=True)

    store = interfered(server, before("get", 0, take))
    registry = GroupRegistry(store, "g")
    store.create(OWNER_0, b"g_alice-1", ephemeral=True)
    result = registry.claim(all_of(150))
    assert isinstance(result, ClaimConflict)
    assert set(result.held.values()) == {Owner("g_bob-0", other.session_id)}
    assert names(other) == ["0", "120"]
    owner = registry.read_owners([TopicPartition("t", 0)])[TopicPartition("t", 0)]
    assert owner == Owner("g_alice-1", store.session_id)


def test_owners_that_come_and_go_for_ever_end_the_claim() -> None:
    """A node that is always in the way, and gone whenever it is read, ends the claim."""
    server = MemoryZkServer()
    other = server.connect()

    def flicker(kind: str, _: int) -> None:
        if kind == "multi":
            other.create(OWNER_0, b"g_bob-0", ephemeral=True)
        if kind == "get":
            other.delete_many([OWNER_0])

    store = interfered(server, flicker)
    assert GroupRegistry(store, "g").claim(all_of(3)) == ClaimConflict({})
    other.delete_many([OWNER_0])
    assert names(other) == []


@pytest.mark.parametrize("supports_multi", [True, False])
def test_a_node_that_vanishes_during_the_release_does_not_stop_it(supports_multi: bool) -> None:
    """If a node vanishes during a release, its transaction's other nodes are deleted singly."""
    server = MemoryZkServer(supports_multi=supports_multi)
    other = server.connect()
    kind = "multi" if supports_multi else "write"
    armed: list[bool] = []

    def delete_first(now_kind: str, _: int) -> None:
        if now_kind == kind and armed:
            armed.clear()
            other.delete_many([OWNER_0])

    store = interfered(server, delete_first)
    registry = GroupRegistry(store, "g")
    registry.claim(all_of(250))
    armed.append(True)
    registry.release(all_of(250))
    assert names(other) == []


def test_an_owner_node_that_cannot_be_written_is_named() -> None:
    """An owner node whose parent is ephemeral is an error with its path, and nothing is left."""
    server = MemoryZkServer()
    store = server.connect()
    store.ensure_paths(["/consumers/g/owners"])
    store.create("/consumers/g/owners/t", b"", ephemeral=True)
    with pytest.raises(RegistryError, match="/consumers/g/owners/t/0 could not be written"):
        GroupRegistry(store, "g").claim(all_of(2))


def test_the_first_claim_of_a_topic_takes_one_transaction_too() -> None:
    """Missing parents are created before the first claim, which is then one transaction."""
    store = MemoryZkServer().connect()
    assert GroupRegistry(store, "g").claim(all_of(10)) is None
    assert store.requests["multi"] == 1


def test_parents_that_were_deleted_are_created_again_at_once() -> None:
    """Parents that an operator deleted are created again after one failed transaction."""
    server = MemoryZkServer()
    store, other = server.connect(), server.connect()
    registry = GroupRegistry(store, "g")
    registry.claim(all_of(10))
    registry.release(all_of(10))
    other.delete_many(["/consumers/g/owners/t"])
    other.delete_many(["/consumers/g/owners"])
    store.requests.clear()
    assert registry.claim(all_of(10)) is None
    assert store.requests["multi"] == 2
