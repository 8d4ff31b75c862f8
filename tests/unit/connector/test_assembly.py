"""Putting a connector together: its name."""

import re
import socket

import pytest

from tests.support.manual_clock import ManualClock
from zkconsumer.config import ConsumerConfig
from zkconsumer.connector.assembly import assemble, new_consumer_id
from zkconsumer.errors import ConfigError


def test_a_generated_name_is_that_of_the_original() -> None:
    """Group, host, milliseconds, eight hex digits; another one each time."""
    config = ConsumerConfig(zookeeper_connect="h:2181", group_id="g1")
    clock = ManualClock(wall_ms=1_795_227_905_282)
    name = new_consumer_id(config, clock)
    host = re.escape(socket.gethostname())
    assert re.fullmatch(rf"g1_{host}-1795227905282-[0-9a-f]{{1,8}}", name)
    assert new_consumer_id(config, clock) != name


def test_a_configured_name_replaces_the_generated_part() -> None:
    """``consumer.id``."""
    config = ConsumerConfig(zookeeper_connect="h:2181", group_id="g1", consumer_id="consumer1")
    assert new_consumer_id(config, ManualClock()) == "g1_consumer1"


def test_a_group_with_its_offsets_in_kafka_is_refused() -> None:
    """Before anything is connected: read from ZooKeeper, its positions would be wrong ones."""
    config = ConsumerConfig(zookeeper_connect="h:2181", group_id="g1", offsets_storage="kafka")
    with pytest.raises(ConfigError, match=r"offsets.storage=kafka.*all members of group g1"):
        assemble(config, ManualClock())
