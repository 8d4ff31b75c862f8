"""Where there is no broker: why, and where there are some."""

from collections.abc import Mapping, Sequence

import pytest

from tests.fakes.memory_zk import MemoryZkServer
from tests.support.refusing import refusing
from zkconsumer.errors import RegistryError
from zkconsumer.model import Broker
from zkconsumer.zk.absence import NoBrokers
from zkconsumer.zk.live_brokers import clusters_at, live_brokers, require_cluster, why_no_brokers
from zkconsumer.zk.store import ZkStore

BROKER = b'{"jmx_port":-1,"timestamp":"9","host":"h","version":1,"port":9092}'


def store_with(*paths: str) -> ZkStore:
    """A server with these nodes; those of brokers hold a registration."""
    store = MemoryZkServer().connect()
    for path in paths:
        store.create(path, BROKER if "/ids/" in path else b"", ephemeral=False)
    return store


def children_of(tree: Mapping[str, Sequence[str]]) -> object:
    """Reads a tree that is written down."""
    return lambda paths: [None if path not in tree else sorted(tree[path]) for path in paths]


def test_brokers_that_live() -> None:
    """They are what was wanted, and a cluster is there."""
    store = store_with("/brokers/ids/0")
    assert live_brokers(store, "zk:1/kafka") == (Broker(0, "h", 9092),)
    require_cluster(store, "zk:1/kafka")


def test_a_chroot_that_was_forgotten() -> None:
    """No node of a cluster is there: the one that would fit is named, as it would be given."""
    store = store_with("/zookeeper/quota", "/kafka/brokers/ids/0", "/other/brokers/ids", "/odd")
    found = why_no_brokers(store, "zk:1,zk:2")
    assert found == NoBrokers(
        zookeeper_connect="zk:1,zk:2", is_cluster=False, elsewhere=("zk:1,zk:2/kafka",)
    )
    assert found.evidence == (
        "there is no /brokers in zk:1,zk:2",
        "brokers are registered in zk:1,zk:2/kafka",
    )
    for request in (live_brokers, require_cluster):
        with pytest.raises(RegistryError, match=r"Did you mean zk:1,zk:2/kafka \("):
            request(store, "zk:1,zk:2")


def test_all_brokers_are_down() -> None:
    """Another sentence; who only needs the cluster's nodes may go on."""
    store = store_with("/brokers/ids", "/brokers/topics/t")
    require_cluster(store, "zk:1")
    with pytest.raises(RegistryError, match=r"all of its brokers are down\. Start the brokers"):
        live_brokers(store, "zk:1")
    assert why_no_brokers(store, "zk:1").evidence == ("/brokers/ids is empty in zk:1",)


def test_what_helps_depends_on_what_is_there() -> None:
    """Other chroots with brokers come first, then brokers that are down, then both to check."""
    elsewhere = NoBrokers(zookeeper_connect="zk:1", is_cluster=True, elsewhere=("zk:1/a", "zk:1/b"))
    assert elsewhere.repair.startswith("Did you mean zk:1/a or zk:1/b (")
    down = NoBrokers(zookeeper_connect="zk:1", is_cluster=True)
    assert down.repair.startswith("Start the brokers")
    assert down.evidence == ("/brokers/ids is empty in zk:1",)
    nothing = NoBrokers(zookeeper_connect="zk:1", is_cluster=False)
    assert nothing.repair.startswith("Check that the brokers run, and that the chroot")
    assert str(nothing) == f"{nothing.what} {nothing.repair}"


def test_a_consumer_may_be_there_before_its_cluster() -> None:
    """On servers that have none at all; not where another chroot holds one."""
    store = store_with("/consumers")
    require_cluster(store, "zk:1", may_be_to_come=True)
    with pytest.raises(RegistryError, match="none ever was"):
        require_cluster(store, "zk:1")
    store.create("/kafka/brokers/ids/0", BROKER, ephemeral=False)
    with pytest.raises(RegistryError, match="zk:1/kafka"):
        require_cluster(store, "zk:1", may_be_to_come=True)


def test_a_registration_that_can_not_be_used_is_said() -> None:
    """There is a broker, but nobody could speak to it."""
    store = store_with("/brokers/ids")
    store.create("/brokers/ids/7", b"nonsense", ephemeral=False)
    with pytest.raises(RegistryError, match="has no usable broker"):
        live_brokers(store, "zk:1")


def test_chroots_of_two_levels_and_none() -> None:
    """The root counts where a chroot was given; the nearest level is told."""
    deep = children_of(
        {"/": ["a"], "/a": ["b", "c"], "/a/b/brokers/ids": ["0"], "/a/c/brokers/ids": []}
    )
    assert clusters_at("zk:1/a", deep) == ("zk:1/a/b",)  # type: ignore[arg-type]
    root = children_of({"/": ["a"], "/brokers/ids": ["0"], "/a/b/brokers/ids": ["0"]})
    assert clusters_at("zk:1/a", root) == ("zk:1",)  # type: ignore[arg-type]


def test_the_search_is_bounded_and_tells_no_strange_names() -> None:
    """However many nodes somebody made; and nobody's escape sequences reach a terminal."""
    requested: list[str] = []

    def many(paths: Sequence[str]) -> list[list[str] | None]:
        requested.extend(paths)
        return [
            [f"n{number:06}" for number in range(1_000)] if path.count("/") == 1 else None
            for path in paths
        ]

    assert clusters_at("zk:1/x", many) == ()
    assert len(requested) < 1_000
    strange = children_of({"/": ["a b", "\x1b[31m", "a:1"], "/a b/brokers/ids": ["0"]})
    assert clusters_at("zk:1/x", strange) == ()  # type: ignore[arg-type]


def test_a_node_that_may_not_be_read_hides_no_other() -> None:
    """Its ACL is nobody's concern here."""
    server = MemoryZkServer()
    for path in ("/a/brokers/ids/0", "/secret/brokers/ids/0"):
        server.connect().create(path, BROKER, ephemeral=False)
    store, client = refusing(server)
    client.refuses = lambda path: path.startswith("/secret")
    assert clusters_at("zk:1", store.server_children) == ("zk:1/a",)


def test_a_zookeeper_that_goes_away_gives_no_hint() -> None:
    """The hint is none to fail for."""

    def away(paths: Sequence[str]) -> list[list[str] | None]:
        raise RegistryError(f"no answer about {paths}")

    assert clusters_at("zk:1", away) == ()
