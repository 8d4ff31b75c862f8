"""Reading a group's nodes while they change."""

from collections.abc import Callable, Sequence
from unittest.mock import patch

from tests.fakes.memory_zk import MemoryZkServer
from tests.support.interference import interfered
from zkconsumer.model import Broker
from zkconsumer.zk.group_values import GroupSnapshot, GroupWatches
from zkconsumer.zk.nodes import Registration
from zkconsumer.zk.registry import GroupRegistry
from zkconsumer.zk.store import Watch, ZkStore, ZNode

WATCHES = GroupWatches(members=lambda *_: None, topics=lambda *_: None)


def read(store: ZkStore, *, own_topics: tuple[str, ...] = ()) -> GroupSnapshot:
    """Read group g; a registration subscribes to the topics that it names."""
    return GroupRegistry(store, "g").read_group(
        watches=WATCHES,
        expand=lambda registration, _: tuple(registration.subscription),
        own_topics=own_topics,
    )


def before_get(number: int, act: Callable[[], object]) -> Callable[[str, int], None]:
    """Return an interference that acts before one of the reads."""

    def interfere(kind: str, now: int) -> None:
        if (kind, now) == ("get", number):
            act()

    return interfere


def test_a_member_that_leaves_between_list_and_read_is_no_member() -> None:
    """A member that leaves between the list and its read is no member, and not malformed."""
    server = MemoryZkServer()
    stayer, leaver = server.connect(), server.connect()
    registration = Registration(subscription={}, timestamp_ms=1)
    GroupRegistry(stayer, "g").register("g_stays", registration)
    GroupRegistry(leaver, "g").register("g_leaves", registration)
    snapshot = read(interfered(server, before_get(1, leaver.close)))
    assert snapshot.members == {"g_stays": registration}
    assert snapshot.malformed_members == {}


def test_a_broker_that_leaves_between_list_and_read_is_no_broker() -> None:
    """A broker that leaves between the list and its read is no broker; Scala fails there."""
    server = MemoryZkServer()
    broker = server.connect()
    broker.create("/brokers/ids/1", b'{"host":"h","port":1}', ephemeral=True)
    other = server.connect()
    other.create("/brokers/ids/2", b'{"host":"h","port":2}', ephemeral=True)
    snapshot = read(interfered(server, before_get(0, broker.close)))
    assert snapshot.brokers == (Broker(2, "h", 2),)
    assert snapshot.malformed_brokers == {}


def test_a_broker_named_by_thousands_of_digits_is_malformed() -> None:
    """Python's ``int`` raises for such a text; the other brokers are read."""
    store = MemoryZkServer().connect()
    store.create("/brokers/ids/1", b'{"host":"h","port":1}', ephemeral=True)
    store.create(f"/brokers/ids/{'9' * 5_000}", b'{"host":"h","port":2}', ephemeral=True)
    snapshot = read(store)
    assert snapshot.brokers == (Broker(1, "h", 1),)
    assert "named by its number" in snapshot.malformed_brokers[-1]


def test_a_large_group_takes_a_handful_of_batches() -> None:
    """The number of round trips does not grow with members, brokers or topics."""
    server = MemoryZkServer()
    batches: list[str] = []
    store = interfered(server, lambda kind, _: batches.append(kind))
    subscription = {f"t{number}": 1 for number in range(100)}
    registration = Registration(subscription=subscription, timestamp_ms=1)
    for number in range(50):
        GroupRegistry(server.connect(), "g").register(f"g_{number}", registration)
    store.set_or_create_many(
        {f"/brokers/topics/t{number}": b'{"partitions":{"0":[1]}}' for number in range(100)}
        | {f"/brokers/ids/{number}": b'{"host":"h","port":1}' for number in range(50)}
    )
    batches.clear()
    snapshot = read(store)
    assert len(snapshot.members) == 50
    assert len(snapshot.brokers) == 50
    assert set(snapshot.topics.values()) == {(0,)}
    assert batches == ["children", "children", "children", "get", "get", "get"]


def test_topics_that_only_others_name_cost_no_request_if_they_do_not_exist() -> None:
    """A stranger may name any number of them; our own are watched until they exist."""
    server = MemoryZkServer()
    paths: list[str] = []
    store = server.connect()
    names = {f"missing{number}": 1 for number in range(1_000)} | {"t": 1, "ours": 1}
    registration = Registration(subscription=names, timestamp_ms=1)
    GroupRegistry(server.connect(), "g").register("g_stranger", registration)
    store.set_or_create_many({"/brokers/topics/t": b'{"partitions":{"0":[1]}}'})
    get_many = store.get_many

    def noted(asked: Sequence[str], *, watch: Watch | None = None) -> list[ZNode | None]:
        paths.extend(asked)
        return get_many(asked, watch=watch)

    with patch.object(store, "get_many", noted):
        snapshot = read(store, own_topics=("ours",))
    assert paths == ["/consumers/g/ids/g_stranger", "/brokers/topics/ours", "/brokers/topics/t"]
    assert snapshot.topics == dict.fromkeys(sorted(names), ()) | {"t": (0,)}
