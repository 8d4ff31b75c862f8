"""What is remembered of owner nodes: asked for once, and forgotten as soon as a child has moved."""

import pytest

from tests.fakes.memory_zk import MemoryZkServer, MemoryZkStore
from zkconsumer.errors import RegistryError
from zkconsumer.model import ConsumerThreadId, TopicPartition
from zkconsumer.zk.registry import ClaimConflict, Claimed, GroupRegistry, Owner

ALICE = ConsumerThreadId("g_alice", 0)
TPS = [TopicPartition("t", number) for number in range(100)]
OWNER_7 = "/consumers/g/owners/t/7"


class OwnerWorld:
    """A member that owns a hundred partitions, and somebody else."""

    def __init__(self) -> None:
        self.server = MemoryZkServer()
        self.store: MemoryZkStore = self.server.connect()
        self.other = self.server.connect()
        self.registry = GroupRegistry(self.store, "g")
        assert self.registry.claim(dict.fromkeys(TPS, ALICE)) == Claimed()
        self.store.requests.clear()

    def owned_by_us(self) -> list[int]:
        """The partitions whose nodes are our session's."""
        owners = self.registry.read_owners(TPS)
        mine = Owner(str(ALICE), self.store.session_id)
        return [tp.partition for tp, owner in owners.items() if owner == mine]


@pytest.fixture
def world() -> OwnerWorld:
    """A fresh one."""
    return OwnerWorld()


def test_while_nobody_came_or_went_one_look_is_enough(world: OwnerWorld) -> None:
    """However often it is asked."""
    for _ in range(3):
        assert len(world.owned_by_us()) == 100
    assert +world.store.requests == {"exists": 3}


def test_after_any_coming_or_going_everything_is_read_once(world: OwnerWorld) -> None:
    """Then it is known again."""
    world.other.delete_many([OWNER_7])
    assert 7 not in world.owned_by_us()
    assert world.store.requests["get"] == 100
    world.store.requests.clear()
    assert len(world.owned_by_us()) == 99
    assert +world.store.requests == {"exists": 1, "get": 1}


def test_one_that_was_deleted_and_made_again_by_another_is_the_others(world: OwnerWorld) -> None:
    """Text and version are the same, but the count is not."""
    world.other.delete_many([OWNER_7])
    world.other.create(OWNER_7, str(ALICE).encode(), ephemeral=True)
    assert 7 not in world.owned_by_us()
    assert len(world.owned_by_us()) == 99


def test_a_change_that_races_with_our_own_write_is_seen(world: OwnerWorld) -> None:
    """Our own count and what is found there differ, now and ever after."""
    world.registry.release({TPS[0]: ALICE})
    world.other.delete_many([OWNER_7])
    assert world.owned_by_us() == [n for n in range(1, 100) if n != 7]


def test_parents_that_were_deleted_and_made_again_are_others(world: OwnerWorld) -> None:
    """The counts begin anew with them, and could come out the same."""
    for tp in TPS:
        world.other.delete_many([f"/consumers/g/owners/t/{tp.partition}"])
    world.other.delete_many(["/consumers/g/owners/t"])
    for tp in TPS:
        world.other.create(f"/consumers/g/owners/t/{tp.partition}", b"x", ephemeral=True)
    assert world.owned_by_us() == []


def test_a_write_of_unknown_outcome_is_looked_after(world: OwnerWorld) -> None:
    """Half of them may be gone: nothing is taken from memory."""
    world.store.lose_replies()
    with pytest.raises(RegistryError):
        world.registry.release(dict.fromkeys(TPS[:50], ALICE))
    assert len(world.owned_by_us()) in {50, 100}
    world.registry.release(dict.fromkeys(TPS[:50], ALICE))
    assert world.owned_by_us() == list(range(50, 100))


def test_what_an_ended_session_owned_is_not_ours(world: OwnerWorld) -> None:
    """Its nodes are gone, or another's."""
    world.server.expire(world.store.session_id)
    assert world.owned_by_us() == []


def test_a_conflict_over_many_reads_a_few(world: OwnerWorld) -> None:
    """A listing and some owners, where reading all would take longer than the wait for them."""
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
    assert newcomer.claim(wanted) == Claimed()
