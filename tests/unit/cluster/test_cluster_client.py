"""Requests to a cluster: which broker is asked, retries, and when a call gives up."""

import pytest

from tests.support.manual_clock import ManualClock
from tests.support.scripted_broker import MODERN, ScriptedAction, ScriptedResponse
from tests.support.scripted_cluster import END_OFFSET, ScriptedCluster
from zkconsumer.cluster.cluster_client import EARLIEST, LATEST, ClusterClient
from zkconsumer.cluster.epoch_ends import EpochEnd
from zkconsumer.cluster.offset_times import TimedOffset
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import (
    AuthenticationFailed,
    ConnectFailed,
    RemoteProtocolError,
    UnsupportedVersion,
)
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.codec import RequestFrame
from zkconsumer.wire.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from zkconsumer.wire.versions import BrokerGeneration, VersionRange

LONG_MS = 10_000
SHORT_MS = 100
T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
B0, B1 = Broker(0, "b0", 9092), Broker(1, "b1", 9092)


@pytest.fixture
def cluster() -> ScriptedCluster:
    """A cluster of two brokers, each of which leads a partition."""
    return ScriptedCluster(leaders={T0: 0, T1: 1}, epochs={T0: 3, T1: 4})


@pytest.fixture
def client(cluster: ScriptedCluster) -> ClusterClient:
    """A client of the cluster."""
    return cluster.client()


def limit_version(cluster: ScriptedCluster, api: ApiKey, last: int) -> None:
    """Let all brokers support an API only up to version ``last``."""
    for broker in cluster.brokers:
        broker.serves = {**MODERN, api: VersionRange(0, last)}


# --- Who leads ------------------------------------------------------------------------------------


