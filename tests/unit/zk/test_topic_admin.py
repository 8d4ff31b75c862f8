"""Topics changed in ZooKeeper, for brokers without the requests: which nodes are written."""

import json
from collections.abc import Sequence

import pytest

from tests.fakes.memory_zk import MemoryZkServer
from tests.support.interference import interfered
from zkconsumer.errors import ConfigError, RegistryError
from zkconsumer.wire.releases import Release
from zkconsumer.zk.topic_admin import TopicNodes

TOPIC, CONFIG, CHANGES = "/brokers/topics/t", "/config/topics/t", "/config/changes"
OF_0_8_0, OF_0_8_1, OF_0_8_2, OF_0_9 = (0, 8, 0), (0, 8, 1), (0, 8, 2), (0, 9)
OF_0_10_0, OF_0_10_1 = (0, 10, 0), (0, 10, 1)


class Cluster:
    """The nodes of a cluster, and topic t."""

    def __init__(self) -> None:
        self.server = MemoryZkServer()
        self.admin = self.server.connect()

    def topic(self, release: Release = OF_0_8_2) -> TopicNodes:
        """Return the topic's nodes in the format of a release."""
        return TopicNodes(self.admin, "t", release)

    def value(self, path: str) -> object:
        """Return a node's content as JSON, or None if the node is missing."""
        (node,) = self.admin.get_many([path])
        return None if node is None else json.loads(node.data)

    def notifications(self) -> Sequence[str]:
        """Return the names of the notifications in their order."""
        return sorted(self.admin.children_many([CHANGES])[0] or [])


@pytest.fixture
def cluster() -> Cluster:
    """Create a cluster without the topic."""
    return Cluster()


def test_a_topic_is_created_with_its_configs(cluster: Cluster) -> None:
    """A topic is created with the original's nodes; a second creation is refused."""
    cluster.topic().create({0: [1, 2], 1: [2, 1]}, {"retention.ms": "5"})
    partitions = {"0": [1, 2], "1": [2, 1]}
    assert cluster.value(TOPIC) == {"version": 1, "partitions": partitions}
    assert cluster.value(CONFIG) == {"version": 1, "config": {"retention.ms": "5"}}
    with pytest.raises(ConfigError, match="topic t exists already"):
        cluster.topic().create({0: [1]}, {"retention.ms": "5"})
    assert cluster.value(TOPIC) == {"version": 1, "partitions": partitions}


def test_a_topic_of_0_8_0_has_no_configs(cluster: Cluster) -> None:
    """In 0.8.0 topics have no configs: any is refused, and nothing is written."""
    with pytest.raises(ConfigError, match="no topic settings; nothing was done"):
        cluster.topic(OF_0_8_0).create({0: [1]}, {"retention.ms": "5"})
    assert cluster.value(TOPIC) is None
    cluster.topic(OF_0_8_0).create({0: [1]}, {})
    assert cluster.value(TOPIC) == {"version": 1, "partitions": {"0": [1]}}
    assert cluster.value(CONFIG) is None
    with pytest.raises(ConfigError, match="no topic settings; nothing was done"):
        cluster.topic(OF_0_8_0).configure({"retention.ms": "5"}, [])


def test_a_topic_grows_and_keeps_what_it_has(cluster: Cluster) -> None:
    """New partitions keep the others, and the fields of later releases."""
    cluster.admin.ensure_paths(["/brokers/topics"])
    cluster.admin.create(
        TOPIC, b'{"version":2,"partitions":{"0":[1]},"adding_replicas":{}}', ephemeral=False
    )
    cluster.topic().grow({1: [2], 2: (1, 2)})
    assert cluster.value(TOPIC) == {
        "version": 2,
        "partitions": {"0": [1], "1": [2], "2": [1, 2]},
        "adding_replicas": {},
    }


def test_a_missing_topic_does_not_grow(cluster: Cluster) -> None:
    """A topic that does not exist is not created by adding partitions."""
    with pytest.raises(ConfigError, match="there is no topic t"):
        cluster.topic().grow({1: [2]})
    assert cluster.value(TOPIC) is None


