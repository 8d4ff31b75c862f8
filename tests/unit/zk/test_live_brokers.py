"""Live brokers in ZooKeeper; where there are none, why, and which chroot has some."""

from collections.abc import Mapping, Sequence

import pytest

from tests.fakes.memory_zk import MemoryZkServer
from tests.support.refusing import RefusingStore
from zkconsumer.errors import RegistryError
from zkconsumer.model import Broker
from zkconsumer.zk.absence import NoBrokers
from zkconsumer.zk.live_brokers import clusters_at, live_brokers, require_cluster, why_no_brokers
from zkconsumer.zk.store import ZkStore

BROKER = b'{"jmx_port":-1,"timestamp":"9","host":"h","version":1,"port":9092}'


def store_with(*paths: str) -> ZkStore:
    """Return a store with these nodes, of which those of brokers hold a registration."""
    store = MemoryZkServer().connect()
    for path in paths:
        store.create(path, BROKER if "/ids/" in path else b"", ephemeral=False)
    return store


def children_of(tree: Mapping[str, Sequence[str]]) -> object:
    """Return a function that lists the children in this tree."""
    return lambda paths: [None if path not in tree else sorted(tree[path]) for path in paths]


def test_live_brokers_are_returned() -> None:
    """Live brokers are returned, and their cluster counts as existing."""
    store = store_with("/brokers/ids/0")
    assert live_brokers(store, "zk:1/kafka") == (Broker(0, "h", 9092),)
    require_cluster(store, "zk:1/kafka")


def test_a_forgotten_chroot_is_named() -> None:
    """Without a cluster at the root, the error names the chroot that has brokers."""
    store = store_with("/zookeeper/quota", "/kafka/brokers/ids/0", "/other/brokers/ids", "/odd")
    found = why_no_brokers(store, "zk:1,zk:2")
    assert found == NoBrokers(
        zookeeper_connect="zk:1,zk:2", is_cluster=False, other_chroots=("zk:1,zk:2/kafka",)
    )
    assert found.evidence == (
        "there is no /brokers in zk:1,zk:2",
        "brokers are registered in zk:1,zk:2/kafka",
    )
    for request in (live_brokers, require_cluster):
        with pytest.raises(RegistryError, match=r"Did you mean zk:1,zk:2/kafka \("):
            request(store, "zk:1,zk:2")


def test_all_brokers_being_down_is_reported() -> None:
    """If all brokers are down the error says so, and the cluster still counts as existing."""
    store = store_with("/brokers/ids", "/brokers/topics/t")
    require_cluster(store, "zk:1")
    with pytest.raises(RegistryError, match=r"all of its brokers are down\. Start the brokers"):
        live_brokers(store, "zk:1")
    assert why_no_brokers(store, "zk:1").evidence == ("/brokers/ids is empty in zk:1",)


def test_the_remedy_depends_on_the_cause() -> None:
    """The remedy depends on the cause: other chroots, brokers that are down, or both to check."""
    elsewhere = NoBrokers(
        zookeeper_connect="zk:1", is_cluster=True, other_chroots=("zk:1/a", "zk:1/b")
    )
    assert elsewhere.repair.startswith("Did you mean zk:1/a or zk:1/b (")
    down = NoBrokers(zookeeper_connect="zk:1", is_cluster=True)
    assert down.repair.startswith("Start the brokers")
    assert down.evidence == ("/brokers/ids is empty in zk:1",)
    nothing = NoBrokers(zookeeper_connect="zk:1", is_cluster=False)
    assert nothing.repair.startswith("Check that the brokers run, and that the chroot")
    assert str(nothing) == f"{nothing.what} {nothing.repair}"


def test_a_consumer_may_start_before_its_cluster() -> None:
    """A consumer may start before its cluster, unless another chroot has a cluster."""
    store = store_with("/consumers")
    require_cluster(store, "zk:1", may_be_to_come=True)
    with pytest.raises(RegistryError, match="none ever was"):
        require_cluster(store, "zk:1")
    store.create("/kafka/brokers/ids/0", BROKER, ephemeral=False)
    with pytest.raises(RegistryError, match="zk:1/kafka"):
        require_cluster(store, "zk:1", may_be_to_come=True)


def test_a_malformed_registration_is_reported() -> None:
    """A broker whose registration is malformed is reported as unusable."""
    store = store_with("/brokers/ids")
    store.create("/brokers/ids/7", b"nonsense", ephemeral=False)
    with pytest.raises(RegistryError, match="has no usable broker"):
        live_brokers(store, "zk:1")


def test_chroots_of_two_levels_and_the_root_are_searched() -> None:
    """Chroots of up to two levels are searched, and the root if a chroot was given."""
    deep = children_of(
        {"/": ["a"], "/a": ["b", "c"], "/a/b/brokers/ids": ["0"], "/a/c/brokers/ids": []}
    )
    assert clusters_at("zk:1/a", deep) == ("zk:1/a/b",)  # type: ignore[arg-type]
    root = children_of({"/": ["a"], "/brokers/ids": ["0"], "/a/b/brokers/ids": ["0"]})
    assert clusters_at("zk:1/a", root) == ("zk:1",)  # type: ignore[arg-type]


def test_the_search_is_bounded_and_shows_no_strange_names() -> None:
    """The search is bounded, and names with blanks or escape sequences are never shown."""
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
    """A node that may not be read hides no other chroot."""
    server = MemoryZkServer()
    for path in ("/a/brokers/ids/0", "/secret/brokers/ids/0"):
        server.connect().create(path, BROKER, ephemeral=False)
    store = client = RefusingStore(server)
    client.refuses = lambda path: path.startswith("/secret")
    assert clusters_at("zk:1", store.server_children) == ("zk:1/a",)


def test_a_zookeeper_that_goes_away_gives_no_hint() -> None:
    """If ZooKeeper goes away during the search, there is no hint, no error, and one time-out."""
    requested: list[Sequence[str]] = []

    def away(paths: Sequence[str]) -> list[list[str] | None]:
        requested.append(paths)
        if len(requested) == 1:
            return [["a", "b", "c"]]
        raise RegistryError(f"no answer about {paths}")

    assert clusters_at("zk:1", away) == ()
    assert len(requested) == 2
