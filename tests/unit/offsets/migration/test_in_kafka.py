"""A group's offsets in Kafka as a migration sees them, with a scripted coordinator."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.fakes.memory_transport import MemoryNetwork
from tests.support.manual_clock import ManualClock
from tests.support.scripted_broker import MODERN, ScriptedAction, ScriptedBroker, ScriptedResponse
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import BrokerError, RequestTimedOut
from zkconsumer.model import Broker, OffsetAndMetadata, TopicPartition
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.offsets.coordinator import ChannelSettings
from zkconsumer.offsets.migration.in_kafka import INTERACTIVE, KafkaGroupOffsets
from zkconsumer.offsets.store import FetchedOffset
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.codec import RequestFrame
from zkconsumer.wire.messages import find_coordinator as fc
from zkconsumer.wire.messages import group_admin as dg
from zkconsumer.wire.messages import metadata as md
from zkconsumer.wire.messages import offset_commit as oc
from zkconsumer.wire.messages import offset_fetch as of
from zkconsumer.wire.versions import BrokerGeneration, VersionRange

A, B = (TopicPartition("t", number) for number in range(2))
COORDINATOR = Broker(3, "k", 9092)
CLUSTER = md.MetadataResponse(
    brokers=(md.MetadataBroker(id=3, host="k", port=9092),),
    topics=(
        md.TopicMetadata(
            error_code=0,
            topic="t",
            partitions=tuple(
                md.PartitionMetadata(
                    error_code=0, partition=number, leader=3, replicas=(3,), isr=(3,)
                )
                for number in range(2)
            ),
        ),
    ),
)
RESPONSE_MS = 400
BRIEF = ChannelSettings(timeout_ms=5_000, limit_ms=2 * RESPONSE_MS + 10, backoff_ms=20)
"""Time for two responses."""
OLD = {ApiKey.OFFSET_FETCH: VersionRange(0, 1), ApiKey.OFFSET_COMMIT: VersionRange(0, 1)}
NEW = {
    ApiKey.OFFSET_FETCH: VersionRange(1, 7),
    ApiKey.OFFSET_COMMIT: VersionRange(2, 8),
    ApiKey.DESCRIBE_GROUPS: VersionRange(0, 5),
}


class ScriptedCoordinator:
    """A cluster of one broker, with two partitions, which coordinates the group.

    Time passes only with requests about the group.

    Attributes:
        found: the error codes of coordinator lookups, in order; the last one is repeated.
        responses: the responses to requests, in order; the last one is repeated.
        requested: the requests about the group.
    """

    def __init__(self, versions: dict[ApiKey, VersionRange], *responses: ScriptedResponse) -> None:
        self.found = [0]
        self.responses = list(responses)
        self.requested: list[Any] = []
        self._clock = ManualClock()
        self._network = MemoryNetwork(self._clock)
        served = {key: VersionRange(0, 0) for key in (ApiKey.METADATA, ApiKey.FIND_COORDINATOR)}
        broker = ScriptedBroker(COORDINATOR, {**MODERN, **served, **versions}, response=self._write)
        if versions is OLD:
            broker.generation = BrokerGeneration.V0_8_2
            broker.serves = {**served, **OLD}
        broker.listen(self._network)

    def storage(self, settings: ChannelSettings = BRIEF) -> KafkaGroupOffsets:
        """Return the object under test."""
        dialer = BrokerDialer(
            self._network,
            client_id="test",
            connect_timeout_ms=500,
            request_timeout_ms=5_000,
            clock=self._clock,
        )
        client = ClusterClient(
            dialer,
            [COORDINATOR],
            request_timeout_ms=500,
            retry_backoff_ms=20,
            shuffle=lambda _: None,
            clock=self._clock,
        )
        return KafkaGroupOffsets(client, dialer, "g", settings, self._clock)

    def respond(self, frame: RequestFrame) -> ScriptedResponse:
        """Return the next response."""
        self.requested.append(frame.request)
        self._clock.advance(RESPONSE_MS)
        return self.responses.pop(0) if len(self.responses) > 1 else self.responses[0]

    def _write(self, frame: RequestFrame) -> ScriptedResponse | None:
        request = frame.request
        if isinstance(request, md.MetadataRequest):
            return CLUSTER
        if isinstance(request, fc.FindCoordinatorRequest):
            code = self.found.pop(0) if len(self.found) > 1 else self.found[0]
            return fc.FindCoordinatorResponse(
                error_code=code, coordinator_id=3, host=COORDINATOR.host, port=COORDINATOR.port
            )
        if getattr(request, "group_id", "g") == "g" and frame.api_key in NEW:
            return self.respond(frame)
        return None


def fetched(*entries: tuple[int, int, int], error_code: int = 0) -> of.OffsetFetchResponse:
    """Return an OffsetFetch response: partition, offset and error code of each entry."""
    partitions = tuple(
        of.OffsetFetchedPartition(partition=number, offset=offset, metadata="", error_code=code)
        for number, offset, code in entries
    )
    topics = (of.OffsetFetchedTopic(topic="t", partitions=partitions),)
    return of.OffsetFetchResponse(topics=topics, error_code=error_code)


def committed(*codes: int) -> oc.OffsetCommitResponse:
    """Return an OffsetCommit response with the error code of each partition."""
    partitions = tuple(
        oc.CommittedPartition(partition=number, error_code=code)
        for number, code in enumerate(codes)
    )
    return oc.OffsetCommitResponse(topics=(oc.CommittedTopic(topic="t", partitions=partitions),))


def group(state: str, *members: str, error_code: int = 0) -> dg.DescribeGroupsResponse:
    """Return a DescribeGroups response."""
    return dg.DescribeGroupsResponse(
        groups=(
            dg.DescribedGroup(
                error_code=error_code,
                group_id="g",
                state=state,
                protocol_type="consumer",
                protocol="",
                members=tuple(
                    dg.DescribedMember(
                        member_id=member,
                        client_id="c",
                        client_host="/10.0.0.1",
                        metadata=b"",
                        assignment=b"",
                    )
                    for member in members
                ),
            ),
        )
    )


def test_a_new_broker_is_asked_for_all_stable_offsets() -> None:
    """An offset of -1 counts as none."""
    script = ScriptedCoordinator(NEW, fetched((0, 5, 0), (1, -1, 0)))
    assert script.storage().stored(None) == {A: FetchedOffset(5)}
    (request,) = script.requested
    assert (request.topics, request.require_stable) == (None, True)


def test_an_old_broker_is_asked_for_every_partition_of_the_cluster() -> None:
    """An old broker can't list the offsets that it has."""
    script = ScriptedCoordinator(OLD, fetched((0, 5, 0), (1, -1, 0)))
    assert script.storage().stored({"t"}) == {A: FetchedOffset(5)}
    (request,) = script.requested
    assert request.topics == (of.OffsetFetchTopic(topic="t", partitions=(0, 1)),)
    assert not request.require_stable
    assert script.storage().stored({"other"}) == {}


