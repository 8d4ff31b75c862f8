"""Questions to a cluster: who answers, who hangs, who is wrong, and when it is given up."""

import pytest

from tests.support.manual_clock import ManualClock
from tests.support.spoken_broker import MODERN, Said, Word
from tests.support.spoken_cluster import END_OFFSET, SpokenCluster
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
def cluster() -> SpokenCluster:
    """Two brokers, each leads a partition."""
    return SpokenCluster(leaders={T0: 0, T1: 1}, epochs={T0: 3, T1: 4})


@pytest.fixture
def client(cluster: SpokenCluster) -> ClusterClient:
    """What asks it."""
    return cluster.client()


def serving(cluster: SpokenCluster, api: ApiKey, last: int) -> None:
    """Let all brokers be ones that serve less of an API."""
    for broker in cluster.brokers:
        broker.serves = {**MODERN, api: VersionRange(0, last)}


# --- Who leads ------------------------------------------------------------------------------------


def test_a_view_of_some_topics(client: ClusterClient) -> None:
    """Leaders by their own ids, and an error for what does not exist."""
    view = client.view(["t", "none"], timeout_ms=LONG_MS)
    assert view.leaders == {T0: B0, T1: B1}
    assert view.leader_epochs == {T0: 3, T1: 4}
    assert view.errors == {"none": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert view.brokers == {0: B0, 1: B1}


@pytest.mark.parametrize("last", [0, 1, 3, 4, 12])
def test_asking_creates_nothing(cluster: SpokenCluster, client: ClusterClient, last: int) -> None:
    """Before 0.11 a broker can't be told so: then it is asked about all topics."""
    serving(cluster, ApiKey.METADATA, last)
    for topics in (["none"], ["t", "none"], []):
        view = client.view(topics, timeout_ms=LONG_MS)
        assert set(view.errors) == {"none"} & set(topics)
        assert set(view.partitions) == {"t"} & set(topics)
    assert client.view(None, timeout_ms=LONG_MS).partitions == {"t": (0, 1)}
    assert cluster.created == []


@pytest.mark.parametrize("last", [0, 3, 12])
def test_asking_creates_on_demand(cluster: SpokenCluster, client: ClusterClient, last: int) -> None:
    """Where the caller allows it."""
    serving(cluster, ApiKey.METADATA, last)
    client.view(["none", "t"], timeout_ms=LONG_MS, allow_auto_create=True)
    assert cluster.created == ["none"]
    assert client.view([], timeout_ms=LONG_MS, allow_auto_create=True).partitions == {}


def test_a_broker_that_hangs_or_is_away_is_passed_over(cluster: SpokenCluster) -> None:
    """The next one answers; and is asked first the next time."""
    client = cluster.client(timeout_ms=SHORT_MS)
    cluster.words[0] = Word.SILENCE
    assert client.view(["t"], timeout_ms=LONG_MS).leaders
    hung = len(cluster.brokers[0].requests)
    assert hung
    assert client.view(["t"], timeout_ms=LONG_MS).leaders
    # By its own id it is another one, which has not failed yet.
    client.view(["t"], timeout_ms=LONG_MS)
    hung = len(cluster.brokers[0].requests)
    client.view(["t"], timeout_ms=LONG_MS)
    assert len(cluster.brokers[0].requests) == hung


def test_a_broker_that_hangs_leaves_time_for_the_others(
    cluster: SpokenCluster, client: ClusterClient
) -> None:
    """Although one answer alone may take as long as all tries together."""
    cluster.words[0] = Word.SILENCE
    assert client.view(["t"], timeout_ms=4 * SHORT_MS).leaders


def test_giving_up_names_everybody(cluster: SpokenCluster, client: ClusterClient) -> None:
    """Who was asked what, and what each said."""
    cluster.brokers[0].down = True
    cluster.words[1] = Word.CLOSE
    with pytest.raises(ConnectFailed, match=r"topics t: .*b0:9092: can't connect.*b1:9092.*closes"):
        client.view(["t"], timeout_ms=SHORT_MS)


def test_the_bootstrap_stays_a_way_in(cluster: SpokenCluster) -> None:
    """Where all brokers that were known have moved, those of the settings are asked."""
    client = cluster.client()
    client.view(None, timeout_ms=LONG_MS)
    for broker in cluster.brokers:
        broker.down = True
        broker.break_all()
    moved = SpokenCluster(leaders={T0: 0}, network=cluster.network)
    assert client.view(None, timeout_ms=LONG_MS).leaders == {T0: B0}
    assert moved.requested(ApiKey.METADATA)


def test_a_connection_that_broke_while_idle() -> None:
    """Nobody hears of it: the broker is called anew at once, not behind a pause."""
    cluster = SpokenCluster(count=1, leaders={T0: 0})
    client = cluster.client(backoff_ms=LONG_MS)
    for _ in range(2):
        client.view(["t"], timeout_ms=LONG_MS)
    accepted = cluster.brokers[0].accepted
    cluster.brokers[0].break_all()
    assert client.view(["t"], timeout_ms=LONG_MS).leaders
    assert cluster.brokers[0].accepted == accepted + 1


def test_what_was_idle_for_long_is_not_trusted(cluster: SpokenCluster) -> None:
    """The machine behind it may be gone without a word: then nobody would answer for long."""
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


def test_final_errors_are_raised_at_once(cluster: SpokenCluster, client: ClusterClient) -> None:
    """Nothing would change by asking again."""

    def wants_tls(_: RequestFrame) -> bytes:
        return b"\x15\x03\x03\x00\x02\x02\x50"

    for broker in cluster.brokers:
        broker.response = wants_tls
    with pytest.raises(AuthenticationFailed, match="TLS"):
        client.view(["t"], timeout_ms=LONG_MS)
    for broker in cluster.brokers:
        broker.response = lambda _: b"HTTP/1.1 400 Bad Request\r\n\r\n"
    # And whose fault it is: the bytes don't tell that.
    with pytest.raises(RemoteProtocolError, match=r"topics t: .*b0:9092.*b1:9092.*another proto"):
        client.view(["t"], timeout_ms=LONG_MS)


# --- Offsets by time ------------------------------------------------------------------------------


def test_offsets_of_many_leaders(cluster: SpokenCluster, client: ClusterClient) -> None:
    """Each leader is asked once about all of its partitions."""
    cluster.leaders[T2] = 1
    listed = client.list_offsets({T0: EARLIEST, T1: LATEST, T2: 1234}, timeout_ms=LONG_MS)
    assert listed == {
        T0: TimedOffset(0, -1, 5),
        T1: TimedOffset(END_OFFSET, -1, 5),
        T2: TimedOffset(1234, 1234, 5),
    }
    assert cluster.requested(ApiKey.LIST_OFFSETS) == [0, 1]
    assert client.list_offsets({}, timeout_ms=LONG_MS) == {}


def test_offsets_of_old_brokers(cluster: SpokenCluster, client: ClusterClient) -> None:
    """They know the two ends, and no times."""
    for broker in cluster.brokers:
        broker.become(BrokerGeneration.V0_8_2)
    assert client.list_offsets({T0: LATEST, T1: EARLIEST}, timeout_ms=LONG_MS) == {
        T0: TimedOffset(END_OFFSET),
        T1: TimedOffset(0),
    }
    with pytest.raises(UnsupportedVersion, match=r"broker 0 .b0:9092.*0.8.2.*LIST_OFFSETS"):
        client.list_offsets({T0: 1234}, timeout_ms=LONG_MS)


def test_a_leader_that_moved(cluster: SpokenCluster, client: ClusterClient) -> None:
    """Whoever is not the leader any more says so: the metadata is asked for again."""
    client.view(["t"], timeout_ms=LONG_MS)
    cluster.leaders[T0] = 1
    assert client.list_offsets({T0: LATEST}, timeout_ms=LONG_MS) == {T0: TimedOffset(100, -1, 5)}
    assert cluster.requested(ApiKey.LIST_OFFSETS) == [0, 1]


@pytest.mark.parametrize("word", [Word.SILENCE, Word.CLOSE])
def test_a_leader_that_does_not_answer(cluster: SpokenCluster, word: Word) -> None:
    """The others' answers are there all the same; the code of that one may be tried again."""
    client = cluster.client(timeout_ms=SHORT_MS)
    client.view(["t"], timeout_ms=LONG_MS)
    cluster.words[0] = word
    listed = client.list_offsets({T0: LATEST, T1: LATEST}, timeout_ms=3 * SHORT_MS)
    assert listed == {T0: ErrorCode.NETWORK_EXCEPTION, T1: TimedOffset(END_OFFSET, -1, 5)}
    assert ErrorCode.NETWORK_EXCEPTION.retriable


def test_codes_of_partitions(cluster: SpokenCluster, client: ClusterClient) -> None:
    """What does not help is given back at once; what might, when the time is over."""
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


def test_what_was_answered_is_not_lost(cluster: SpokenCluster) -> None:
    """Where all brokers go away in the middle of it."""
    client = cluster.client(backoff_ms=20)
    client.view(["t"], timeout_ms=LONG_MS)
    cluster.fails[T0] = ErrorCode.NOT_LEADER_FOR_PARTITION
    responses = cluster.brokers[1].response

    def last_response(frame: RequestFrame) -> Said | None:
        message = responses(frame)
        if frame.api_key is ApiKey.LIST_OFFSETS:
            cluster.words.update({0: Word.CLOSE, 1: Word.CLOSE})
        return message

    cluster.brokers[1].response = last_response
    assert client.list_offsets({T0: LATEST, T1: LATEST}, timeout_ms=5 * SHORT_MS) == {
        T0: ErrorCode.NOT_LEADER_FOR_PARTITION,
        T1: TimedOffset(END_OFFSET, -1, 5),
    }


def test_a_partition_that_is_left_out(cluster: SpokenCluster, client: ClusterClient) -> None:
    """No answer is one that may come."""
    client.view(["t"], timeout_ms=LONG_MS)
    responses = cluster.brokers[0].response
    cluster.brokers[0].response = lambda frame: (
        ListOffsetsResponse(topics=()) if frame.api_key is ApiKey.LIST_OFFSETS else responses(frame)
    )
    assert client.list_offsets({T0: LATEST}, timeout_ms=5 * SHORT_MS) == {
        T0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    }


@pytest.mark.parametrize(("last", "named"), [(9, 3), (8, -1)])
def test_epochs_that_brokers_may_not_have_heard_of_are_not_named(
    cluster: SpokenCluster, client: ClusterClient, last: int, named: int
) -> None:
    """Before 2.4: a leader whose partition is being reassigned would refuse until that is over."""
    serving(cluster, ApiKey.METADATA, last)
    responses = cluster.brokers[0].response
    requested: list[int] = []

    def noted(frame: RequestFrame) -> Said | None:
        if isinstance(frame.request, ListOffsetsRequest):
            (topic,) = frame.request.topics
            requested.extend(partition.current_leader_epoch for partition in topic.partitions)
        return responses(frame)

    cluster.brokers[0].response = noted
    assert client.list_offsets({T0: LATEST}, timeout_ms=LONG_MS)
    assert requested == [named]


# --- Ends of epochs, coordinators -----------------------------------------------------------------


def test_ends_of_epochs(cluster: SpokenCluster, client: ClusterClient) -> None:
    """From those that can say it; None from those that can't."""
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


def test_the_coordinator(cluster: SpokenCluster, client: ClusterClient) -> None:
    """A broker, or the code that came instead: the caller decides when to ask again."""
    cluster.coordinator = 1
    assert client.coordinator("g", timeout_ms=LONG_MS) == B1
    cluster.coordinator = -ErrorCode.COORDINATOR_NOT_AVAILABLE
    code = client.coordinator("g", timeout_ms=LONG_MS)
    assert code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    cluster.words[0] = Word.CLOSE
    cluster.coordinator = 1
    assert client.coordinator("g", timeout_ms=LONG_MS) == B1
    cluster.words[1] = Word.CLOSE
    with pytest.raises(ConnectFailed, match="the coordinator of group g"):
        client.coordinator("g", timeout_ms=SHORT_MS)


def test_no_coordinator_before_0_8_2(cluster: SpokenCluster, client: ClusterClient) -> None:
    """Such brokers don't know what that is."""
    for broker in cluster.brokers:
        broker.become(BrokerGeneration.V0_8_1)
    with pytest.raises(UnsupportedVersion, match=r"0.8.1.*CONSUMER_METADATA"):
        client.coordinator("g", timeout_ms=LONG_MS)


def test_any_broker_of_0_8_1_keeps_offsets(cluster: SpokenCluster, client: ClusterClient) -> None:
    """By way of ZooKeeper; those of 0.8.0 don't."""
    for broker in cluster.brokers:
        broker.become(BrokerGeneration.V0_8_1)
    cluster.words[0] = Word.CLOSE
    assert client.coordinator_of_offsets(timeout_ms=LONG_MS).host == "b1"
    cluster.words.clear()
    for broker in cluster.brokers:
        broker.become(BrokerGeneration.V0_8_0)
        broker.break_all()
    with pytest.raises(UnsupportedVersion, match=r"0.8.0.*OFFSET_FETCH"):
        client.coordinator_of_offsets(timeout_ms=LONG_MS)


def test_stop_leaves_others_alone(cluster: SpokenCluster) -> None:
    """Who dials by the same dialer goes on; the dialer's own stop is the end of all."""
    dialer = cluster.dialer()
    one, two = cluster.client(dialer=dialer), cluster.client(dialer=dialer)
    one.stop()
    assert two.view(["t"], timeout_ms=LONG_MS).leaders
    dialer.dial(B0).close()
    dialer.stop()
    for broker in cluster.brokers:
        broker.break_all()
    with pytest.raises(ConnectFailed, match="aborted"):
        two.view(["t"], timeout_ms=SHORT_MS)
