"""The brokers as the leader finder asks for them."""

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
    """Each time anew; one whose registration can't be read is left out."""
    group = Group()
    brokers = LiveBrokers(GroupRegistry(group.admin, "g"))
    assert brokers.read() == (Broker(0, "h", 9092),)
    group.write("/brokers/ids/1", b"garbage")
    group.write("/brokers/ids/2", b'{"host":"x","port":1}')
    assert brokers.read() == (Broker(0, "h", 9092), Broker(2, "x", 1))


def test_while_zookeeper_is_away_the_last_answer_counts() -> None:
    """Leaders may move meanwhile: the fetchers must be able to follow."""
    group = Group()
    store = group.server.connect()
    brokers = LiveBrokers(GroupRegistry(store, "g"))
    brokers.read()
    group.server.disconnect(store.session_id)
    assert brokers.read() == (Broker(0, "h", 9092),)


def test_without_any_answer_ever_it_is_an_error() -> None:
    """Nothing is known: the leader finder tries again."""
    group = Group()
    store = group.server.connect()
    brokers = LiveBrokers(GroupRegistry(store, "g"))
    group.server.disconnect(store.session_id)
    with pytest.raises(RegistryError):
        brokers.read()


def test_no_broker_is_an_answer_too() -> None:
    """An empty list from ZooKeeper is the truth, not a reason to use the last one."""
    group = Group()
    brokers = LiveBrokers(GroupRegistry(group.admin, "g"))
    brokers.read()
    group.admin.delete_many(["/brokers/ids/0"])
    assert brokers.read() == ()


def test_it_is_said_when_brokers_are_those_of_before(caplog: pytest.LogCaptureFixture) -> None:
    """With why: a leader that has moved to a new broker is not found meanwhile."""
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


def test_brokers_that_register_as_old_are_not_asked_what_they_serve() -> None:
    """Those of 0.8 and 0.9 can't be; what a later one serves only it can say."""
    group = Group()
    brokers = LiveBrokers(GroupRegistry(group.admin, "g"))
    old, later = Broker(0, "h", 9092), Broker(1, "x", 1)
    assert brokers.versions_of(old) is None
    brokers.read()
    assert brokers.versions_of(old) == of_generation(OLDEST)
    assert brokers.versions_of(later) == of_generation(OLDEST)  # all of its cluster are
    group.write("/brokers/ids/1", b'{"version":4,"host":"x","port":1,"endpoints":[]}')
    brokers.read()
    assert brokers.versions_of(old) == of_generation(OLDEST)
    assert brokers.versions_of(later) is None
    group.admin.delete_many(["/brokers/ids/0"])
    brokers.read()
    assert brokers.versions_of(old) is None
