"""Live brokers of ZooKeeper, as the leader finder reads them."""

import logging

import pytest

from tests.support.control_bench import Group
from zkconsumer.errors import RegistryError
from zkconsumer.model import Broker
from zkconsumer.wire.negotiation import of_generation
from zkconsumer.wire.versions import OLDEST
from zkconsumer.zk.live_brokers import LiveBrokers
from zkconsumer.zk.registry import GroupRegistry


def test_live_brokers_come_from_zookeeper() -> None:
    """Brokers are read again each time, without those whose registration is malformed."""
    group = Group()
    brokers = LiveBrokers(GroupRegistry(group.admin, "g"))
    assert brokers.read() == (Broker(0, "h", 9092),)
    group.write("/brokers/ids/1", b"garbage")
    group.write("/brokers/ids/2", b'{"host":"x","port":1}')
    assert brokers.read() == (Broker(0, "h", 9092), Broker(2, "x", 1))


def test_while_zookeeper_is_unavailable_the_last_brokers_count() -> None:
    """While ZooKeeper is unavailable the last brokers count, as leaders may move meanwhile."""
    group = Group()
    store = group.server.connect()
    brokers = LiveBrokers(GroupRegistry(store, "g"))
    brokers.read()
    group.server.disconnect(store.session_id)
    assert brokers.read() == (Broker(0, "h", 9092),)


def test_brokers_that_were_never_read_are_an_error() -> None:
    """If ZooKeeper was never read it is an error, and the leader finder tries again."""
    group = Group()
    store = group.server.connect()
    brokers = LiveBrokers(GroupRegistry(store, "g"))
    group.server.disconnect(store.session_id)
    with pytest.raises(RegistryError):
        brokers.read()


def test_an_empty_list_of_brokers_counts() -> None:
    """An empty list of brokers counts: the last one is not used in its place."""
    group = Group()
    brokers = LiveBrokers(GroupRegistry(group.admin, "g"))
    brokers.read()
    group.admin.delete_many(["/brokers/ids/0"])
    assert brokers.read() == ()


def test_the_use_of_the_last_known_brokers_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """The use of the last known brokers is logged with the reason."""
    group = Group()
    store = group.server.connect()
    brokers = LiveBrokers(GroupRegistry(store, "g"))
    brokers.read()
    group.server.disconnect(store.session_id)
    with caplog.at_level(logging.INFO):
        brokers.read()
    [message] = [
        record.getMessage() for record in caplog.records if record.name.endswith("brokers")
    ]
    assert message.startswith("ZooKeeper can't be read, using the last known brokers: ")


def test_brokers_registered_as_old_have_known_versions() -> None:
    """Brokers registered as 0.8 or 0.9 have known versions; later ones must be asked."""
    group = Group()
    brokers = LiveBrokers(GroupRegistry(group.admin, "g"))
    old, later = Broker(0, "h", 9092), Broker(1, "x", 1)
    assert brokers.versions_of(old) is None
    brokers.read()
    assert brokers.versions_of(old) == of_generation(OLDEST)
    assert brokers.versions_of(later) == of_generation(OLDEST)  # all brokers of its cluster are old
    group.write("/brokers/ids/1", b'{"version":4,"host":"x","port":1,"endpoints":[]}')
    brokers.read()
    assert brokers.versions_of(old) == of_generation(OLDEST)
    assert brokers.versions_of(later) is None
    group.admin.delete_many(["/brokers/ids/0"])
    brokers.read()
    assert brokers.versions_of(old) is None