def test_partitions_that_another_client_added_are_kept(cluster: Cluster) -> None:
    """Partitions that another client added keep their replicas, which may hold records."""
    cluster.topic().create({0: [1], 1: [2]}, {})
    with pytest.raises(
        RegistryError, match="topic t was changed meanwhile by another client: look at it again"
    ):
        cluster.topic().grow({1: [3], 2: [3]})
    assert cluster.value(TOPIC) == {"version": 1, "partitions": {"0": [1], "1": [2]}}


def test_a_change_between_read_and_write_is_not_overwritten(cluster: Cluster) -> None:
    """A change between our read and write fails the write, as the node's version differs."""
    cluster.topic().create({0: [1]}, {})
    other = b'{"version":1,"partitions":{"0":[7]}}'

    def interfere(kind: str, _number: int) -> None:
        if kind == "write":
            cluster.admin.set_or_create_many({TOPIC: other})

    store = interfered(cluster.server, interfere)
    with pytest.raises(RegistryError, match="topic t was not changed: version differs"):
        TopicNodes(store, "t", OF_0_8_2).grow({1: [2]})
    assert cluster.value(TOPIC) == json.loads(other)


@pytest.mark.parametrize(
    ("release", "notification"),
    [
        (OF_0_8_1, "t"),
        (OF_0_8_2, "t"),
        (OF_0_9, {"version": 1, "entity_type": "topics", "entity_name": "t"}),
        (OF_0_10_0, {"version": 1, "entity_type": "topics", "entity_name": "t"}),
        (OF_0_10_1, {"version": 2, "entity_path": "topics/t"}),
    ],
)
def test_configs_are_changed_and_brokers_are_notified(
    cluster: Cluster, release: Release, notification: object
) -> None:
    """Configs are changed and brokers notified in the release's format; others are kept."""
    cluster.topic(release).create({0: [1]}, {"retention.ms": "5", "segment.bytes": "9"})
    cluster.topic(release).configure({"cleanup.policy": "compact"}, ["retention.ms", "absent"])
    assert cluster.value(CONFIG) == {
        "version": 1,
        "config": {"segment.bytes": "9", "cleanup.policy": "compact"},
    }
    assert cluster.notifications() == ["config_change_0000000000"]
    assert cluster.value(f"{CHANGES}/config_change_0000000000") == notification


def test_a_topic_without_configs_gets_some(cluster: Cluster) -> None:
    """A topic without a config node, or with an empty one, gets configs."""
    cluster.topic().configure({"retention.ms": "5"}, [])
    assert cluster.value(CONFIG) == {"version": 1, "config": {"retention.ms": "5"}}
    cluster.admin.set_or_create_many({CONFIG: b'{"version":1}'})
    cluster.topic().configure({"segment.bytes": "9"}, [])
    assert cluster.value(CONFIG) == {"version": 1, "config": {"segment.bytes": "9"}}


def test_configs_that_another_client_writes_meanwhile_are_not_overwritten(cluster: Cluster) -> None:
    """The write fails, as the node's version differs, and brokers are not notified."""
    cluster.topic().create({0: [1]}, {"retention.ms": "5"})
    other = b'{"version":1,"config":{"cleanup.policy":"compact"}}'

    def interfere(kind: str, _number: int) -> None:
        if kind == "write":
            cluster.admin.set_or_create_many({CONFIG: other})

    store = interfered(cluster.server, interfere)
    with pytest.raises(RegistryError, match="settings of topic t were not written: version"):
        TopicNodes(store, "t", OF_0_8_2).configure({"retention.ms": "9"}, [])
    assert cluster.value(CONFIG) == json.loads(other)
    assert cluster.notifications() == []


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"partitions":3,"config":"x"}', b"[" * 9_000])
def test_malformed_nodes_are_named_and_not_changed(cluster: Cluster, data: bytes) -> None:
    """Someone wrote nonsense: the error says which node, and nothing is written over it."""
    cluster.admin.ensure_paths(["/brokers/topics", "/config/topics"])
    cluster.admin.set_or_create_many({TOPIC: data, CONFIG: data})
    with pytest.raises(RegistryError, match=f"{TOPIC} holds no JSON object with partitions"):
        cluster.topic().grow({1: [2]})
    with pytest.raises(RegistryError, match=f"{CONFIG} holds no JSON object with config"):
        cluster.topic().configure({"retention.ms": "9"}, [])
    assert [node and node.data for node in cluster.admin.get_many([TOPIC, CONFIG])] == [data, data]


