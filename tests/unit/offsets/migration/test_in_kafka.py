"""A group's offsets in Kafka as a migration sees them, by a coordinator that follows a script."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.fakes.memory_transport import MemoryNetwork
from tests.support.manual_clock import ManualClock
from tests.support.spoken_broker import MODERN, Said, SpokenBroker, Word
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
ANSWER_MS = 400
BRIEF = ChannelSettings(timeout_ms=5_000, limit_ms=2 * ANSWER_MS + 10, backoff_ms=20)
"""Time for two answers."""
OLD = {ApiKey.OFFSET_FETCH: VersionRange(0, 1), ApiKey.OFFSET_COMMIT: VersionRange(0, 1)}
NEW = {
    ApiKey.OFFSET_FETCH: VersionRange(1, 7),
    ApiKey.OFFSET_COMMIT: VersionRange(2, 8),
    ApiKey.DESCRIBE_GROUPS: VersionRange(0, 5),
}


class ScriptedCluster:
    """A cluster of one broker, with two partitions, which coordinates the group.

    Time passes only while it is asked about the group.

    Attributes:
        found: what looking for the coordinator gives, the last one for ever.
        responses: what it says to one request after the other; the last one for ever.
        requested: what it was asked about the group.
    """

    def __init__(self, versions: dict[ApiKey, VersionRange], *responses: Said) -> None:
        self.found = [0]
        self.responses = list(responses)
        self.requested: list[Any] = []
        self._clock = ManualClock()
        self._network = MemoryNetwork(self._clock)
        served = {key: VersionRange(0, 0) for key in (ApiKey.METADATA, ApiKey.FIND_COORDINATOR)}
        broker = SpokenBroker(COORDINATOR, {**MODERN, **served, **versions}, response=self._write)
        if versions is OLD:
            broker.generation = BrokerGeneration.V0_8_2
            broker.serves = {**served, **OLD}
        broker.listen(self._network)

    def storage(self, settings: ChannelSettings = BRIEF) -> KafkaGroupOffsets:
        """What is under test."""
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

    def says(self, frame: RequestFrame) -> Said:
        """The next answer."""
        self.requested.append(frame.request)
        self._clock.advance(ANSWER_MS)
        return self.responses.pop(0) if len(self.responses) > 1 else self.responses[0]

    def _write(self, frame: RequestFrame) -> Said | None:
        request = frame.request
        if isinstance(request, md.MetadataRequest):
            return CLUSTER
        if isinstance(request, fc.FindCoordinatorRequest):
            code = self.found.pop(0) if len(self.found) > 1 else self.found[0]
            return fc.FindCoordinatorResponse(
                error_code=code, coordinator_id=3, host=COORDINATOR.host, port=COORDINATOR.port
            )
        if getattr(request, "group_id", "g") == "g" and frame.api_key in NEW:
            return self.says(frame)
        return None


def held(*entries: tuple[int, int, int], error_code: int = 0) -> of.OffsetFetchResponse:
    """An answer: partition, offset and error code."""
    partitions = tuple(
        of.OffsetFetchedPartition(partition=number, offset=offset, metadata="", error_code=code)
        for number, offset, code in entries
    )
    topics = (of.OffsetFetchedTopic(topic="t", partitions=partitions),)
    return of.OffsetFetchResponse(topics=topics, error_code=error_code)


def taken(*codes: int) -> oc.OffsetCommitResponse:
    """An answer: the error code of one partition after the other."""
    partitions = tuple(
        oc.CommittedPartition(partition=number, error_code=code)
        for number, code in enumerate(codes)
    )
    return oc.OffsetCommitResponse(topics=(oc.CommittedTopic(topic="t", partitions=partitions),))


def group(state: str, *members: str, error_code: int = 0) -> dg.DescribeGroupsResponse:
    """An answer about the group."""
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


def test_a_new_broker_is_asked_for_everything_and_for_stable_offsets() -> None:
    """An offset that is not there (-1) is none."""
    script = ScriptedCluster(NEW, held((0, 5, 0), (1, -1, 0)))
    assert script.storage().stored(None) == {A: FetchedOffset(5)}
    (request,) = script.requested
    assert (request.topics, request.require_stable) == (None, True)


def test_an_old_one_is_asked_for_every_partition_of_the_cluster() -> None:
    """It can't list what it has."""
    script = ScriptedCluster(OLD, held((0, 5, 0), (1, -1, 0)))
    assert script.storage().stored({"t"}) == {A: FetchedOffset(5)}
    (request,) = script.requested
    assert request.topics == (of.OffsetFetchTopic(topic="t", partitions=(0, 1)),)
    assert not request.require_stable
    assert script.storage().stored({"other"}) == {}


