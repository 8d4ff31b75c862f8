"""What the registry of a group must do, with and without transactions, in memory and for real."""

from collections.abc import Mapping

import pytest

from tests.support.waiting import wait_until
from tests.support.zk_worlds import ZkWorld
from zkconsumer.errors import ConfigError, LocalProtocolError, RegistryError, SessionLost
from zkconsumer.model import Broker, ConsumerThreadId, TopicPartition
from zkconsumer.zk.nodes import Pattern
from zkconsumer.zk.registry import (
    ClaimConflict,
    Claimed,
    GroupRegistry,
    GroupSnapshot,
    GroupWatches,
    Owner,
    Registered,
    Registration,
    RegistrationConflict,
)
from zkconsumer.zk.store import CreateOp, DeleteOp, SetOp, ZkStore

ALICE = ConsumerThreadId("g_alice", 0)
BOB = ConsumerThreadId("g_bob", 0)
STATIC = Registration(subscription={"t": 1}, timestamp_ms=1795227905398)
Threads = dict[TopicPartition, ConsumerThreadId]


class Member:
    """One member: its client and its registry."""

    def __init__(self, world: ZkWorld) -> None:
        self.store = world.connect()
        self.registry = GroupRegistry(self.store, "g")


class Seen:
    """A watch that writes down what it is told."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []

    def __call__(self, path: str, event: str) -> None:
        self.events.append((path, event))


@pytest.fixture
def alice(any_world: ZkWorld) -> Member:
    """A first member."""
    return Member(any_world)


@pytest.fixture
def bob(any_world: ZkWorld) -> Member:
    """A second member."""
    return Member(any_world)


def partitions(count: int, topic: str = "t") -> list[TopicPartition]:
    """The first partitions of a topic."""
    return [TopicPartition(topic, number) for number in range(count)]


def to(thread: ConsumerThreadId, tps: list[TopicPartition]) -> Threads:
    """All of these partitions for one thread."""
    return dict.fromkeys(tps, thread)


def topics_of(registration: Registration, all_topics: frozenset[str]) -> tuple[str, ...]:
    """Expands a static registration; a wildcard means every topic here."""
    if registration.pattern is Pattern.STATIC:
        return tuple(registration.subscription)
    return tuple(sorted(all_topics))


def read(member: Member, seen: Seen | None = None) -> GroupSnapshot:
    """The group as a rebalance reads it, every change of it told to ``seen``."""
    watch = seen or Seen()
    watches = GroupWatches(members=watch, topics=watch, topic_list=watch, brokers=watch)
    return member.registry.read_group(watches=watches, expand=topics_of)


def write(member: Member, nodes: Mapping[str, bytes]) -> None:
    """Put persistent nodes there, as brokers, tools or strange clients do."""
    assert member.store.set_or_create_many(nodes) == [None] * len(nodes)


def children(store: ZkStore, path: str) -> list[str]:
    """The children, which may be none."""
    return store.children_many([path])[0] or []


# --- Registration --------------------------------------------------------------------------------


def test_a_member_registers_with_scalas_bytes(alice: Member, bob: Member) -> None:
    """The node is ephemeral, its parents hold nothing, its content is Scala's to the byte."""
    assert alice.registry.register("g_alice", STATIC) == Registered(alice.store.session_id)
    parent, node = bob.store.get_many(["/consumers/g/ids", "/consumers/g/ids/g_alice"])
    assert parent is not None
    assert node is not None
    assert (parent.data, parent.ephemeral_owner) == (b"", 0)
    assert node.ephemeral_owner == alice.store.session_id
    assert node.data == (
        b'{"version":1,"subscription":{"t":1},"pattern":"static","timestamp":"1795227905398"}'
    )


