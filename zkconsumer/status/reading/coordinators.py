"""Asks the brokers which groups they coordinate, who is in them, and what they have committed.

A group is coordinated by whoever lists it, so nobody has to be looked up for that. Groups that
ZooKeeper keeps together are in no list; who keeps offsets of theirs is asked for by name. That
question makes the cluster create its offsets topic where there is none, so it must not be asked
before the topic is there. Source: Kafka 0.9.0.1 ``GroupCoordinator``, ``AdminClient``; KIP-88.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from zkconsumer.clock import Clock
from zkconsumer.cluster.coordinator_lookup import who_coordinates
from zkconsumer.error_codes import ErrorCode, explained
from zkconsumer.errors import BrokerError, UnsupportedVersion
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.negotiated import NegotiatedConnection
from zkconsumer.offsets import coordinator_requests as wire
from zkconsumer.status.model import GroupStatus
from zkconsumer.status.reading.broker_round import BrokerRound, Question, Unanswered
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
from zkconsumer.status.reading.values import CoordinatorsRead, GroupOffsets, OffsetsRead
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ReconciledGroup,
)
from zkconsumer.wire.messages.describe_groups import DescribedGroup, DescribeGroupsRequest
from zkconsumer.wire.messages.list_groups import ListGroupsRequest
from zkconsumer.wire.messages.offset_fetch import OffsetFetchRequest

OFFSETS_TOPIC: Final = "__consumer_offsets"
"""Where coordinators keep offsets."""

_DESCRIBED_AT_ONCE: Final = 100
_LISTS_NOTHING: Final = (
    "it is older than Kafka 0.9 and lists no groups: only ZooKeeper knows them, give that"
)
_NO_SUCH_GROUP: Final = frozenset({ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION})
"""Of a group that is not there; or of any where the cluster knows no such groups."""
_OF_THE_GROUP: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
    }
)


class CoordinatorReader:
    """Thread: any.

    Args:
        brokers: asks.
        clock: when things were seen.
        must_list: whether a broker that can't list groups is one that did not answer: where nobody
            else knows any.
    """

    def __init__(self, brokers: BrokerRound, clock: Clock, *, must_list: bool = False) -> None:
        self._must_list = must_list
        self._brokers = brokers
        self._clock = clock

    def read_groups(self, brokers: Collection[Broker], deadline: Deadline) -> CoordinatorsRead:
        """Ask every broker for the groups that it coordinates, and who is in them."""

        def request(connection: NegotiatedConnection) -> list[GroupStatus]:
            return list(self._groups_of(connection, deadline))

        lookups: dict[Broker, Question[list[GroupStatus]]] = dict.fromkeys(brokers, request)
        groups: dict[str, GroupStatus] = {}
        failures: dict[int, str] = {}
        for broker, response in self._brokers.request(lookups, deadline).items():
            if isinstance(response, Unanswered):
                failures[broker.id] = response.reason
                continue
            for group in response:
                # One that has just moved may be listed by both: who has its members knows more.
                known = groups.get(group.group_id)
                if known is None or len(known.members) < len(group.members):
                    groups[group.group_id] = group
        responding = frozenset(one.id for one in brokers) - failures.keys()
        return CoordinatorsRead(groups=groups, responding=responding, failures=failures)

    def find(
        self, group_ids: Collection[str], brokers: Sequence[Broker], deadline: Deadline
    ) -> dict[str, Broker | str]:
        """Who keeps these groups' offsets, or why that is not known; asks one broker for all.

        Only to be called when the offsets topic is there.
        """

        def request(connection: NegotiatedConnection) -> dict[str, Broker | str]:
            return {one: _find(connection, one, deadline) for one in group_ids}

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
        """Ask coordinators what their groups have committed.

        Args:
            wanted: the groups of each coordinator, and the partitions to ask for where it can't be
                asked for all that there are (before 0.10.2).
            deadline: until when.
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
            for group_id, one in response.items():
                if isinstance(one, int):
                    failures[group_id] = f"{broker}: {explained(one)}"
                    moved.add(group_id)
                else:
                    offsets[group_id] = one
        return OffsetsRead(offsets=offsets, failures=failures, moved=frozenset(moved))

    def describe_request(
        self, names: Sequence[str], deadline: Deadline
    ) -> Question[dict[str, GroupStatus | str | None]]:
        """What to ask who coordinates these; its response: each, None if it is gone, or why not."""

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
            # Gone, or of those that are described in another way.
            missing = [name for name, group in found.items() if group is None]
            return found | self._reconciled_again(connection, missing, deadline)

        return request

    def _described(
        self, connection: NegotiatedConnection, names: Sequence[str], deadline: Deadline
    ) -> Iterator[DescribedGroup]:
        for first in range(0, len(names), _DESCRIBED_AT_ONCE):
            part = tuple(names[first : first + _DESCRIBED_AT_ONCE])
            response = connection.call(
                DescribeGroupsRequest(groups=part), timeout_ms=max(1, deadline.left_ms)
            )
            yield from response.groups

    def _reconciled(
        self, connection: NegotiatedConnection, names: Sequence[str], deadline: Deadline
    ) -> Iterator[ReconciledGroup]:
        for first in range(0, len(names), _DESCRIBED_AT_ONCE):
            part = tuple(names[first : first + _DESCRIBED_AT_ONCE])
            response = connection.call(
                ConsumerGroupDescribeRequest(group_ids=part), timeout_ms=max(1, deadline.left_ms)
            )
            yield from response.groups

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
        _check(listed.error_code, "ListGroups", connection.broker)
        seen_ms = self._clock.wall_ms()
        readers = {one.group_id: one for one in listed.groups if is_described(one)}
        has_other = connection.versions.has(ApiKey.CONSUMER_GROUP_DESCRIBE)
        others = {one.group_id for one in listed.groups if has_other and is_reconciled(one)}
        for one in listed.groups:
            if one.group_id not in readers and one.group_id not in others:
                yield listed_status(one, connection.broker, seen_ms)
        for other in self._reconciled(connection, sorted(others), deadline):
            if other.error_code not in _NO_SUCH_GROUP:
                yield reconciled_status(other, connection.broker, self._clock.wall_ms())
        for group in self._described(connection, list(readers), deadline):
            if group.state != DEAD or group.error_code:
                yield described_status(group, connection.broker, self._clock.wall_ms())

    def offsets_request(
        self, groups: Mapping[str, Collection[TopicPartition]], deadline: Deadline
    ) -> Question[dict[str, GroupOffsets | int]]:
        """What to ask who keeps these groups' offsets; its response: offsets, or an error code."""

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
        """Return what it has committed, or the error code that stands for all of it."""
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
        # Before 0.10.2, what was stored for a topic that is gone, or never was, is answered so.
        read = wire.positions(response, unknown_is_none=True)
        # And what is wrong with the whole group stands in each of its partitions.
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


def _check(code: int, api: str, broker: Broker) -> None:
    if code:
        raise BrokerError(code, api, f"{broker}: {explained(code)}")
