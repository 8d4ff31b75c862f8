"""The doctor's findings about brokers, topics, replicas and clocks, and about unread parts."""

from dataclasses import replace

from tests.support.diagnosed_cluster import NOW_MS, DiagnosedCluster, codes, healthy
from zkconsumer.model import Broker
from zkconsumer.status.doctor.circumstances import Circumstances
from zkconsumer.status.doctor.diagnosis import Code, Diagnosis, Severity
from zkconsumer.status.doctor.examine import examine
from zkconsumer.status.model import (
    BrokersAlone,
    BrokerStatus,
    ClusterSnapshot,
    PartFailure,
    PartitionStatus,
    Seen,
    TopicStatus,
)

FAILURE = PartFailure(part="log ends of broker 1", reason="no answer", since_ms=NOW_MS - 7000)


def message(snapshot: ClusterSnapshot) -> list[Diagnosis]:
    """Return the doctor's findings."""
    return list(examine(snapshot, Circumstances()))


def with_partition(**fields: object) -> ClusterSnapshot:
    """Return a cluster whose first partition of topic ``t`` has these fields."""
    snapshot = healthy().snapshot()
    topic = snapshot.topics[0]
    first: PartitionStatus = replace(topic.partitions[0], **fields)  # type: ignore[arg-type]
    topic = replace(topic, partitions=(first, *topic.partitions[1:]))
    return replace(snapshot, topics=(topic, *snapshot.topics[1:]))


def test_parts_that_were_not_read_are_reported() -> None:
    """Parts that could not be read are reported, so that silence does not pass for health."""
    (found,) = message(replace(healthy().snapshot(), failures=(FAILURE,)))
    assert found.code is Code.NOT_LOOKED_AT
    assert found.severity is Severity.WARNING
    assert found.evidence == ("log ends of broker 1: no answer, for 7 s",)


def test_a_cluster_without_brokers_is_an_error() -> None:
    """A cluster without brokers is an error, mostly a wrong chroot, unless they were not read."""
    empty = replace(DiagnosedCluster().snapshot(), brokers=())
    (found,) = message(empty)
    assert found.code is Code.NO_BROKERS
    assert found.severity is Severity.ERROR
    assert "zk:2181/kafka" in found.evidence[0]
    assert codes(message(replace(empty, failures=(FAILURE,)))) == ["not-looked-at"]


def test_a_missing_controller_is_an_error() -> None:
    """A missing controller is an error, unless the controller may not have been read."""
    broker = BrokerStatus(broker=Broker(7, "h", 9092), seen_ms=NOW_MS)
    headless = replace(DiagnosedCluster().snapshot(), brokers=(broker,))
    assert [(diagnosis.code, diagnosis.severity) for diagnosis in message(headless)] == [
        (Code.NO_CONTROLLER, Severity.ERROR)
    ]
    assert codes(message(replace(headless, failures=(FAILURE,)))) == ["not-looked-at"]


def test_a_broker_that_can_not_be_used_is_an_error() -> None:
    """A broker whose registration can't be used is an error that says what it lacks."""
    broker = BrokerStatus(
        broker=Broker(7, "", -1), seen_ms=NOW_MS, is_controller=True, problem="no PLAINTEXT"
    )
    (found,) = message(replace(DiagnosedCluster().snapshot(), brokers=(broker,)))
    assert found.code is Code.BROKER_UNUSABLE
    assert found.severity is Severity.ERROR
    assert found.evidence == ("broker 7: no PLAINTEXT",)


def test_topics_that_can_not_be_read_are_reported() -> None:
    """Topics without partitions are reported with their groups, and malformed topics as such."""
    world = DiagnosedCluster(t=1, none=0)
    world.register("g_a", 1, t=1, none=1)
    world.register("g_b", 2, t=1)
    world.assign()
    found = {finding.code: finding for finding in world.findings()}
    assert found[Code.TOPIC_WITHOUT_PARTITIONS].evidence == ("none, which group g would read",)
    snapshot = world.snapshot()
    broken = replace(snapshot.topics[0], problem="not JSON")
    codes_now = codes(message(replace(snapshot, topics=(broken, snapshot.topics[1]))))
    assert "topic-unreadable" in codes_now
    assert codes_now.count("topic-without-partitions") == 0