def test_registering_again_in_one_session_brings_the_node_up_to_date(alice: Member) -> None:
    """A node of our own session never blocks us, whatever timestamp it holds (KAFKA-1387)."""
    alice.registry.register("g_alice", STATIC)
    later = Registration(subscription={"t": 3}, timestamp_ms=STATIC.timestamp_ms)
    assert alice.registry.register("g_alice", later) == Registered(alice.store.session_id)
    assert alice.registry.register("g_alice", later) == Registered(alice.store.session_id)
    assert read(alice).members == {"g_alice": later}


def test_a_node_of_another_session_is_a_conflict(alice: Member, bob: Member) -> None:
    """The conflict names the session and the age; nothing is changed, and it can be waited for."""
    assert alice.registry.register("g_same", STATIC) == Registered(alice.store.session_id)
    conflict = bob.registry.register("g_same", STATIC)
    assert isinstance(conflict, RegistrationConflict)
    assert conflict.session_id == alice.store.session_id
    assert conflict.age_ms >= 0
    gone = Seen()
    assert bob.registry.watch_registration("g_same", gone)
    alice.store.close()
    wait_until(lambda: gone.events, what="the other session's node to go")
    assert gone.events == [("/consumers/g/ids/g_same", "DELETED")]
    assert not bob.registry.watch_registration("g_same", gone)
    assert bob.registry.register("g_same", STATIC) == Registered(bob.store.session_id)


def test_a_persistent_registration_is_a_conflict_with_nobody(alice: Member) -> None:
    """A node that will never go by itself shows as session 0."""
    write(alice, {"/consumers/g/ids/g_alice": b"left by a tool"})
    conflict = alice.registry.register("g_alice", STATIC)
    assert isinstance(conflict, RegistrationConflict)
    assert conflict.session_id == 0


def test_only_own_registrations_are_deleted(alice: Member, bob: Member) -> None:
    """A member deletes its own node, never another session's."""
    alice.registry.register("g_alice", STATIC)
    bob.registry.register("g_bob", STATIC)
    assert not bob.registry.unregister("g_alice")
    assert not bob.registry.unregister("g_nobody")
    assert alice.registry.unregister("g_alice")
    assert children(bob.store, "/consumers/g/ids") == ["g_bob"]


@pytest.mark.parametrize("group_id", ["", ".", "..", "a/b", "a\x00"])
def test_a_group_id_that_is_no_node_name_is_refused(any_world: ZkWorld, group_id: str) -> None:
    """The message names the setting."""
    with pytest.raises(ConfigError, match="group.id"):  # noqa: RUF043 - the dot may be any
        GroupRegistry(any_world.connect(), group_id)


def test_a_registration_that_scala_could_not_read_is_refused(alice: Member) -> None:
    """Nothing is written that would stop the whole group."""
    with pytest.raises(LocalProtocolError, match="0 streams"):
        alice.registry.register("g_alice", Registration(subscription={"t": 0}, timestamp_ms=1))
    with pytest.raises(ConfigError, match="consumer.id"):  # noqa: RUF043 - the dot may be any
        alice.registry.register("g/alice", STATIC)
    assert children(alice.store, "/") == []


# --- Reading the group ---------------------------------------------------------------------------


def test_the_group_is_read_as_a_whole(alice: Member, bob: Member) -> None:
    """Members, brokers, and the partitions of every topic that anyone subscribes to."""
    wild = Registration(
        subscription={"t.*": 2}, pattern=Pattern.WHITE_LIST, timestamp_ms=STATIC.timestamp_ms
    )
    alice.registry.register("g_alice", STATIC)
    bob.registry.register("g_bob", wild)
    write(
        alice,
        {
            "/brokers/ids/1": b'{"version":1,"host":"h1","port":9092}',
            "/brokers/ids/10": b'{"version":1,"host":"h10","port":9093}',
            "/brokers/topics/t": b'{"version":1,"partitions":{"10":[1],"9":[1]}}',
            "/brokers/topics/tt": b'{"version":1,"partitions":{}}',
        },
    )
    snapshot = read(alice)
    assert snapshot == GroupSnapshot(
        members={"g_alice": STATIC, "g_bob": wild},
        malformed_members={},
        unreadable_by_scala={},
        brokers=(Broker(1, "h1", 9092), Broker(10, "h10", 9093)),
        malformed_brokers={},
        topics={"t": (9, 10), "tt": ()},
        malformed_topics={},
        all_topics=frozenset({"t", "tt"}),
    )


