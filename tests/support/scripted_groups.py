"""Groups at coordinators in memory: adds responses about groups to a ``ScriptedCluster``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.support.scripted_broker import ScriptedResponse
from tests.support.scripted_cluster import ScriptedCluster
from zkconsumer.error_codes import ErrorCode
from zkconsumer.model import TopicPartition
from zkconsumer.wire.codec import RequestFrame
from zkconsumer.wire.consumer_protocol import (
    ConsumerAssignment,
    ConsumerSubscription,
    TopicPartitions,
    encode_assignment,
    encode_subscription,
)
from zkconsumer.wire.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from zkconsumer.wire.messages.group_admin import (
    AssignedTopic,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    DescribedMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    MemberAssignment,
    ReconciledGroup,
    ReconciledMember,
)
from zkconsumer.wire.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from zkconsumer.wire.messages.offset_fetch import (
    OffsetFetchedPartition,
    OffsetFetchedTopic,
    OffsetFetchRequest,
    OffsetFetchResponse,
)


@dataclass
class ScriptedGroup:
    """A group at a coordinator.

    Attributes:
        coordinator: the coordinator's broker id.
        listed: whether ListGroups returns it; False for the offsets of a ZooKeeper group.
        members: by member, the assigned partitions of each subscribed topic.
        state: the group's state.
        protocol_type: the group's protocol type.
        offsets: the committed offsets; a negative one is an error code instead.
        error: if not 0, the error code of every response.
        raw: bytes that replace each member's assignment.
        type: "consumer" for a group that its coordinator assigns (KIP-848); "" for others.
    """

    coordinator: int
    listed: bool = True
    members: Mapping[str, Mapping[str, tuple[int, ...]]] = field(default_factory=dict)
    state: str = "Stable"
    protocol_type: str = "consumer"
    offsets: Mapping[TopicPartition, int] = field(default_factory=dict)
    error: int = 0
    raw: bytes | None = None
    type: str = ""


@dataclass
class ScriptedGroups:
    """The groups of a cluster; creating it adds their responses to the brokers."""

    cluster: ScriptedCluster
    groups: dict[str, ScriptedGroup] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for number, broker in enumerate(self.cluster.brokers):
            broker.response = self._respond(number, broker.response)

    def _respond(
        self, number: int, otherwise: Callable[[RequestFrame], ScriptedResponse | None]
    ) -> Callable[[RequestFrame], ScriptedResponse | None]:
        def response(frame: RequestFrame) -> ScriptedResponse | None:
            if number in self.cluster.actions:
                return otherwise(frame)
            match frame.request:
                case ListGroupsRequest():
                    return self._list(number)
                case DescribeGroupsRequest(groups=names):
                    return DescribeGroupsResponse(
                        groups=tuple(self._describe(number, name) for name in names)
                    )
                case ConsumerGroupDescribeRequest(group_ids=names):
                    return ConsumerGroupDescribeResponse(
                        groups=tuple(self._reconciled(number, name) for name in names)
                    )
                case FindCoordinatorRequest(group_id=name):
                    return self._find(name)
                case OffsetFetchRequest():
                    return self._fetch(number, frame.request, frame.version)
                case _:
                    return otherwise(frame)

        return response

    def _list(self, number: int) -> ListGroupsResponse:
        return ListGroupsResponse(
            error_code=0,
            groups=tuple(
                ListedGroup(group_id=name, protocol_type=group.protocol_type, type=group.type)
                for name, group in self.groups.items()
                if group.listed and group.coordinator == number
            ),
        )

    def _describe(self, number: int, name: str) -> DescribedGroup:
        group = self.groups.get(name)
        if group is not None and group.type:
            return _dead(name)
        if group is None or group.coordinator != number or group.error:
            code = ErrorCode.NOT_COORDINATOR if group is None else group.error
            return DescribedGroup(
                error_code=code,
                group_id=name,
                state="" if code else "Dead",
                protocol_type="",
                protocol="",
                members=(),
            )
        return DescribedGroup(
            error_code=0,
            group_id=name,
            state=group.state,
            protocol_type=group.protocol_type,
            protocol="range" if group.members else "",
            members=tuple(
                _member(member_id, has, group) for member_id, has in group.members.items()
            ),
        )

    def _reconciled(self, number: int, name: str) -> ReconciledGroup:
        group = self.groups.get(name)
        is_one = group is not None and group.type and group.coordinator == number
        code = group.error if group is not None and is_one else ErrorCode.GROUP_ID_NOT_FOUND
        reported = group if group is not None and not code else None
        members = {} if reported is None else reported.members
        return ReconciledGroup(
            error_code=code,
            group_id=name,
            state="" if reported is None else reported.state,
            group_epoch=1,
            assignment_epoch=1,
            assignor_name="uniform",
            members=tuple(_reconciled_member(member_id, has) for member_id, has in members.items()),
        )

    def _find(self, name: str) -> FindCoordinatorResponse:
        group = self.groups.get(name)
        if group is None:
            return FindCoordinatorResponse(error_code=0, coordinator_id=0, host="b0", port=9092)
        if group.error:
            return FindCoordinatorResponse(
                error_code=group.error, coordinator_id=-1, host="", port=-1
            )
        number = group.coordinator
        return FindCoordinatorResponse(
            error_code=0, coordinator_id=number, host=f"b{number}", port=9092
        )

    def _fetch(self, number: int, request: OffsetFetchRequest, version: int) -> OffsetFetchResponse:
        group = self.groups.get(request.group_id, ScriptedGroup(number))
        code = group.error or (ErrorCode.NOT_COORDINATOR if group.coordinator != number else 0)
        if code and version >= 2:
            return OffsetFetchResponse(topics=(), error_code=code)
        requested = [
            TopicPartition(topic.topic, partition)
            for topic in request.topics or ()
            for partition in topic.partitions
        ]
        return OffsetFetchResponse(
            topics=tuple(
                OffsetFetchedTopic(
                    topic=tp.topic, partitions=(_fetched(tp, group.offsets.get(tp), code),)
                )
                for tp in (sorted(group.offsets) if request.topics is None else requested)
            )
        )


def _member(name: str, has: Mapping[str, tuple[int, ...]], group: ScriptedGroup) -> DescribedMember:
    assignment = ConsumerAssignment(
        assigned_partitions=tuple(
            TopicPartitions(topic=topic, partitions=ids) for topic, ids in has.items()
        )
    )
    return DescribedMember(
        member_id=name,
        client_id="client",
        client_host="/10.0.0.1",
        metadata=encode_subscription(ConsumerSubscription(topics=tuple(has))),
        assignment=encode_assignment(assignment) if group.raw is None else group.raw,
    )


def _fetched(tp: TopicPartition, offset: int | None, code: int) -> OffsetFetchedPartition:
    if offset is not None and offset < 0:
        code, offset = -offset, None
    return OffsetFetchedPartition(
        partition=tp.partition,
        offset=-1 if offset is None or code else offset,
        metadata="" if offset is None else f"of {tp}",
        error_code=code,
    )


def _dead(name: str) -> DescribedGroup:
    return DescribedGroup(
        error_code=0, group_id=name, state="Dead", protocol_type="", protocol="", members=()
    )


def _reconciled_member(name: str, has: Mapping[str, tuple[int, ...]]) -> ReconciledMember:
    assignment = MemberAssignment(
        topic_partitions=tuple(
            AssignedTopic(topic_id=bytes(16), topic_name=topic, partitions=ids)
            for topic, ids in has.items()
        )
    )
    return ReconciledMember(
        member_id=name,
        member_epoch=1,
        client_id=f"client-{name}",
        client_host="/10.0.0.1",
        subscribed_topic_names=(*has,),
        assignment=assignment,
        target_assignment=assignment,
    )