@pytest.mark.parametrize(
    "first",
    [
        Word.CLOSE,
        held((0, -1, ErrorCode.NOT_COORDINATOR)),
        held((0, -1, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)),
        held((0, -1, ErrorCode.UNSTABLE_OFFSET_COMMIT)),
        held((0, -1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)),
        held(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    ],
)
def test_what_passes_is_asked_again(first: Said) -> None:
    """And is never taken for "no offset"."""
    script = ScriptedCluster(NEW, first, held((0, 5, 0)))
    assert script.storage().fetch([A]) == {A: FetchedOffset(5)}


def test_a_coordinator_that_is_not_there_yet_is_looked_for_again() -> None:
    """As long as the topic of offsets is being made."""
    script = ScriptedCluster(NEW, held((0, 5, 0)))
    script.found = [ErrorCode.COORDINATOR_NOT_AVAILABLE, 0]
    assert script.storage().fetch([A]) == {A: FetchedOffset(5)}


def test_what_does_not_pass_is_an_error_that_says_so() -> None:
    """In time, or at once where waiting would not help; of one partition its own."""
    loading = ScriptedCluster(NEW, held((0, -1, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)))
    with pytest.raises(RequestTimedOut, match="COORDINATOR_LOAD_IN_PROGRESS"):
        loading.storage().fetch([A])
    assert len(loading.requested) == 2  # there was time for no more
    with pytest.raises(BrokerError, match="GROUP_AUTHORIZATION_FAILED"):
        ScriptedCluster(NEW, held(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)).storage().fetch(
            [A]
        )
    forbidden = ScriptedCluster(NEW, held())
    forbidden.found = [ErrorCode.GROUP_AUTHORIZATION_FAILED]
    with pytest.raises(BrokerError, match="GROUP_AUTHORIZATION_FAILED"):
        forbidden.storage().fetch([A])
    found = (
        ScriptedCluster(NEW, held((0, -1, ErrorCode.TOPIC_AUTHORIZATION_FAILED)))
        .storage()
        .fetch([A, B])
    )
    assert found[A].error is not None
    assert found[B].error == "its offset in Kafka: the coordinator's response lacks it"


def test_offsets_are_written_by_nobodys_member() -> None:
    """Where there shall be none, -1 is written, which all take for none."""
    script = ScriptedCluster(NEW, taken(0, 0))
    assert script.storage().write({A: OffsetAndMetadata(5, "note"), B: None}) == {A: None, B: None}
    (request,) = script.requested
    assert (request.generation_id, request.member_id) == (-1, "")
    (topic,) = request.topics
    assert [(partition.offset, partition.metadata) for partition in topic.partitions] == [
        (5, "note"),
        (-1, ""),
    ]


def test_a_write_that_is_refused_says_why() -> None:
    """A group with members first of all; and what passes is tried again."""
    script = ScriptedCluster(NEW, taken(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS), taken(25, 12))
    outcome = script.storage().write({A: OffsetAndMetadata(5), B: OffsetAndMetadata(6)})
    assert outcome == {
        A: "UNKNOWN_MEMBER_ID (25): the group has members: stop them",
        B: "OFFSET_METADATA_TOO_LARGE (12): the metadata of a committed offset is too large",
    }
    assert script.storage().write({}) == {}


def test_no_commit_is_larger_than_a_coordinators_log_takes() -> None:
    """It writes one batch of each; in the answers of all of them every partition is found."""

    class Accepting(ScriptedCluster):
        def says(self, frame: RequestFrame) -> Said:
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
def test_members_are_those_that_the_coordinator_tells(
    response: dg.DescribeGroupsResponse, members: Sequence[str]
) -> None:
    """What it does not tell is not taken for nobody."""
    assert ScriptedCluster(NEW, response).storage().members() == members


def test_before_0_9_there_are_no_members_in_kafka() -> None:
    """No broker is asked for members."""
    script = ScriptedCluster(OLD)
    assert script.storage().members() == []
    assert script.requested == []