def test_an_empty_zookeeper_reads_as_an_empty_group(alice: Member) -> None:
    """Before any broker and any member there is nothing, and that is no error."""
    snapshot = read(alice)
    assert snapshot.members == {}
    assert snapshot.brokers == ()
    assert snapshot.all_topics == frozenset()


def test_garbage_of_strangers_is_named_and_harms_nobody(alice: Member) -> None:
    """Every unreadable node is told by name and reason; all others are read."""
    alice.registry.register("g_alice", STATIC)
    strange = b'{"version":1,"subscription":{"../x":1,"u":1},"pattern":"static","timestamp":5e9}'
    write(
        alice,
        {
            "/consumers/g/ids/g_pykafka": b"topicname",
            "/consumers/g/ids/g_strange": strange,
            "/brokers/ids/1": b"{}",
            "/brokers/ids/2": b'{"host":"h2","port":9092}',
            "/brokers/ids/x": b"{}",
            "/brokers/topics/t": b'{"partitions":{"0":[2]}}',
            "/brokers/topics/u": b"not json",
        },
    )
    snapshot = read(alice)
    assert sorted(snapshot.members) == ["g_alice", "g_strange"]
    assert list(snapshot.malformed_members) == ["g_pykafka"]
    assert "5e9" in snapshot.unreadable_by_scala["g_strange"]
    assert snapshot.brokers == (Broker(2, "h2", 9092),)
    assert sorted(snapshot.malformed_brokers) == [-1, 1]
    assert snapshot.topics == {"../x": (), "t": (0,), "u": ()}
    assert sorted(snapshot.malformed_topics) == ["../x", "u"]


@pytest.mark.parametrize(
    ("path", "event"),
    [
        ("/consumers/g/ids/g_new", "CHILD"),
        ("/brokers/ids/5", "CHILD"),
        ("/brokers/topics/new", "CHILD"),
        ("/brokers/topics/t", "CHANGED"),
        ("/brokers/topics/late", "CREATED"),
    ],
)
def test_a_change_behind_the_group_is_told(
    alice: Member, bob: Member, path: str, event: str
) -> None:
    """Members, brokers and topics are watched; so is a topic that is not there yet."""
    subscribed = Registration(subscription={"t": 1, "late": 1}, timestamp_ms=1)
    alice.registry.register("g_alice", subscribed)
    write(alice, {"/brokers/topics/t": b'{"partitions":{}}'})
    alice.store.ensure_paths(["/brokers/ids"])
    seen = Seen()
    read(alice, seen)
    write(bob, {path: b'{"partitions":{"0":[1]}}'})
    watched = path.rpartition("/")[0] if event == "CHILD" else path
    wait_until(lambda: (watched, event) in seen.events, what=f"the {event} of {watched}")
    assert {one for one, _ in seen.events} <= {watched, "/brokers/topics"}


def test_brokers_can_be_read_alone(alice: Member, bob: Member) -> None:
    """With a watch on their list, which may not even be there yet."""
    seen = Seen()
    assert alice.registry.read_brokers(watch=seen).brokers == ()
    write(bob, {"/brokers/ids/1": b'{"host":"h1","port":9092}'})
    wait_until(lambda: seen.events, what="the first broker")
    assert alice.registry.read_brokers().brokers == (Broker(1, "h1", 9092),)


# --- Claims --------------------------------------------------------------------------------------


