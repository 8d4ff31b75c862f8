"""Fenced commits: races between two requests, lost responses, and the number of requests."""

from collections.abc import Callable
from functools import partial

import pytest

from tests.fakes.memory_zk import MemoryZkServer
from tests.support.interference import InterferedStore
from tests.support.offset_owners import OffsetOwner
from zkconsumer.errors import RegistryError, SessionLost
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.fenced import PARTITIONS_PER_MULTI
from zkconsumer.zk.registry import GroupRegistry

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
MANY = [TopicPartition("t", number) for number in range(3 * PARTITIONS_PER_MULTI)]
OFFSET_OF_T0, OWNER_OF_T0 = "/consumers/g/offsets/t/0", "/consumers/g/owners/t/0"
Interference = Callable[[], object]


class FencedWorld:
    """A server, a member, and others who act between the member's requests."""

    def __init__(self, *, supports_multi: bool = True) -> None:
        self.server = MemoryZkServer(supports_multi=supports_multi)
        self.others = self.server.connect()
        self.client = self.server.connect()  # lets a test lose responses
        self._plans: dict[tuple[str, int], Interference] = {}
        self._before: dict[str, int] = {}
        store = InterferedStore(self.client, self._interfere)
        self.owner = OffsetOwner(store, GroupRegistry(store, "g"), "a")

    def before(self, kind: str, act: Interference, *, skip: int = 0) -> None:
        """Act before the next batch of this kind, after skipping ``skip`` of them."""
        self._plans[kind, self._before.get(kind, 0) + skip] = act

    def lose_response(self) -> None:
        """Let the next request succeed, and its response be lost."""
        self.client.lost_replies += 1

    def steal(self) -> None:
        """Take the owner node as a Scala member does: delete any, and create one's own."""
        self.others.delete_many([OWNER_OF_T0])
        assert self.others.create(OWNER_OF_T0, b"g_scala-0", ephemeral=True)

    def write_offset(self, data: bytes) -> None:
        """Write an offset as any tool does."""
        self.others.set_or_create_many({OFFSET_OF_T0: data})

    def _interfere(self, kind: str, number: int) -> None:
        self._before[kind] = number + 1
        act = self._plans.pop((kind, number), None)
        if act is not None:
            act()


@pytest.fixture(params=[True, False], ids=["multi", "no-multi"])
def world(request: pytest.FixtureRequest) -> FencedWorld:
    """A member that owns the first partition, with offset 100."""
    world = FencedWorld(supports_multi=request.param)
    world.owner.claim(T0)
    assert world.owner.commit(T0, 100) is None
    return world


def writes(world: FencedWorld) -> str:
    """Return the kind of request that writes offsets."""
    return "multi" if world.server.supports_multi else "write"


# --- Lost responses ------------------------------------------------------------------------------


def test_a_commit_whose_response_was_lost_succeeds_the_next_time(world: FencedWorld) -> None:
    """The same offset is committed again: the node has it, by our own write."""
    world.before(writes(world), world.lose_response)
    with pytest.raises(RegistryError):
        world.owner.commit(T0, 200)
    world.client.requests.clear()
    assert world.owner.commit(T0, 200) is None
    assert world.client.requests[writes(world)] == 1
    assert world.owner.stored(T0) == 200


def test_after_a_lost_response_the_offset_does_not_go_back(world: FencedWorld) -> None:
    """The lost commit counts; only a deliberate rewind goes back."""
    world.before(writes(world), world.lose_response)
    with pytest.raises(RegistryError):
        world.owner.commit(T0, 200)
    for _ in range(2):
        assert world.owner.commit(T0, 150) == (
            f"{OFFSET_OF_T0} holds 200, written by a commit of ours whose response was lost; "
            "ours is 150: kept"
        )
    assert world.owner.commit(T0, 150, rewind=True) is None
    assert world.owner.commit(T0, 140) is None
    assert world.owner.stored(T0) == 140


def test_two_lost_responses_in_a_row_are_both_remembered(world: FencedWorld) -> None:
    """Only the first can have succeeded: the second was for a former version."""
    for offset in (200, 210):
        world.before(writes(world), world.lose_response)
        with pytest.raises(RegistryError):
            world.owner.commit(T0, offset)
    assert "a commit of ours" in str(world.owner.commit(T0, 190))
    assert world.owner.commit(T0, 205) is None
    assert world.owner.stored(T0) == 205


def test_a_lost_response_of_the_first_commit_is_remembered() -> None:
    """The node was created by a request whose response was lost."""
    world = FencedWorld()
    world.owner.claim(T0)
    world.before("multi", world.lose_response)
    with pytest.raises(RegistryError):
        world.owner.commit(T0, 200)
    assert "a commit of ours" in str(world.owner.commit(T0, 150))
    assert world.owner.commit(T0, 200) is None


