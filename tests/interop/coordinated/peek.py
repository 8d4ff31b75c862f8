"""Reads a coordinator's group from outside: members, shares, state, without asking a member."""

from collections.abc import Mapping
from typing import NamedTuple

from tests.support.kafka_offsets import TIMEOUT_MS, KafkaOffsets
from tests.support.raw_connections import raw_connection
from tests.support.waiting import wait_until
from zkconsumer.errors import TransportError
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox
from zkconsumer.wire.consumer_protocol import decode_assignment
from zkconsumer.wire.messages.group_admin import DescribedGroup, DescribeGroupsRequest


class GroupDescription(NamedTuple):
    """A group at one moment.

    Attributes:
        state: such as ``Stable``; the rest is only known in that state.
        protocol: the strategy that was chosen.
        shares: each member's assignment, by member id.
        clients: each member's client id.
    """

    state: str
    protocol: str
    shares: Mapping[str, frozenset[TopicPartition]]
    clients: Mapping[str, str]


class CoordinatorPeek:
    """Reads what the coordinator of one group knows."""

    def __init__(self, cluster: Sandbox, group: str) -> None:
        self.group = group
        self.offsets = KafkaOffsets(cluster, group)

    def describe(self) -> GroupDescription:
        """Describe the group; wait while no coordinator responds."""
        found = wait_until(self._described, what=f"a description of {self.group}")
        assert found is not None
        shares = {
            member.member_id: frozenset(
                TopicPartition(topic.topic, partition)
                for topic in decode_assignment(member.assignment)[1].assigned_partitions
                for partition in topic.partitions
            )
            for member in found.members
            if member.assignment
        }
        clients = {member.member_id: member.client_id for member in found.members}
        return GroupDescription(found.state, found.protocol, shares, clients)

    def _described(self) -> DescribedGroup | None:
        request = DescribeGroupsRequest(groups=(self.group,))
        try:
            connection = raw_connection(self.offsets.coordinator(), timeout_ms=TIMEOUT_MS)
        except TransportError:
            return None
        try:
            response = connection.request(request, version=0, timeout_ms=TIMEOUT_MS)
        except TransportError:
            return None
        finally:
            connection.close()
        (group,) = response.groups
        return None if group.error_code else group