def test_a_view_holds_leaders_epochs_and_errors(client: ClusterClient) -> None:
    """A view names leaders by broker id, and holds an error for a topic that does not exist."""
    view = client.view(["t", "none"], timeout_ms=LONG_MS)
    assert view.leaders == {T0: B0, T1: B1}
    assert view.leader_epochs == {T0: 3, T1: 4}
    assert view.errors == {"none": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert view.brokers == {0: B0, 1: B1}


@pytest.mark.parametrize("last", [0, 1, 3, 4, 12])
def test_a_view_creates_no_topics(
    cluster: ScriptedCluster, client: ClusterClient, last: int
) -> None:
    """No topic is created; brokers before 0.11 create those named, so all topics are requested."""
    limit_version(cluster, ApiKey.METADATA, last)
    for topics in (["none"], ["t", "none"], []):
        view = client.view(topics, timeout_ms=LONG_MS)
        assert set(view.errors) == {"none"} & set(topics)
        assert set(view.partitions) == {"t"} & set(topics)
    assert client.view(None, timeout_ms=LONG_MS).partitions == {"t": (0, 1)}
    assert cluster.created == []


@pytest.mark.parametrize("last", [0, 3, 12])
def test_a_view_creates_topics_if_allowed(
    cluster: ScriptedCluster, client: ClusterClient, last: int
) -> None:
    """A missing topic is created only if the caller allows it."""
    limit_version(cluster, ApiKey.METADATA, last)
    client.view(["none", "t"], timeout_ms=LONG_MS, allow_auto_create=True)
    assert cluster.created == ["none"]
    assert client.view([], timeout_ms=LONG_MS, allow_auto_create=True).partitions == {}


def test_a_broker_that_hangs_or_is_down_is_skipped(cluster: ScriptedCluster) -> None:
    """The next broker serves the request, and is tried first the next time."""
    client = cluster.client(timeout_ms=SHORT_MS)
    cluster.actions[0] = ScriptedAction.SILENCE
    assert client.view(["t"], timeout_ms=LONG_MS).leaders
    hung = len(cluster.brokers[0].requests)
    assert hung
    assert client.view(["t"], timeout_ms=LONG_MS).leaders
    # Known by its id now, the broker counts as another one that has not failed yet.
    client.view(["t"], timeout_ms=LONG_MS)
    hung = len(cluster.brokers[0].requests)
    client.view(["t"], timeout_ms=LONG_MS)
    assert len(cluster.brokers[0].requests) == hung


def test_a_broker_that_hangs_leaves_time_for_the_others(
    cluster: ScriptedCluster, client: ClusterClient
) -> None:
    """A request to one broker may not take the whole time of the call."""
    cluster.actions[0] = ScriptedAction.SILENCE
    assert client.view(["t"], timeout_ms=4 * SHORT_MS).leaders


def test_the_error_names_every_broker_and_its_failure(
    cluster: ScriptedCluster, client: ClusterClient
) -> None:
    """The error of a failed call names the request, and each broker with its failure."""
    cluster.brokers[0].down = True
    cluster.actions[1] = ScriptedAction.CLOSE
    with pytest.raises(ConnectFailed, match=r"topics t: .*b0:9092: can't connect.*b1:9092.*closes"):
        client.view(["t"], timeout_ms=SHORT_MS)


def test_bootstrap_servers_are_tried_when_all_known_brokers_are_gone(
    cluster: ScriptedCluster,
) -> None:
    """If all known brokers have moved, the configured bootstrap servers are tried again."""
    client = cluster.client()
    client.view(None, timeout_ms=LONG_MS)
    for broker in cluster.brokers:
        broker.down = True
        broker.break_all()
    moved = ScriptedCluster(leaders={T0: 0}, network=cluster.network)
    assert client.view(None, timeout_ms=LONG_MS).leaders == {T0: B0}
    assert moved.requested(ApiKey.METADATA)


def test_a_connection_that_broke_while_idle_is_reopened_at_once() -> None:
    """A connection that broke while idle is no failure: it is reopened without a pause."""
    cluster = ScriptedCluster(count=1, leaders={T0: 0})
    client = cluster.client(backoff_ms=LONG_MS)
    for _ in range(2):
        client.view(["t"], timeout_ms=LONG_MS)
    accepted = cluster.brokers[0].accepted
    cluster.brokers[0].break_all()
    assert client.view(["t"], timeout_ms=LONG_MS).leaders
    assert cluster.brokers[0].accepted == accepted + 1


def test_a_connection_that_was_idle_for_long_is_replaced(cluster: ScriptedCluster) -> None:
    """Its peer may have vanished silently, so a request on it could wait for its whole time-out."""
    clock = ManualClock()
    client = cluster.client(clock=clock)
    for _ in range(2):
        client.view(["t"], timeout_ms=LONG_MS)
    accepted = sum(broker.accepted for broker in cluster.brokers)
    clock.advance(50_000)
    client.view(["t"], timeout_ms=LONG_MS)
    assert sum(broker.accepted for broker in cluster.brokers) == accepted
    clock.advance(70_000)
    client.view(["t"], timeout_ms=LONG_MS)
    assert sum(broker.accepted for broker in cluster.brokers) == accepted + 1


def test_final_errors_are_raised_at_once(cluster: ScriptedCluster, client: ClusterClient) -> None:
    """An error that a retry cannot fix is raised at once."""

    def wants_tls(_: RequestFrame) -> bytes:
        return b"\x15\x03\x03\x00\x02\x02\x50"

    for broker in cluster.brokers:
        broker.response = wants_tls
    with pytest.raises(AuthenticationFailed, match="TLS"):
        client.view(["t"], timeout_ms=LONG_MS)
    for broker in cluster.brokers:
        broker.response = lambda _: b"HTTP/1.1 400 Bad Request\r\n\r\n"
    # The bytes do not say which side is wrong, so all brokers are named.
    with pytest.raises(RemoteProtocolError, match=r"topics t: .*b0:9092.*b1:9092.*another proto"):
        client.view(["t"], timeout_ms=LONG_MS)


# --- Offsets by time ------------------------------------------------------------------------------


def test_offsets_are_requested_once_from_each_leader(
    cluster: ScriptedCluster, client: ClusterClient
) -> None:
    """Each leader gets one request for all of its partitions."""
    cluster.leaders[T2] = 1
    listed = client.list_offsets({T0: EARLIEST, T1: LATEST, T2: 1234}, timeout_ms=LONG_MS)
    assert listed == {
        T0: TimedOffset(0, -1, 5),
        T1: TimedOffset(END_OFFSET, -1, 5),
        T2: TimedOffset(1234, 1234, 5),
    }
    assert cluster.requested(ApiKey.LIST_OFFSETS) == [0, 1]
    assert client.list_offsets({}, timeout_ms=LONG_MS) == {}


def test_old_brokers_list_only_the_ends_of_a_log(
    cluster: ScriptedCluster, client: ClusterClient
) -> None:
    """Brokers before 0.10.1 know the two ends of a log; a timestamp is refused with the reason."""
    for broker in cluster.brokers:
        broker.become(BrokerGeneration.V0_8_2)
    assert client.list_offsets({T0: LATEST, T1: EARLIEST}, timeout_ms=LONG_MS) == {
        T0: TimedOffset(END_OFFSET),
        T1: TimedOffset(0),
    }
    with pytest.raises(UnsupportedVersion, match=r"broker 0 .b0:9092.*0.8.2.*LIST_OFFSETS"):
        client.list_offsets({T0: 1234}, timeout_ms=LONG_MS)


def test_a_moved_leader_is_found_with_fresh_metadata(
    cluster: ScriptedCluster, client: ClusterClient
) -> None:
    """A broker that no longer leads a partition says so, and the metadata is refreshed."""
    client.view(["t"], timeout_ms=LONG_MS)
    cluster.leaders[T0] = 1
    assert client.list_offsets({T0: LATEST}, timeout_ms=LONG_MS) == {T0: TimedOffset(100, -1, 5)}
    assert cluster.requested(ApiKey.LIST_OFFSETS) == [0, 1]


@pytest.mark.parametrize("action", [ScriptedAction.SILENCE, ScriptedAction.CLOSE])
def test_a_leader_that_does_not_respond_costs_only_its_own_partitions(
    cluster: ScriptedCluster, action: ScriptedAction
) -> None:
    """Other leaders' offsets are returned; the silent one's partitions get a retriable code."""
    client = cluster.client(timeout_ms=SHORT_MS)
    client.view(["t"], timeout_ms=LONG_MS)
    cluster.actions[0] = action
    listed = client.list_offsets({T0: LATEST, T1: LATEST}, timeout_ms=3 * SHORT_MS)
    assert listed == {T0: ErrorCode.NETWORK_EXCEPTION, T1: TimedOffset(END_OFFSET, -1, 5)}
    assert ErrorCode.NETWORK_EXCEPTION.retriable


def test_partition_errors_are_returned_by_partition(
    cluster: ScriptedCluster, client: ClusterClient
) -> None:
    """A final code is returned without a retry, a retriable one when the time is over."""
    cluster.fails[T0] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    cluster.leaders[T2] = -1
    client.view(["t"], timeout_ms=LONG_MS)
    none = TopicPartition("none", 0)
    wanted = {T0: LATEST, T1: LATEST, T2: LATEST, none: 0}
    listed = client.list_offsets(wanted, timeout_ms=5 * SHORT_MS)
    assert listed == {
        T0: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        T1: TimedOffset(END_OFFSET, -1, 5),
        T2: ErrorCode.LEADER_NOT_AVAILABLE,
        none: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert len([request for request in cluster.requested(ApiKey.LIST_OFFSETS) if request == 0]) == 1


def test_offsets_that_were_received_are_returned(cluster: ScriptedCluster) -> None:
    """Offsets received so far are returned even if all brokers then become unreachable."""
    client = cluster.client(backoff_ms=20)
    client.view(["t"], timeout_ms=LONG_MS)
    cluster.fails[T0] = ErrorCode.NOT_LEADER_FOR_PARTITION
    responses = cluster.brokers[1].response

    def last_response(frame: RequestFrame) -> ScriptedResponse | None:
        message = responses(frame)
        if frame.api_key is ApiKey.LIST_OFFSETS:
            cluster.actions.update({0: ScriptedAction.CLOSE, 1: ScriptedAction.CLOSE})
        return message

    cluster.brokers[1].response = last_response
    assert client.list_offsets({T0: LATEST, T1: LATEST}, timeout_ms=5 * SHORT_MS) == {
        T0: ErrorCode.NOT_LEADER_FOR_PARTITION,
        T1: TimedOffset(END_OFFSET, -1, 5),
    }


def test_a_partition_missing_from_the_response_gets_a_retriable_code(
    cluster: ScriptedCluster, client: ClusterClient
) -> None:
    """A partition that a leader leaves out of its response is retried until the time is over."""
    client.view(["t"], timeout_ms=LONG_MS)
    responses = cluster.brokers[0].response
    cluster.brokers[0].response = lambda frame: (
        ListOffsetsResponse(topics=()) if frame.api_key is ApiKey.LIST_OFFSETS else responses(frame)
    )
    assert client.list_offsets({T0: LATEST}, timeout_ms=5 * SHORT_MS) == {
        T0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    }


@pytest.mark.parametrize(("last", "named"), [(9, 3), (8, -1)])
def test_leader_epochs_are_sent_only_if_the_metadata_is_recent_enough(
    cluster: ScriptedCluster, client: ClusterClient, last: int, named: int
) -> None:
    """Metadata before 2.4 may hold an epoch that a leader does not know during a reassignment."""
    limit_version(cluster, ApiKey.METADATA, last)
    responses = cluster.brokers[0].response
    requested: list[int] = []

    def noted(frame: RequestFrame) -> ScriptedResponse | None:
        if isinstance(frame.request, ListOffsetsRequest):
            (topic,) = frame.request.topics
            requested.extend(partition.current_leader_epoch for partition in topic.partitions)
        return responses(frame)

    cluster.brokers[0].response = noted
    assert client.list_offsets({T0: LATEST}, timeout_ms=LONG_MS)
    assert requested == [named]


# --- Ends of epochs, coordinators -----------------------------------------------------------------


def test_epoch_ends_are_none_for_brokers_that_cannot_tell(
    cluster: ScriptedCluster, client: ClusterClient
) -> None:
    """The end of an epoch is None where the leader's version cannot report it."""
    requested = {T0: (3, 2), T1: (4, 4)}
    assert client.epoch_ends(requested, timeout_ms=LONG_MS) == {
        T0: EpochEnd(2, END_OFFSET),
        T1: EpochEnd(4, END_OFFSET),
    }
    cluster.brokers[1].break_all()
    cluster.brokers[1].serves = {
        **MODERN,
        ApiKey.OFFSET_FOR_LEADER_EPOCH: VersionRange(0, 2),
    }
    assert client.epoch_ends(requested, timeout_ms=LONG_MS) == {
        T0: EpochEnd(2, END_OFFSET),
        T1: None,
    }


def test_the_coordinator_is_a_broker_or_an_error_code(
    cluster: ScriptedCluster, client: ClusterClient
) -> None:
    """A code is returned instead of a broker; the caller decides when to try again."""
    cluster.coordinator = 1
    assert client.coordinator("g", timeout_ms=LONG_MS) == B1
    cluster.coordinator = -ErrorCode.COORDINATOR_NOT_AVAILABLE
    code = client.coordinator("g", timeout_ms=LONG_MS)
    assert code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    cluster.actions[0] = ScriptedAction.CLOSE
    cluster.coordinator = 1
    assert client.coordinator("g", timeout_ms=LONG_MS) == B1
    cluster.actions[1] = ScriptedAction.CLOSE
    with pytest.raises(ConnectFailed, match="the coordinator of group g"):
        client.coordinator("g", timeout_ms=SHORT_MS)


def test_no_coordinator_before_0_8_2(cluster: ScriptedCluster, client: ClusterClient) -> None:
    """Brokers before 0.8.2 have no coordinators, which the error says."""
    for broker in cluster.brokers:
        broker.become(BrokerGeneration.V0_8_1)
    with pytest.raises(UnsupportedVersion, match=r"0.8.1.*CONSUMER_METADATA"):
        client.coordinator("g", timeout_ms=LONG_MS)


def test_any_broker_of_0_8_1_stores_offsets(
    cluster: ScriptedCluster, client: ClusterClient
) -> None:
    """Brokers of 0.8.1 store offsets in ZooKeeper; those of 0.8.0 store none."""
    for broker in cluster.brokers:
        broker.become(BrokerGeneration.V0_8_1)
    cluster.actions[0] = ScriptedAction.CLOSE
    assert client.coordinator_of_offsets(timeout_ms=LONG_MS).host == "b1"
    cluster.actions.clear()
    for broker in cluster.brokers:
        broker.become(BrokerGeneration.V0_8_0)
        broker.break_all()
    with pytest.raises(UnsupportedVersion, match=r"0.8.0.*OFFSET_FETCH"):
        client.coordinator_of_offsets(timeout_ms=LONG_MS)


def test_stopping_a_client_leaves_others_of_its_dialer_alone(cluster: ScriptedCluster) -> None:
    """A stopped client leaves others of the same dialer working; stopping the dialer stops all."""
    dialer = cluster.dialer()
    first, second = cluster.client(dialer=dialer), cluster.client(dialer=dialer)
    first.stop()
    assert second.view(["t"], timeout_ms=LONG_MS).leaders
    dialer.dial(B0).close()
    dialer.stop()
    for broker in cluster.brokers:
        broker.break_all()
    with pytest.raises(ConnectFailed, match="aborted"):
        second.view(["t"], timeout_ms=SHORT_MS)
