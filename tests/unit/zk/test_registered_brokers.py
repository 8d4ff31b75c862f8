"""The brokers as the leader finder asks for them."""

import logging

import pytest

from tests.support.control_bench import Group
from zkconsumer.errors import RegistryError
from zkconsumer.model import Broker
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