def test_a_partition_without_a_leader_is_an_error() -> None:
    """A partition without a leader is reported with its replicas and the groups that read it."""
    (found,) = message(with_partition(leader=None, replicas=(0, 5), in_sync=(5,)))
    assert found.code is Code.LEADER_MISSING
    assert found.severity is Severity.ERROR
    assert "which group g would read" in found.what
    assert found.evidence == ("t-0: replicas 0 (runs), 5 (is gone, in sync)",)


def test_a_leader_that_is_not_registered_is_missing() -> None:
    """A leader that is not registered counts as missing, and is reported once."""
    snapshot = with_partition(leader=5, replicas=(5, 0), in_sync=(5,))
    (found,) = message(snapshot)
    assert found.code is Code.LEADER_MISSING
    assert found.evidence == ("t-0: replicas 5 (is gone, in sync), 0 (runs)",)
    assert codes(message(replace(snapshot, brokers=()))) == ["no-brokers", "under-replicated"]


def test_a_topic_that_is_being_deleted_may_be_headless() -> None:
    """A topic that is being deleted may lack leaders, as they go first."""
    snapshot = with_partition(leader=None)
    deleting = replace(snapshot.topics[0], deleting=True)
    assert message(replace(snapshot, topics=(deleting, *snapshot.topics[1:]))) == []


def test_under_replicated_partitions_are_reported() -> None:
    """Under-replicated partitions are reported by broker, then by partition."""
    (found,) = message(with_partition(replicas=(0, 1, 5), in_sync=(0,)))
    assert found.code is Code.UNDER_REPLICATED
    assert found.severity is Severity.WARNING
    assert found.what.endswith("1 of them have at most one in-sync replica.")
    assert found.evidence == (
        "broker 1 (it runs): behind in 1 partition",
        "broker 5 (it is gone): behind in 1 partition",
        "t-0: replicas [0, 1, 5], in sync [0]",
    )


def test_clocks_that_differ_are_reported() -> None:
    """Our clock and those of brokers may differ from ZooKeeper's by a minute at most."""
    snapshot = DiagnosedCluster().snapshot()
    assert message(replace(snapshot, clock_skew_ms=Seen(-60_000, NOW_MS))) == []
    late = replace(snapshot.brokers[1], registered_ms=NOW_MS - 90_000, created_ms=NOW_MS)
    unsupported = replace(
        snapshot, clock_skew_ms=Seen(61_000, NOW_MS), brokers=(snapshot.brokers[0], late)
    )
    (found,) = message(unsupported)
    assert found.code is Code.CLOCK_SKEW
    assert found.severity is Severity.WARNING
    assert found.evidence == (
        "ZooKeeper's clock is 61 s ahead of ours",
        "broker 1 (h:9093): its clock was 90 s behind ZooKeeper's when it registered",
    )


def alone(*, no_zookeeper: bool | None, **fields: object) -> ClusterSnapshot:
    """Return a cluster that was read through its brokers only, with one that is no controller."""
    through = BrokersAlone(bootstrap_servers="b:9092", no_zookeeper=no_zookeeper)
    broker = BrokerStatus(broker=Broker(7, "h", 9092), seen_ms=NOW_MS, is_controller=None)
    snapshot = ClusterSnapshot(
        taken_ms=NOW_MS, zookeeper_connect=None, brokers=(broker,), brokers_alone=through
    )
    return replace(snapshot, **fields)  # type: ignore[arg-type]


def test_a_zookeeper_that_was_not_given_is_a_note() -> None:
    """An unknown ZooKeeper is a note; a missing one, or an unknown controller, is no finding."""
    [found] = message(alone(no_zookeeper=False))
    assert (found.code, found.severity) == (Code.ZOOKEEPER_UNKNOWN, Severity.NOTE)
    assert "b:9092" in found.evidence[0]
    assert message(alone(no_zookeeper=True)) == []


def test_brokers_that_could_not_be_asked_are_an_unread_part() -> None:
    """Brokers that could not be asked are an unread part, not a wrong chroot."""
    unread = alone(no_zookeeper=None, brokers=(), failures=(FAILURE,))
    assert codes(message(unread)) == ["not-looked-at"]
    assert message(alone(no_zookeeper=None, brokers=())) == []


def test_what_brokers_report_of_a_topic_needs_no_znode() -> None:
    """A topic that brokers report as unreadable has a remedy that names no znode."""
    topic = TopicStatus(name="t", seen_ms=NOW_MS, config=None, deleting=None, problem="denied")
    [found] = message(alone(no_zookeeper=True, topics=(topic,)))
    assert found.code is Code.TOPIC_UNREADABLE
    assert "/brokers" not in found.repair
