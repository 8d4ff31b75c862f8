"""Members register and read their group, with and without transactions, in memory and for real."""

from collections.abc import Mapping

import pytest

from tests.support.waiting import wait_until
from tests.support.zk_members import Member, SeenEvents, children
from tests.support.zk_worlds import ZkWorld
from zkconsumer.errors import ConfigError, LocalProtocolError
from zkconsumer.model import Broker
from zkconsumer.zk.group_values import GroupSnapshot, GroupWatches, RegistrationConflict
from zkconsumer.zk.nodes import Pattern, Registration
from zkconsumer.zk.registry import GroupRegistry
from zkconsumer.zk.topic_nodes import topic_czxids

STATIC = Registration(subscription={"t": 1}, timestamp_ms=1795227905398)


def topics_of(registration: Registration, all_topics: tuple[str, ...]) -> tuple[str, ...]:
    """Return a static registration's topics; a wildcard matches every topic here."""
    if registration.pattern is Pattern.STATIC:
        return tuple(registration.subscription)
    return tuple(sorted(all_topics))


def read(member: Member, seen: SeenEvents | None = None) -> GroupSnapshot:
    """Read the group as a rebalance does; each later change calls ``seen``."""
    watch = seen or SeenEvents()
    watches = GroupWatches(members=watch, topics=watch, topic_list=watch, brokers=watch)
    return member.registry.read_group(watches=watches, expand=topics_of, own_topics=("t", "late"))


def write(member: Member, nodes: Mapping[str, bytes]) -> None:
    """Write persistent nodes, as brokers, tools or other clients do."""
    assert member.store.set_or_create_many(nodes) == [None] * len(nodes)


# --- Registration --------------------------------------------------------------------------------


def test_a_member_registers_with_scalas_bytes(alice: Member, bob: Member) -> None:
    """The node is ephemeral, its parents are empty, and its data is Scala's to the byte."""
    assert alice.registry.register("g_alice", STATIC) is None
    parent, node = bob.store.get_many(["/consumers/g/ids", "/consumers/g/ids/g_alice"])
    assert parent is not None
    assert node is not None
    assert (parent.data, parent.ephemeral_owner) == (b"", 0)
    assert node.ephemeral_owner == alice.store.session_id
    assert node.data == (
        b'{"version":1,"subscription":{"t":1},"pattern":"static","timestamp":"1795227905398"}'
    )


def test_registering_again_in_one_session_updates_the_node(alice: Member) -> None:
    """A node of our own session is overwritten, whatever timestamp it has (KAFKA-1387)."""
    alice.registry.register("g_alice", STATIC)
    later = Registration(subscription={"t": 3}, timestamp_ms=STATIC.timestamp_ms)
    assert alice.registry.register("g_alice", later) is None
    assert alice.registry.register("g_alice", later) is None
    assert read(alice).members == {"g_alice": later}


def test_a_node_of_another_session_is_a_conflict(alice: Member, bob: Member) -> None:
    """The conflict has the session; a watch fires when the other node goes."""
    assert alice.registry.register("g_same", STATIC) is None
    conflict = bob.registry.register("g_same", STATIC)
    assert isinstance(conflict, RegistrationConflict)
    assert conflict.session_id == alice.store.session_id
    gone = SeenEvents()
    assert bob.registry.watch_registration("g_same", gone)
    alice.store.close()
    wait_until(lambda: gone.events, what="the other session's node to go")
    assert gone.events == [("/consumers/g/ids/g_same", "DELETED")]
    assert not bob.registry.watch_registration("g_same", gone)
    assert bob.registry.register("g_same", STATIC) is None


def test_a_persistent_registration_is_a_conflict_with_session_0(alice: Member) -> None:
    """A persistent node, which no session's end deletes, has session id 0 in the conflict."""
    write(alice, {"/consumers/g/ids/g_alice": b"left by a tool"})
    conflict = alice.registry.register("g_alice", STATIC)
    assert isinstance(conflict, RegistrationConflict)
    assert conflict.session_id == 0


def test_only_own_registrations_are_deleted(alice: Member, bob: Member) -> None:
    """``unregister`` deletes our own node, never another session's."""
    alice.registry.register("g_alice", STATIC)
    bob.registry.register("g_bob", STATIC)
    assert not bob.registry.unregister("g_alice")
    assert not bob.registry.unregister("g_nobody")
    assert alice.registry.unregister("g_alice")
    assert children(bob.store, "/consumers/g/ids") == ["g_bob"]


