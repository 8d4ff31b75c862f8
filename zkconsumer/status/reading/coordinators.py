"""Reads groups, their members and offsets from the coordinators.

A group is coordinated by the broker that lists it, so no lookup is needed. For a group in
ZooKeeper, which may be in no list, the coordinator of its offsets is looked up by the group's id.
That request makes the cluster create its offsets topic if there is none, so it must not be sent
before the topic exists. Source: Kafka 0.9.0.1 ``GroupCoordinator``, ``AdminClient``; KIP-88.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from zkconsumer.clock import Clock
from zkconsumer.cluster.request_round import who_coordinates
from zkconsumer.error_codes import ErrorCode, explained
from zkconsumer.errors import BrokerError, UnsupportedVersion
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.negotiated import NegotiatedConnection
from zkconsumer.offsets import coordinator_requests as wire
from zkconsumer.parts import parts_of
from zkconsumer.status.model import GroupStatus
from zkconsumer.status.reading.broker_round import BrokerQuery, BrokerRound
from zkconsumer.status.reading.coordinator_responses import (
    DEAD,
    described_status,
    is_described,
    is_reconciled,
    listed_status,
    read_committed,
    reconciled_status,
)
from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.status.reading.values import CoordinatorsRead, GroupOffsets, OffsetsRead, Unanswered
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages.group_admin import (
    ConsumerGroupDescribeRequest,
    DescribedGroup,
    DescribeGroupsRequest,
    ReconciledGroup,
)
from zkconsumer.wire.messages.list_groups import ListGroupsRequest
from zkconsumer.wire.messages.offset_fetch import OffsetFetchRequest

OFFSETS_TOPIC: Final = "__consumer_offsets"
"""The topic in which coordinators store offsets."""

_DESCRIBED_AT_ONCE: Final = 100
_LISTS_NOTHING: Final = (
    "it is older than Kafka 0.9 and can't list groups: give --zookeeper, which has them"
)
_NO_SUCH_GROUP: Final = frozenset({ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION})
"""The error codes for an absent group, and of a cluster that does not support such groups."""
_OF_THE_GROUP: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
    }
)


class CoordinatorReader:
    """Reads from coordinators. Thread: any.

    Args:
        brokers: sends the requests.
        clock: for the times of reading.
        must_list: whether a broker that can't list groups counts as not responding; True if there
            is no other source of groups.
    """

    def __init__(self, brokers: BrokerRound, clock: Clock, *, must_list: bool = False) -> None:
        self._must_list = must_list
        self._brokers = brokers
        self._clock = clock

    def read_groups(self, brokers: Collection[Broker], deadline: Deadline) -> CoordinatorsRead:
        """Read the groups that each broker coordinates, with their members."""

        def request(connection: NegotiatedConnection) -> list[GroupStatus]:
            return list(self._groups_of(connection, deadline))

        lookups: dict[Broker, BrokerQuery[list[GroupStatus]]] = dict.fromkeys(brokers, request)
        groups: dict[str, GroupStatus] = {}
        failures: dict[int, str] = {}
        for broker, response in self._brokers.request(lookups, deadline).items():
            if isinstance(response, Unanswered):
                failures[broker.id] = response.reason
                continue
            for group in response:
                # The old and the new coordinator may both list a group that has just moved: the new
                # one has its members.
                known = groups.get(group.group_id)
                if known is None or len(known.members) < len(group.members):
                    groups[group.group_id] = group
        responding = frozenset(broker.id for broker in brokers) - failures.keys()
        return CoordinatorsRead(groups=groups, responding=responding, failures=failures)

    def find(
        self, group_ids: Collection[str], brokers: Sequence[Broker], deadline: Deadline
    ) -> dict[str, Broker | str]:
        """Return the coordinators of these groups, or why they are unknown, as one broker reports.

        Call it only if the offsets topic exists: otherwise the request would create it.
        """

        def request(connection: NegotiatedConnection) -> dict[str, Broker | str]:
            return {group_id: _find(connection, group_id, deadline) for group_id in group_ids}

        if not group_ids:
            return {}
        reason = "no broker is known"
        for broker in brokers:
            response = self._brokers.request({broker: request}, deadline)[broker]
            if not isinstance(response, Unanswered):
                return response
            reason = response.reason
            if deadline.is_over:
                break
        return dict.fromkeys(group_ids, reason)

    def read_offsets(
        self,
        wanted: Mapping[Broker, Mapping[str, Collection[TopicPartition]]],
        deadline: Deadline,
    ) -> OffsetsRead:
        """Read the committed offsets of groups from their coordinators.

        Args:
            wanted: the groups of each coordinator, and the partitions to request if it can't return
                all (before 0.10.2).
            deadline: the time limit.
        """
        lookups = {
            broker: self.offsets_request(groups, deadline) for broker, groups in wanted.items()
        }
        offsets: dict[str, GroupOffsets] = {}
        failures: dict[str, str] = {}
        moved: set[str] = set()
        for broker, response in self._brokers.request(lookups, deadline).items():
            if isinstance(response, Unanswered):
                failures |= dict.fromkeys(wanted[broker], response.reason)
                moved |= wanted[broker].keys()
                continue
            for group_id, found in response.items():
                if isinstance(found, int):
                    failures[group_id] = f"{broker}: {explained(found)}"
                    moved.add(group_id)
                else:
                    offsets[group_id] = found
        return OffsetsRead(offsets=offsets, failures=failures, moved=frozenset(moved))

    def describe_request(
        self, names: Sequence[str], deadline: Deadline
    ) -> BrokerQuery[dict[str, GroupStatus | str | None]]:
        """Return a query that describes groups: the status, None if gone, or why it is unknown."""

        def request(connection: NegotiatedConnection) -> dict[str, GroupStatus | str | None]:
            found: dict[str, GroupStatus | str | None] = {}
            for group in self._described(connection, names, deadline):
                if group.error_code:
                    found[group.group_id] = f"{connection.broker}: {explained(group.error_code)}"
                elif group.state == DEAD:
                    found[group.group_id] = None
                else:
                    seen_ms = self._clock.wall_ms()
                    status = described_status(group, connection.broker, seen_ms)
                    found[group.group_id] = status
            # These are gone, or of a kind that another API describes.
            missing = [name for name, group in found.items() if group is None]
            return found | self._reconciled_again(connection, missing, deadline)

        return request

    def _described(
        self, connection: NegotiatedConnection, names: Sequence[str], deadline: Deadline
    ) -> Iterator[DescribedGroup]:
        for part in parts_of(names, _DESCRIBED_AT_ONCE, lambda _: 1):
            request = DescribeGroupsRequest(groups=tuple(part))
            yield from connection.call(request, timeout_ms=max(1, deadline.left_ms)).groups

    def _reconciled(
        self, connection: NegotiatedConnection, names: Sequence[str], deadline: Deadline
    ) -> Iterator[ReconciledGroup]:
        for part in parts_of(names, _DESCRIBED_AT_ONCE, lambda _: 1):
            request = ConsumerGroupDescribeRequest(group_ids=tuple(part))
            yield from connection.call(request, timeout_ms=max(1, deadline.left_ms)).groups

    def _reconciled_again(
        self, connection: NegotiatedConnection, names: Sequence[str], deadline: Deadline
    ) -> dict[str, GroupStatus | str | None]:
        if not names or not connection.versions.has(ApiKey.CONSUMER_GROUP_DESCRIBE):
            return {}
        found: dict[str, GroupStatus | str | None] = {}
        for group in self._reconciled(connection, names, deadline):
            if group.error_code in _NO_SUCH_GROUP:
                continue
            if group.error_code:
                found[group.group_id] = f"{connection.broker}: {explained(group.error_code)}"
            else:
                seen_ms = self._clock.wall_ms()
                found[group.group_id] = reconciled_status(group, connection.broker, seen_ms)
        return found

    def _groups_of(
        self, connection: NegotiatedConnection, deadline: Deadline
    ) -> Iterator[GroupStatus]:
        if not connection.versions.has(ApiKey.LIST_GROUPS):
            if self._must_list:
                raise UnsupportedVersion(_LISTS_NOTHING)
            return
        listed = connection.call(ListGroupsRequest(), timeout_ms=max(1, deadline.left_ms))
        if listed.error_code:
            about = f"{connection.broker}: {explained(listed.error_code)}"
            raise BrokerError(listed.error_code, "ListGroups", about)
        seen_ms = self._clock.wall_ms()
        readers = {group.group_id: group for group in listed.groups if is_described(group)}
        has_other = connection.versions.has(ApiKey.CONSUMER_GROUP_DESCRIBE)
        others = {group.group_id for group in listed.groups if has_other and is_reconciled(group)}
        for group_status in listed.groups:
            if group_status.group_id not in readers and group_status.group_id not in others:
                yield listed_status(group_status, connection.broker, seen_ms)
        for other in self._reconciled(connection, sorted(others), deadline):
            if other.error_code not in _NO_SUCH_GROUP:
                yield reconciled_status(other, connection.broker, self._clock.wall_ms())
        for group in self._described(connection, list(readers), deadline):
            if group.state != DEAD or group.error_code:
                yield described_status(group, connection.broker, self._clock.wall_ms())

    def offsets_request(
        self, groups: Mapping[str, Collection[TopicPartition]], deadline: Deadline
    ) -> BrokerQuery[dict[str, GroupOffsets | int]]:
        """Return a query for the committed offsets of each group, or an error code of the group."""

        def request(connection: NegotiatedConnection) -> dict[str, GroupOffsets | int]:
            return {
                group_id: self._offsets(connection, group_id, partitions, deadline)
                for group_id, partitions in groups.items()
            }

        return request

    def _offsets(
        self,
        connection: NegotiatedConnection,
        group_id: str,
        partitions: Collection[TopicPartition],
        deadline: Deadline,
    ) -> GroupOffsets | int:
        """Return the committed offsets of a group, or the error code of the whole request."""
        version = connection.version_of(OffsetFetchRequest, at_least=wire.IN_KAFKA_SINCE)
        asks_for_all = version >= wire.ALL_AT_ONCE_SINCE
        if not asks_for_all and not partitions:
            return {}
        response = connection.call(
            wire.fetch_request(
                group_id, None if asks_for_all else partitions, version=version, stable=False
            ),
            timeout_ms=max(1, deadline.left_ms),
            at_least=version,
            at_most=version,
        )
        # Before 0.10.2, brokers report a topic that does not exist as unknown, not as no offset.
        read = wire.positions(response, unknown_is_none=True)
        # An error of the whole group is repeated in each of its partitions.
        codes = set(read.codes.values())
        if not asks_for_all and not read.found and len(codes) == 1 and codes <= _OF_THE_GROUP:
            return codes.pop()
        return read.code or read_committed(read, self._clock.wall_ms())


def _find(connection: NegotiatedConnection, group_id: str, deadline: Deadline) -> Broker | str:
    lookup = who_coordinates(group_id)
    request = lookup.request(connection)
    reported = lookup.read(
        connection, connection.call(request, timeout_ms=max(1, deadline.left_ms))
    )
    if isinstance(reported.coordinator, int):
        return f"{reported.by} names no coordinator: {explained(reported.coordinator)}"
    return reported.coordinator
