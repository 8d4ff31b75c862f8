"""The cache of owner nodes: read once, and invalid as soon as any child node has changed."""

import pytest

from tests.fakes.memory_zk import MemoryZkServer, MemoryZkStore
from zkconsumer.errors import RegistryError
from zkconsumer.model import ConsumerThreadId, TopicPartition
from zkconsumer.zk.group_values import ClaimConflict, Owner
from zkconsumer.zk.registry import GroupRegistry

ALICE = ConsumerThreadId("g_alice", 0)
TPS = [TopicPartition("t", number) for number in range(100)]
OWNER_7 = "/consumers/g/owners/t/7"


class OwnerWorld:
    """A member that owns a hundred partitions, and another client."""

    def __init__(self) -> None:
        self.server = MemoryZkServer()
        self.store: MemoryZkStore = self.server.connect()
        self.other = self.server.connect()
        self.registry = GroupRegistry(self.store, "g")
        assert self.registry.claim(dict.fromkeys(TPS, ALICE)) is None
        self.store.requests.clear()

    def owned_by_us(self) -> list[int]:
        """Return the partitions whose owner nodes are of our session."""
        owners = self.registry.read_owners(TPS)
        mine = Owner(str(ALICE), self.store.session_id)
        return [tp.partition for tp, owner in owners.items() if owner == mine]


@pytest.fixture
def world() -> OwnerWorld:
    """Create a world."""
    return OwnerWorld()


def test_without_changes_one_request_is_enough(world: OwnerWorld) -> None:
    """While no owner node changes, one request confirms the cache, however often."""
    for _ in range(3):
        assert len(world.owned_by_us()) == 100
    assert +world.store.requests == {"exists": 3}


def test_after_any_change_everything_is_read_once(world: OwnerWorld) -> None:
    """After a change all owner nodes are read once, and are cached again."""
    world.other.delete_many([OWNER_7])
    assert 7 not in world.owned_by_us()
    assert world.store.requests["get"] == 100
    world.store.requests.clear()
    assert len(world.owned_by_us()) == 99
    assert +world.store.requests == {"exists": 1, "get": 1}


def test_a_node_that_another_client_recreated_is_not_ours(world: OwnerWorld) -> None:
    """A node that another client recreated is not ours, though its text is the same."""
    world.other.delete_many([OWNER_7])
    world.other.create(OWNER_7, str(ALICE).encode(), ephemeral=True)
    assert 7 not in world.owned_by_us()
    assert len(world.owned_by_us()) == 99


def test_a_change_that_races_with_our_own_write_is_noticed(world: OwnerWorld) -> None:
    """A change that races with our own write is noticed: the parent's version differs for good."""
    world.registry.release({TPS[0]: ALICE})
    world.other.delete_many([OWNER_7])
    assert world.owned_by_us() == [n for n in range(1, 100) if n != 7]


def test_recreated_parents_invalidate_the_cache(world: OwnerWorld) -> None:
    """Parents that were recreated invalidate the cache, even if their versions are the same."""
    for tp in TPS:
        world.other.delete_many([f"/consumers/g/owners/t/{tp.partition}"])
    world.other.delete_many(["/consumers/g/owners/t"])
    for tp in TPS:
        world.other.create(f"/consumers/g/owners/t/{tp.partition}", b"x", ephemeral=True)
    assert world.owned_by_us() == []


def test_a_write_of_unknown_outcome_invalidates_the_cache(world: OwnerWorld) -> None:
    """After a write of unknown outcome nothing is taken from the cache."""
    world.store.lose_replies()
    with pytest.raises(RegistryError):
        world.registry.release(dict.fromkeys(TPS[:50], ALICE))
    assert len(world.owned_by_us()) in {50, 100}
    world.registry.release(dict.fromkeys(TPS[:50], ALICE))
    assert world.owned_by_us() == list(range(50, 100))


def test_what_an_ended_session_owned_is_not_ours(world: OwnerWorld) -> None:
    """Nodes of an ended session are not ours."""
    world.server.expire(world.store.session_id)
    assert world.owned_by_us() == []


def test_a_conflict_over_many_partitions_reads_a_few_owners(world: OwnerWorld) -> None:
    """A conflict over many partitions reads a list and a few owners, as all would take too long."""
    newcomer = GroupRegistry(world.other, "g")
    bob = ConsumerThreadId("g_bob", 0)
    newcomer.claim({TopicPartition("t", 100): bob})
    world.other.requests.clear()
    wanted = {TopicPartition("t", number): bob for number in range(101)}
    result = newcomer.claim(wanted)
    assert isinstance(result, ClaimConflict)
    assert TPS[-1] in result.held
    assert world.other.requests["get"] <= 40
    seen: list[str] = []
    newcomer.watch_owners(list(result.held), lambda path, _: seen.append(path))
    world.registry.release(dict.fromkeys(TPS, ALICE))
    assert seen == ["/consumers/g/owners/t/99"]
    assert newcomer.claim(wanted) is None