def test_an_offset_of_others_is_kept_repeatedly(world: FencedWorld) -> None:
    """A refusal reveals the other's offset, but does not permit to overwrite it."""
    world.write_offset(b"900")
    for offset in (850, 851, 899):
        assert "holds 900" in str(world.owner.commit(T0, offset))
    assert world.owner.commit(T0, 901) is None
    assert world.owner.commit(T0, 10) is None


def test_after_a_lost_response_the_offset_of_others_is_kept(world: FencedWorld) -> None:
    """Ours may have succeeded, but the present offset was written after it."""
    world.before(writes(world), world.lose_response)
    with pytest.raises(RegistryError):
        world.owner.commit(T0, 200)
    world.write_offset(b"900")
    assert "holds 900" in str(world.owner.commit(T0, 190))
    assert world.owner.stored(T0) == 900


def test_an_equal_offset_of_others_is_not_ours(world: FencedWorld) -> None:
    """Our lost write failed; another client wrote twice, with the same value in the end."""
    world.server.disconnect(world.client.session_id)
    with pytest.raises(RegistryError):
        world.owner.commit(T0, 200)
    world.server.reconnect(world.client.session_id)
    world.write_offset(b"150")
    world.write_offset(b"200")
    assert "holds 200" in str(world.owner.commit(T0, 190))


def test_a_lost_response_during_a_repair_is_remembered(world: FencedWorld) -> None:
    """The first write meets a changed node; the response to the second is lost."""
    world.write_offset(b"120")
    world.before(writes(world), world.lose_response, skip=1)
    with pytest.raises(RegistryError):
        world.owner.commit(T0, 200)
    assert world.owner.stored(T0) == 200
    assert "a commit of ours" in str(world.owner.commit(T0, 150))


# --- Others act between our requests -------------------------------------------------------------


def test_an_owner_that_changes_after_it_was_read_fails_the_transaction() -> None:
    """The transaction checks the owner node; the error names the present owner."""
    world = FencedWorld()
    world.owner.claim(T0)

    def steal_and_touch() -> None:
        world.steal()
        world.others.set_or_create_many({OWNER_OF_T0: b"g_scala-0"})

    assert world.owner.commit(T0, 100) is None
    world.before("multi", steal_and_touch)
    assert "g_scala-0" in str(world.owner.commit(T0, 200))
    assert world.owner.stored(T0) == 100


def test_an_owner_node_that_vanishes_after_it_was_read_fails_the_transaction() -> None:
    """Nobody owns it: the next owner must find what was committed before."""
    world = FencedWorld()
    world.owner.claim(T0)
    world.before("multi", lambda: world.others.delete_many([OWNER_OF_T0]))
    assert f"{OWNER_OF_T0} is gone" in str(world.owner.commit(T0, 200))
    assert world.owner.stored(T0) is None


def test_a_new_owner_of_the_same_version_is_recognized_by_its_commit(world: FencedWorld) -> None:
    """An owner node deleted and created again between reading and writing looks unchanged."""

    def take_over() -> None:
        world.steal()
        world.write_offset(b"900")

    world.before(writes(world), take_over)
    assert "g_scala-0" in str(world.owner.commit(T0, 200))
    assert world.owner.stored(T0) == 900


def test_a_session_that_ends_between_reading_and_writing_writes_nothing(world: FencedWorld) -> None:
    """The transaction is bound to the session whose nodes were read."""
    world.before(writes(world), lambda: world.server.expire(world.client.session_id))
    with pytest.raises(SessionLost):
        world.owner.commit(T0, 200)
    assert world.owner.stored(T0) == 100


def test_a_slow_former_owner_of_two_loses_against_the_second(world: FencedWorld) -> None:
    """It read its own owner node, then slept while its session ended and another committed."""
    second = OffsetOwner(world.others, GroupRegistry(world.others, "g"), "b")

    def sleep_long() -> None:
        world.server.expire(world.client.session_id)
        second.claim(T0)
        assert second.commit(T0, 900) is None

    world.before(writes(world), sleep_long)
    with pytest.raises(SessionLost):
        world.owner.commit(T0, 150)
    assert second.stored(T0) == 900


def test_a_partition_that_returns_continues_at_the_others_offset(world: FencedWorld) -> None:
    """The fetch after the claim returns what others committed in between."""
    second = OffsetOwner(world.others, GroupRegistry(world.others, "g"), "b")
    world.owner.release(T0)
    second.claim(T0)
    assert second.commit(T0, 900) is None
    second.release(T0)
    world.owner.claim(T0)
    assert world.owner.commit(T0, 950) is None
    assert world.owner.commit(T0, 10) is None
    assert world.owner.stored(T0) == 10