def test_a_claim_makes_ephemeral_nodes_with_the_thread_id(alice: Member, bob: Member) -> None:
    """Everybody sees who owns what, and by which session; the text is the bare thread id."""
    tps = partitions(3)
    assert alice.registry.claim(to(ALICE, tps)) == Claimed()
    assert bob.registry.read_owners([*tps, TopicPartition("t", 3)]) == {
        **dict.fromkeys(tps, Owner("g_alice-0", alice.store.session_id)),
        TopicPartition("t", 3): None,
    }
    node = bob.store.get_many(["/consumers/g/owners/t/2"])[0]
    assert node is not None
    assert node.data == b"g_alice-0"


def test_a_claim_of_nothing_succeeds(alice: Member) -> None:
    """A member without a share claims nothing and writes nothing."""
    assert alice.registry.claim({}) == Claimed()
    alice.registry.release({})
    assert children(alice.store, "/") == []


def test_a_conflict_leaves_nothing_and_names_the_holders(alice: Member, bob: Member) -> None:
    """One partition held by another costs the whole claim, and all holders are told."""
    bob.registry.claim(to(BOB, [TopicPartition("t", 1), TopicPartition("u", 0)]))
    result = alice.registry.claim(to(ALICE, [*partitions(3), *partitions(2, "u")]))
    owner = Owner("g_bob-0", bob.store.session_id)
    held = {TopicPartition("t", 1): owner, TopicPartition("u", 0): owner}
    assert result == ClaimConflict(held)
    assert children(alice.store, "/consumers/g/owners/t") == ["1"]
    assert children(alice.store, "/consumers/g/owners/u") == ["0"]


def test_a_conflict_in_the_last_of_many_chunks_rolls_all_back(alice: Member, bob: Member) -> None:
    """What earlier transactions created is taken back."""
    tps = partitions(730)
    bob.registry.claim(to(BOB, [tps[729]]))
    result = alice.registry.claim(to(ALICE, tps))
    assert isinstance(result, ClaimConflict)
    assert list(result.held) == [tps[729]]
    assert children(bob.store, "/consumers/g/owners/t") == ["729"]


def test_a_large_claim_and_its_release(alice: Member, bob: Member) -> None:
    """2,000 partitions of several topics are claimed, seen and released."""
    tps = [TopicPartition(f"t{number % 7}", number) for number in range(2000)]
    assert alice.registry.claim(to(ALICE, tps)) == Claimed()
    owners = bob.registry.read_owners(tps)
    assert set(owners.values()) == {Owner("g_alice-0", alice.store.session_id)}
    alice.registry.release(to(ALICE, tps))
    assert set(bob.registry.read_owners(tps).values()) == {None}


def test_a_node_of_our_session_with_our_text_counts_as_claimed(alice: Member) -> None:
    """A claim whose answer was lost can be repeated, and reaches further than before."""
    alice.registry.claim(to(ALICE, partitions(150)))
    assert alice.registry.claim(to(ALICE, partitions(300))) == Claimed()
    assert len(children(alice.store, "/consumers/g/owners/t")) == 300


def test_a_partition_that_moves_between_own_threads_is_rewritten(alice: Member) -> None:
    """Our session's node with another text of ours is replaced."""
    tps = partitions(3)
    alice.registry.claim(to(ALICE, tps[1:2]))
    second = ConsumerThreadId("g_alice", 1)
    assert alice.registry.claim(to(second, tps)) == Claimed()
    owners = alice.registry.read_owners(tps)
    assert {owner and owner.thread_id for owner in owners.values()} == {"g_alice-1"}


def test_a_conflict_keeps_what_was_ours_before(alice: Member, bob: Member) -> None:
    """The roll-back takes back this claim's doing, not an earlier claim's."""
    tps = partitions(4)
    alice.registry.claim(to(ALICE, tps[:1]))
    bob.registry.claim(to(BOB, tps[3:]))
    assert isinstance(alice.registry.claim(to(ALICE, tps)), ClaimConflict)
    assert children(alice.store, "/consumers/g/owners/t") == ["0", "3"]
    assert isinstance(alice.registry.claim(to(ConsumerThreadId("g_alice", 1), tps)), ClaimConflict)
    assert alice.registry.read_owners(tps[:1]) == {
        tps[0]: Owner("g_alice-0", alice.store.session_id)
    }


