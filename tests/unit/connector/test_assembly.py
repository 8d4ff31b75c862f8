"""Putting a connector together: its name."""

import re
import socket

from tests.support.manual_clock import ManualClock
from zkconsumer.config import ConsumerConfig
from zkconsumer.connector.assembly import new_consumer_id


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
