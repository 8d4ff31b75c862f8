"""A connector whose ZooKeeper is in memory, and whose fetching is done by the test."""

from typing import Any

from tests.support.control_bench import ControlledMember, parts_of
from zkconsumer.clock import SystemClock
from zkconsumer.config import ConsumerConfig
from zkconsumer.connector.connector import ZookeeperConsumerConnector
from zkconsumer.connector.member_calls import MemberCalls


class MemoryConnector(ZookeeperConsumerConnector):
    """A connector made of a bench's member, with a running control thread."""

    def __init__(self, member: ControlledMember, **settings: object) -> None:
        defaults: dict[str, Any] = {
            "zookeeper_connect": "memory:2181",
            "group_id": "g",
            "rebalance_backoff_ms": 20,
        }
        self.config = ConsumerConfig(None, **{**defaults, **settings})
        self.member = member
        self._parts = parts_of(member, self.config, clock=SystemClock())
        self._calls = MemberCalls(self._parts)
        self._calls.start()