def test_a_fetch_of_other_partitions_forgets_nothing(world: FencedWorld) -> None:
    """Its offset is still known as our own: it may go back, and is not read again."""
    world.owner.claim(T1)
    world.client.requests.clear()
    assert world.owner.commit(T0, 50) is None
    assert world.client.requests["get"] == 0
    assert world.owner.stored(T0) == 50


def test_an_offset_that_keeps_changing_is_refused(world: FencedWorld) -> None:
    """An offset that is written before each of our writes leads to an error, not to a loop."""
    for number in range(20):
        world.before(writes(world), partial(world.write_offset, b"%d" % number), skip=number)
    assert "changed by others" in str(world.owner.commit(T0, 500))


def test_a_rewind_overwrites_an_offset_that_moves_on(
    world: FencedWorld,
) -> None:
    """With ``rewind`` the caller's offset is final."""
    world.before(writes(world), lambda: world.write_offset(b"900"))
    assert world.owner.commit(T0, 5, rewind=True) is None
    assert world.owner.stored(T0) == 5


def test_a_persistent_owner_node_is_reported(world: FencedWorld) -> None:
    """No consumer creates a persistent one, and it would block everybody for ever."""
    world.others.delete_many([OWNER_OF_T0])
    world.others.set_or_create_many({OWNER_OF_T0: b"left"})
    assert f"{OWNER_OF_T0} is a persistent node" in str(world.owner.commit(T0, 200))


# --- What can't be written -----------------------------------------------------------------------


def test_a_node_below_an_ephemeral_one_fails_alone(world: FencedWorld) -> None:
    """That node can't exist; the others of the commit are written."""
    bad = TopicPartition("bad", 0)
    world.others.create("/consumers/g/offsets/bad", b"", ephemeral=True)
    world.owner.claim(bad, T1)
    offsets = dict.fromkeys((T0, T1, bad), OffsetAndMetadata(300))
    assert world.owner.offsets.commit(offsets) == {
        T0: None,
        T1: None,
        bad: "parent is ephemeral",
    }


def test_parents_that_cannot_be_created_fail_their_partitions() -> None:
    """The error names the parent."""
    world = FencedWorld()
    world.others.ensure_paths(["/consumers/g"])
    world.owner.claim(T0)
    world.others.create("/consumers/g/offsets", b"", ephemeral=True)
    assert world.owner.commit(T0, 1) == (
        "/consumers/g/offsets/t could not be created: parent is ephemeral"
    )


def test_each_partition_of_a_commit_has_its_own_result(world: FencedWorld) -> None:
    """Each partition has its own result, in the order of the request."""
    outcome = world.owner.offsets.commit(
        {T1: OffsetAndMetadata(1), T0: OffsetAndMetadata(2**63)}, retry=True
    )
    assert list(outcome) == [T1, T0]
    assert "is gone" in str(outcome[T1])
    assert "can't be an offset" in str(outcome[T0])


# --- The number of requests ----------------------------------------------------------------------


def test_a_repeated_commit_reads_the_owners_once_and_needs_few_transactions() -> None:
    """One read of the owners' parent, one transaction per fifty; no node is read again."""
    world = FencedWorld()
    world.owner.claim(*MANY)
    assert world.owner.commit_all(MANY, 1) == {None}
    world.client.requests.clear()
    assert world.owner.commit_all(MANY, 2) == {None}
    assert +world.client.requests == {"exists": 1, "multi": 3}


def test_a_changed_node_costs_the_transactions_of_its_chunk() -> None:
    """Its chunk is written one by one, and it alone is read again; other chunks are done."""
    world = FencedWorld()
    world.owner.claim(*MANY)
    assert world.owner.commit_all(MANY, 10) == {None}
    world.write_offset(b"3")
    world.client.requests.clear()
    assert world.owner.commit_all(MANY, 20) == {None}
    assert +world.client.requests == {
        "exists": 2,
        "get": 2,
        "multi": 3 + PARTITIONS_PER_MULTI + 1,
    }


def test_a_session_that_ends_before_the_write_writes_nothing(
    world: FencedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new session does not write them either, as its claims are different."""
    name = "multi_many" if world.server.supports_multi else "write_many"
    write = getattr(world.owner.store, name)

    def late(*args: object, **fence: int) -> object:
        world.server.expire(world.client.session_id)
        return write(*args, **fence)

    monkeypatch.setattr(world.owner.store, name, late)
    with pytest.raises(SessionLost):
        world.owner.commit(T0, 200)
    assert world.owner.stored(T0) == 100