def test_a_topic_without_partitions_does_not_grow(cluster: Cluster) -> None:
    """Its node would then name the new partitions only."""
    cluster.admin.ensure_paths(["/brokers/topics"])
    cluster.admin.set_or_create_many({TOPIC: b'{"version":1}'})
    with pytest.raises(RegistryError, match="nothing was changed"):
        cluster.topic().grow({1: [2]})


def test_notification_numbers_go_on_after_deleted_ones(cluster: Cluster) -> None:
    """Notification numbers go on after deleted ones, as brokers skip those that they have seen."""
    for _ in range(3):
        cluster.topic().configure({"retention.ms": "5"}, [])
    cluster.admin.delete_many([f"{CHANGES}/config_change_000000000{number}" for number in (0, 1)])
    cluster.topic().configure({"retention.ms": "6"}, [])
    assert cluster.notifications() == ["config_change_0000000002", "config_change_0000000003"]


class Rival:
    """Another client that takes each number right before it is written.

    Args:
        most: how many numbers it takes.
    """

    def __init__(self, cluster: Cluster, most: int) -> None:
        self._cluster = cluster
        self._most = most
        self._has_counted = False
        self.taken = 0
        self.topic = TopicNodes(interfered(cluster.server, self._interfere), "t", OF_0_8_2)

    def _interfere(self, kind: str, _number: int) -> None:
        if kind == "children":
            self._has_counted = True
        elif kind == "write" and self._has_counted and self.taken < self._most:
            self._has_counted = False
            number = len(self._cluster.notifications())
            path = f"{CHANGES}/config_change_{number:010d}"
            self._cluster.admin.create(path, b'"u"', ephemeral=False)
            self.taken += 1


def test_a_number_that_another_client_took_is_not_used_again(cluster: Cluster) -> None:
    """A notification number that another client took is not used again, but the next one."""
    rival = Rival(cluster, most=4)
    rival.topic.configure({"retention.ms": "5"}, [])
    values = [cluster.value(f"{CHANGES}/{name}") for name in cluster.notifications()]
    assert values == ["u", "u", "u", "u", "t"]


def test_brokers_that_could_not_be_notified_are_reported(cluster: Cluster) -> None:
    """If brokers could not be notified the error says that the configs are written."""
    rival = Rival(cluster, most=100)
    with pytest.raises(RegistryError, match="topic t are written, but brokers could not be noti"):
        rival.topic.configure({"retention.ms": "6"}, [])
    assert rival.taken == 5
    assert cluster.value(CONFIG) == {"version": 1, "config": {"retention.ms": "6"}}


@pytest.mark.parametrize("release", [OF_0_8_1, OF_0_8_2])
def test_a_deletion_is_requested_once(cluster: Cluster, release: Release) -> None:
    """A topic's deletion is requested with one node, also if requested twice."""
    cluster.topic(release).delete()
    cluster.topic(release).delete()
    assert cluster.admin.children_many(["/admin/delete_topics"]) == [["t"]]


def test_kafka_0_8_0_deletes_no_topics(cluster: Cluster) -> None:
    """0.8.0 can't delete topics: no node is left that a later release would act on."""
    with pytest.raises(ConfigError, match=r"Kafka 0\.8\.0 can't delete topics; nothing was done"):
        cluster.topic(OF_0_8_0).delete()
    assert cluster.admin.exists_many(["/admin/delete_topics"]) == [None]
