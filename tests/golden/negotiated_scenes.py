"""The life of a group with one member, once for each version of the APIs.

In round n every request has version n, or the nearest version that both sides support.
"""

from collections.abc import Callable, Iterator

from tests.golden.capture_frames import GoldenFrame
from tests.golden.frame_scenes import Fact
from zkconsumer.model import Record
from zkconsumer.records.build import build_message_set
from zkconsumer.records.transactions import IsolationLevel
from zkconsumer.wire.absent import NO_TOPIC_ID
from zkconsumer.wire.api import ApiKey, Request, Response
from zkconsumer.wire.consumer_protocol import (
    ConsumerAssignment,
    ConsumerSubscription,
    TopicPartitions,
    encode_assignment,
    encode_subscription,
)
from zkconsumer.wire.messages import offset_commit as oc
from zkconsumer.wire.messages.api_versions import ApiVersionsRequest
from zkconsumer.wire.messages.fetch import (
    FIRST_EPOCH,
    SESSIONLESS_EPOCH,
    FetchPartition,
    FetchRequest,
    FetchTopic,
)
from zkconsumer.wire.messages.find_coordinator import FindCoordinatorRequest
from zkconsumer.wire.messages.group_admin import ConsumerGroupDescribeRequest, DescribeGroupsRequest
from zkconsumer.wire.messages.group_members import (
    JoinGroupProtocol,
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupAssignment,
    SyncGroupRequest,
    leave_request,
)
from zkconsumer.wire.messages.heartbeat import HeartbeatRequest
from zkconsumer.wire.messages.list_groups import ListGroupsRequest
from zkconsumer.wire.messages.list_offsets import (
    LATEST_TIMESTAMP,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from zkconsumer.wire.messages.metadata import MetadataRequest, MetadataResponse
from zkconsumer.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchTopic
from zkconsumer.wire.messages.offset_for_leader_epoch import (
    EpochPartition,
    EpochTopic,
    OffsetForLeaderEpochRequest,
)
from zkconsumer.wire.negotiation import BrokerVersions

GROUP_ROUNDS = 14
TOPIC = "golden"
RECORD_COUNT = 3
SET = build_message_set([Record(0, b"key", b"value")] * RECORD_COUNT)
MEMBER_ID_REQUIRED = 79
FIRST = "topics[0].partitions[0]"
Exchange = Callable[[Request[Response], int, dict[str, Fact]], tuple[GoldenFrame, Response]]


class Round:
    """One round; ``frames`` yields its exchanges as they happen."""

    def __init__(self, number: int, versions: BrokerVersions) -> None:
        self._number = number
        self._common = versions.common
        self._group = f"golden-{number}"
        self._member_id = ""
        self._topic_id = NO_TOPIC_ID

    def frames(self, exchange: Exchange) -> Iterator[GoldenFrame]:
        """Send every request that the broker supports, in the order of a consumer's life."""
        for request, facts in self._cluster():
            if request.API.key in self._common:
                frame, response = exchange(request, self._version(request.API.key), facts)
                if isinstance(response, MetadataResponse):
                    self._topic_id = response.topics[0].topic_id
                yield frame
        yield from self._join(exchange)
        for request, facts in self._as_member():
            yield exchange(request, self._version(request.API.key), facts)[0]

    def _version(self, key: ApiKey) -> int:
        common = self._common[key]
        return max(common.first, min(self._number, common.last))

    def _cluster(self) -> Iterator[tuple[Request[Response], dict[str, Fact]]]:
        software = {"client_software_name": "golden", "client_software_version": "1.0"}
        yield ApiVersionsRequest(**software), {"error_code": 0, "api_versions[0].api_key": 0}
        coordinator: dict[str, Fact] = {"error_code": 0, "coordinator_id": 0}
        yield FindCoordinatorRequest(group_id=self._group), coordinator
        yield (
            MetadataRequest(topics=(TOPIC,)),
            {"brokers[0].id": 0, "topics[0].topic": TOPIC, f"{FIRST}.leader": 0},
        )
        listed = ListOffsetsPartition(partition=0, timestamp=LATEST_TIMESTAMP)
        old = self._version(ApiKey.LIST_OFFSETS) == 0
        end: dict[str, Fact] = {f"{FIRST}.offsets": [3]} if old else {f"{FIRST}.offset": 3}
        topic = ListOffsetsTopic(topic=TOPIC, partitions=(listed,))
        yield (
            ListOffsetsRequest(isolation_level=IsolationLevel.READ_COMMITTED, topics=(topic,)),
            end,
        )
        yield self._fetch(), {f"{FIRST}.error_code": 0, f"{FIRST}.high_watermark": 3}
        requested = EpochPartition(partition=0, current_leader_epoch=0, leader_epoch=0)
        yield (
            OffsetForLeaderEpochRequest(topics=(EpochTopic(topic=TOPIC, partitions=(requested,)),)),
            {f"{FIRST}.error_code": 0, f"{FIRST}.end_offset": 3},
        )

    def _fetch(self) -> FetchRequest:
        partition = FetchPartition(
            partition=0, current_leader_epoch=0, fetch_offset=0, max_bytes=1 << 20
        )
        has_sessions = self._version(ApiKey.FETCH) >= 7
        return FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            isolation_level=IsolationLevel.READ_COMMITTED,
            session_epoch=FIRST_EPOCH if has_sessions else SESSIONLESS_EPOCH,
            topics=(FetchTopic(topic=TOPIC, topic_id=self._topic_id, partitions=(partition,)),),
        )

    def _join(self, exchange: Exchange) -> Iterator[GoldenFrame]:
        """Join, twice if the broker first assigns an id."""
        version = self._version(ApiKey.JOIN_GROUP)
        facts: dict[str, Fact] = {"error_code": 0, "generation_id": 1, "protocol_name": "range"}
        if version >= 4:
            _, response = exchange(self._join_request(), version, {})
            assert isinstance(response, JoinGroupResponse)
            assert response.error_code == MEMBER_ID_REQUIRED
            self._member_id = response.member_id
        frame, response = exchange(self._join_request(), version, facts)
        assert isinstance(response, JoinGroupResponse)
        self._member_id = response.member_id
        yield frame

    def _join_request(self) -> JoinGroupRequest:
        metadata = encode_subscription(ConsumerSubscription(topics=(TOPIC,)))
        return JoinGroupRequest(
            group_id=self._group,
            session_timeout_ms=30_000,
            rebalance_timeout_ms=30_000,
            member_id=self._member_id,
            protocols=(JoinGroupProtocol(name="range", metadata=metadata),),
            reason="golden",
        )

    def _as_member(self) -> Iterator[tuple[Request[Response], dict[str, Fact]]]:
        group, member = self._group, self._member_id
        done: dict[str, Fact] = {"error_code": 0}
        got = ConsumerAssignment(
            assigned_partitions=(TopicPartitions(topic=TOPIC, partitions=(0,)),)
        )
        assignment = SyncGroupAssignment(member_id=member, assignment=encode_assignment(got))
        yield (
            SyncGroupRequest(
                group_id=group,
                generation_id=1,
                member_id=member,
                protocol_type="consumer",
                protocol_name="range",
                assignments=(assignment,),
            ),
            {**done},
        )
        yield HeartbeatRequest(group_id=group, generation_id=1, member_id=member), {**done}
        yield self._commit(), {f"{FIRST}.error_code": 0}
        fetched = OffsetFetchTopic(topic=TOPIC, partitions=(0,))
        yield (
            OffsetFetchRequest(group_id=group, topics=(fetched,)),
            {f"{FIRST}.offset": 2, f"{FIRST}.error_code": 0},
        )
        yield (
            DescribeGroupsRequest(groups=(group,)),
            {"groups[0].state": "Stable", "groups[0].members[0].member_id": member},
        )
        if ApiKey.CONSUMER_GROUP_DESCRIBE in self._common:
            # The group is of another type.
            yield (
                ConsumerGroupDescribeRequest(group_ids=(group,)),
                {"groups[0].group_id": group, "groups[0].members": []},
            )
        yield ListGroupsRequest(), {**done, "groups[0].protocol_type": "consumer"}
        version = self._version(ApiKey.LEAVE_GROUP)
        yield leave_request(group, member, version=version, reason="done"), {**done}

    def _commit(self) -> oc.OffsetCommitRequest:
        """Return a commit; in version 0, which writes to ZooKeeper, it has no member."""
        partition = oc.OffsetCommitPartition(partition=0, offset=2, leader_epoch=0, metadata="nöte")
        topics = (oc.OffsetCommitTopic(topic=TOPIC, partitions=(partition,)),)
        if self._version(ApiKey.OFFSET_COMMIT) == 0:
            return oc.OffsetCommitRequest(group_id=self._group, topics=topics)
        return oc.OffsetCommitRequest(
            group_id=self._group, generation_id=1, member_id=self._member_id, topics=topics
        )