def test_our_own_text_by_another_session_is_a_conflict(alice: Member, bob: Member) -> None:
    """The node of an earlier life of ours goes with its session: to take it for ours is a trap."""
    tps = partitions(1)
    bob.registry.claim(to(ALICE, tps))
    result = alice.registry.claim(to(ALICE, tps))
    assert result == ClaimConflict({tps[0]: Owner("g_alice-0", bob.store.session_id)})


def test_an_owner_that_leaves_can_be_waited_for(alice: Member, bob: Member) -> None:
    """The watch fires for the held node; what is free already is told at once."""
    tps = partitions(2)
    bob.registry.claim(to(BOB, tps[:1]))
    seen = Seen()
    assert alice.registry.watch_owners(tps, seen) == (tps[1],)
    bob.registry.release(to(BOB, tps[:1]))
    wait_until(lambda: seen.events, what="the owner to leave")
    assert seen.events == [("/consumers/g/owners/t/0", "DELETED")]
    assert alice.registry.claim(to(ALICE, tps)) == Claimed()


def test_release_deletes_only_what_is_ours(alice: Member, bob: Member) -> None:
    """Another session's nodes, another thread's, and missing ones stay as they are."""
    tps = partitions(4)
    second = ConsumerThreadId("g_alice", 1)
    alice.registry.claim({tps[0]: ALICE, tps[1]: second})
    bob.registry.claim(to(ALICE, [tps[2]]))
    alice.registry.release(to(ALICE, tps))
    assert children(alice.store, "/consumers/g/owners/t") == ["1", "2"]
    alice.registry.release(to(ALICE, tps))
    assert children(alice.store, "/consumers/g/owners/t") == ["1", "2"]


def test_a_claim_survives_that_its_parents_were_cleaned_up(alice: Member, bob: Member) -> None:
    """Parents are remembered, but made again when somebody deleted them."""
    tps = partitions(2)
    alice.registry.claim(to(ALICE, tps))
    alice.registry.release(to(ALICE, tps))
    bob.store.delete_many(["/consumers/g/owners/t", "/consumers/g/owners"])
    assert alice.registry.claim(to(ALICE, tps)) == Claimed()


def test_a_lost_session_voids_what_it_owned(any_world: ZkWorld, alice: Member, bob: Member) -> None:
    """Its nodes are gone; the member writes nothing until it is registered in the new session."""
    tps = partitions(2)
    alice.registry.register("g_alice", STATIC)
    alice.registry.claim(to(ALICE, tps))
    any_world.expire(alice.store)
    assert set(bob.registry.read_owners(tps).values()) == {None}
    with pytest.raises(SessionLost):
        alice.registry.claim(to(ALICE, tps))
    with pytest.raises(SessionLost):
        alice.registry.release(to(ALICE, tps))
    assert alice.registry.register("g_alice", STATIC) == Registered(alice.store.session_id)
    assert alice.registry.claim(to(ALICE, tps)) == Claimed()


def test_without_a_connection_nothing_is_claimed_later(
    any_world: ZkWorld, alice: Member, bob: Member
) -> None:
    """A claim that failed for want of a connection does not happen after the reconnect."""
    tps = partitions(2)
    alice.registry.register("g_alice", STATIC)
    any_world.disconnect(alice.store)
    with pytest.raises(RegistryError):
        alice.registry.claim(to(ALICE, tps))
    any_world.reconnect(alice.store)
    assert alice.registry.read_owners(tps) == dict.fromkeys(tps)
    assert bob.registry.claim(to(BOB, tps)) == Claimed()


def test_blind_deletes_of_scala_members_do_not_confuse_a_release(
    alice: Member, bob: Member
) -> None:
    """Somebody deleted one of our nodes and a third one changed hands: the rest is released."""
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