@pytest.mark.parametrize(
    "first",
    [
        ScriptedAction.CLOSE,
        fetched((0, -1, ErrorCode.NOT_COORDINATOR)),
        fetched((0, -1, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)),
        fetched((0, -1, ErrorCode.UNSTABLE_OFFSET_COMMIT)),
        fetched((0, -1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)),
        fetched(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    ],
)
def test_a_retriable_error_is_retried(first: ScriptedResponse) -> None:
    """A retriable error is never taken for "no offset"."""
    script = ScriptedCoordinator(NEW, first, fetched((0, 5, 0)))
    assert script.storage().fetch([A]) == {A: FetchedOffset(5)}


def test_a_coordinator_that_is_not_available_yet_is_looked_up_again() -> None:
    """The offsets topic may be in creation."""
    script = ScriptedCoordinator(NEW, fetched((0, 5, 0)))
    script.found = [ErrorCode.COORDINATOR_NOT_AVAILABLE, 0]
    assert script.storage().fetch([A]) == {A: FetchedOffset(5)}


def test_a_permanent_error_is_raised() -> None:
    """If waiting might help, it is a time-out, else raised at once; partitions have their own."""
    loading = ScriptedCoordinator(NEW, fetched((0, -1, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)))
    with pytest.raises(RequestTimedOut, match="COORDINATOR_LOAD_IN_PROGRESS"):
        loading.storage().fetch([A])
    assert len(loading.requested) == 2  # there was no time for more
    with pytest.raises(BrokerError, match="GROUP_AUTHORIZATION_FAILED"):
        ScriptedCoordinator(
            NEW, fetched(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
        ).storage().fetch([A])
    forbidden = ScriptedCoordinator(NEW, fetched())
    forbidden.found = [ErrorCode.GROUP_AUTHORIZATION_FAILED]
    with pytest.raises(BrokerError, match="GROUP_AUTHORIZATION_FAILED"):
        forbidden.storage().fetch([A])
    found = (
        ScriptedCoordinator(NEW, fetched((0, -1, ErrorCode.TOPIC_AUTHORIZATION_FAILED)))
        .storage()
        .fetch([A, B])
    )
    assert found[A].error is not None
    assert found[B].error == "its offset in Kafka: the coordinator's response lacks it"


def test_offsets_are_written_without_membership() -> None:
    """To delete an offset -1 is written, which all clients take for none."""
    script = ScriptedCoordinator(NEW, committed(0, 0))
    assert script.storage().write({A: OffsetAndMetadata(5, "note"), B: None}) == {A: None, B: None}
    (request,) = script.requested
    assert (request.generation_id, request.member_id) == (-1, "")
    (topic,) = request.topics
    assert [(partition.offset, partition.metadata) for partition in topic.partitions] == [
        (5, "note"),
        (-1, ""),
    ]


def test_a_refused_write_has_the_reason() -> None:
    """A group with members is named first; retriable errors are retried."""
    script = ScriptedCoordinator(
        NEW, committed(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS), committed(25, 12)
    )
    outcome = script.storage().write({A: OffsetAndMetadata(5), B: OffsetAndMetadata(6)})
    assert outcome == {
        A: "UNKNOWN_MEMBER_ID (25): the group has members: stop them",
        B: "OFFSET_METADATA_TOO_LARGE (12): the metadata of a committed offset is too large",
    }
    assert script.storage().write({}) == {}


def test_no_commit_is_larger_than_a_coordinators_log_accepts() -> None:
    """A coordinator writes each commit as one batch; the results of all requests are merged."""

    class Accepting(ScriptedCoordinator):
        def respond(self, frame: RequestFrame) -> ScriptedResponse:
            self.requested.append(frame.request)
            assert isinstance(frame.request, oc.OffsetCommitRequest)
            (topic,) = frame.request.topics
            codes = tuple(
                oc.CommittedPartition(partition=partition.partition, error_code=0)
                for partition in topic.partitions
            )
            return oc.OffsetCommitResponse(
                topics=(oc.CommittedTopic(topic=topic.topic, partitions=codes),)
            )

    name = "t" * 200
    script = Accepting(NEW)
    offsets = {TopicPartition(name, at): OffsetAndMetadata(at, "m" * 100) for at in range(10_000)}
    assert script.storage(INTERACTIVE).write(offsets) == dict.fromkeys(offsets)
    written = [
        partition for request in script.requested for partition in request.topics[0].partitions
    ]
    assert [partition.offset for partition in written] == list(range(10_000))
    assert max(len(request.topics[0].partitions) for request in script.requested) * 300 < 500_000


@pytest.mark.parametrize(
    ("response", "members"),
    [
        (group("Empty"), []),
        (group("Dead"), []),
        (group("", error_code=ErrorCode.GROUP_ID_NOT_FOUND), []),
        (group("Stable", "m-1"), ["m-1 of client c at /10.0.0.1"]),
        (
            group("PreparingRebalance"),
            ["members that are just joining (the group is PreparingRebalance)"],
        ),
        (
            group("", error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED),
            ["unknown members: GROUP_AUTHORIZATION_FAILED (30): not authorised for the group"],
        ),
    ],
)
def test_members_are_those_that_the_coordinator_reports(
    response: dg.DescribeGroupsResponse, members: Sequence[str]
) -> None:
    """An unknown state is not taken for "no members"."""
    assert ScriptedCoordinator(NEW, response).storage().members() == members


def test_before_0_9_there_are_no_members_in_kafka() -> None:
    """No broker is asked for members."""
    script = ScriptedCoordinator(OLD)
    assert script.storage().members() == []
    assert script.requested == []