@pytest.mark.parametrize("group_id", ["", ".", "..", "a/b", "a\x00"])
def test_a_group_id_that_is_not_a_node_name_is_refused(any_world: ZkWorld, group_id: str) -> None:
    """The error names the setting ``group.id``."""
    with pytest.raises(ConfigError, match="group.id"):  # noqa: RUF043 - the dot may be any
        GroupRegistry(any_world.connect(), group_id)


def test_a_registration_that_scala_could_not_read_is_refused(alice: Member) -> None:
    """A registration that would stop Scala members is refused before it is written."""
    with pytest.raises(LocalProtocolError, match="0 streams"):
        alice.registry.register("g_alice", Registration(subscription={"t": 0}, timestamp_ms=1))
    with pytest.raises(ConfigError, match="consumer.id"):  # noqa: RUF043 - the dot may be any
        alice.registry.register("g/alice", STATIC)
    assert children(alice.store, "/") == []


# --- Reading the group ---------------------------------------------------------------------------


def test_the_group_is_read_as_a_whole(alice: Member, bob: Member) -> None:
    """A snapshot has members, brokers, and the partitions of every subscribed topic."""
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
        all_topics=("tt", "t"),
        topic_czxids=topic_czxids(alice.store, ["t", "tt"]),
    )
    assert snapshot.topic_czxids["t"] < snapshot.topic_czxids["tt"]


def test_a_topic_that_is_created_again_has_another_czxid(alice: Member) -> None:
    """It is larger than any transaction id from before; a missing topic has no czxid."""
    write(alice, {"/brokers/topics/t": b"{}"})
    before = topic_czxids(alice.store, ["t"])["t"]
    alice.store.set_or_create_many({"/brokers/topics/t": b'{"version":1}'})
    assert topic_czxids(alice.store, ["t", "no/topic", "gone"]) == {"t": before}
    alice.store.delete_many(["/brokers/topics/t"])
    write(alice, {"/offset": b"200"})
    written = alice.store.exists_many(["/offset"])[0]
    assert topic_czxids(alice.store, ["t"]) == {}
    write(alice, {"/brokers/topics/t": b"{}"})
    assert written is not None
    assert before < written.mzxid < topic_czxids(alice.store, ["t"])["t"]


def test_an_empty_zookeeper_reads_as_an_empty_group(alice: Member) -> None:
    """Without any nodes, members, brokers and topics are empty, and there is no error."""
    snapshot = read(alice)
    assert snapshot.members == {}
    assert snapshot.brokers == ()
    assert snapshot.all_topics == ()


def test_malformed_nodes_are_reported_and_harm_nobody(alice: Member) -> None:
    """Every malformed node is reported with a reason; all others are read."""
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
def test_a_change_of_the_group_calls_the_watch(
    alice: Member, bob: Member, path: str, event: str
) -> None:
    """A read leaves watches on members, brokers and topics, also on topics yet to be created."""
    subscribed = Registration(subscription={"t": 1, "late": 1}, timestamp_ms=1)
    alice.registry.register("g_alice", subscribed)
    write(alice, {"/brokers/topics/t": b'{"partitions":{}}'})
    alice.store.ensure_paths(["/brokers/ids"])
    seen = SeenEvents()
    read(alice, seen)
    write(bob, {path: b'{"partitions":{"0":[1]}}'})
    watched = path.rpartition("/")[0] if event == "CHILD" else path
    wait_until(lambda: (watched, event) in seen.events, what=f"the {event} of {watched}")
    assert {text for text, _ in seen.events} <= {watched, "/brokers/topics"}


def test_brokers_can_be_read_alone(alice: Member, bob: Member) -> None:
    """A read of the brokers leaves a watch on their list, even if that does not exist yet."""
    seen = SeenEvents()
    assert alice.registry.read_brokers(watch=seen).brokers == ()
    write(bob, {"/brokers/ids/1": b'{"host":"h1","port":9092}'})
    wait_until(lambda: seen.events, what="the first broker")
    assert alice.registry.read_brokers().brokers == (Broker(1, "h1", 9092),)
