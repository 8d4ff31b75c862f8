"""How a ZooKeeper group is opened for the poll API."""

import pytest

from tests.fakes.memory_zk import MemoryZkStore
from tests.support.control_bench import Group
from tests.support.zookeeper_member import in_memory, open_group
from zkconsumer.config import ConsumerConfig
from zkconsumer.config_zookeeper import OPEN, ZookeeperSecurity
from zkconsumer.consumer.config import PollConfig
from zkconsumer.errors import ConfigError, RegistryError
from zkconsumer.membership.zookeeper.polled.group import rebalance_grace_ms
from zkconsumer.model import Broker
from zkconsumer.zk.store import ZkStore


class SessionOpener:
    """Connect to a group's ZooKeeper, and keep the sessions."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self.opened: list[MemoryZkStore] = []

    def __call__(
        self,
        where: str,
        /,
        *,
        session_timeout_ms: int,
        connection_timeout_ms: int,
        security: ZookeeperSecurity,
    ) -> ZkStore:
        """Connect."""
        assert security == OPEN
        assert (where, session_timeout_ms, connection_timeout_ms) == ("zk:1", 700, 800)
        self.opened.append(self._group.server.connect())
        return self.opened[-1]


def config(**settings: object) -> PollConfig:
    """Return the settings of a ZooKeeper group."""
    return PollConfig(
        {
            "zookeeper.connect": "zk:1",
            "group.id": "g",
            "zookeeper.session.timeout.ms": 700,
            "zookeeper.connection.timeout.ms": 800,
            **settings,
        }
    )


def test_the_brokers_are_those_of_zookeeper() -> None:
    """No setting names them, and nothing is written before somebody joins."""
    group = in_memory()
    opener = SessionOpener(group)
    opened = open_group(config(), opener)
    assert list(opened.brokers) == [Broker(0, "h", 9092)]
    assert group.ids() == []
    opened.close()
    assert not opener.opened[0].connected


def test_without_brokers_there_is_nothing_to_poll_from() -> None:
    """The session is closed."""
    group = in_memory()
    group.admin.delete_many(["/brokers/ids/0"])
    opener = SessionOpener(group)
    with pytest.raises(
        RegistryError, match=r"No broker is registered in zk:1: .* all of its brokers are down"
    ):
        open_group(config(), opener)
    group.write("/brokers/ids/7", b'{"host":null,"port":-1,"endpoints":["SSL://h:9093"]}')
    with pytest.raises(RegistryError, match="no PLAINTEXT listener"):
        open_group(config(), opener)
    assert [store.connected for store in opener.opened] == [False, False]


def test_a_wrong_setting_is_refused_before_anything_is_opened() -> None:
    """The setting is refused without a connection to ZooKeeper."""
    opener = SessionOpener(in_memory())
    with pytest.raises(ConfigError, match="delivery is a setting of streams"):
        open_group(config(delivery="scala"), opener)
    assert opener.opened == []


def test_the_grace_is_half_the_time_that_a_scala_member_retries() -> None:
    """By default a Scala member tries four times, with two seconds between."""
    settings = {"zookeeper.connect": "zk:1", "group.id": "g"}
    assert rebalance_grace_ms(ConsumerConfig(settings)) == 4_000
    short = ConsumerConfig({**settings, "rebalance.max.retries": 1, "rebalance.backoff.ms": 1})
    assert rebalance_grace_ms(short) == 1
