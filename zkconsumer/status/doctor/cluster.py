"""Diagnoses of brokers, topics and clocks, which affect all groups."""

from collections import Counter
from collections.abc import Iterable, Iterator

from zkconsumer.printable import listed
from zkconsumer.status.doctor.circumstances import Circumstances
from zkconsumer.status.doctor.diagnosis import Code, Diagnosis, Severity, counted
from zkconsumer.status.model import ClusterSnapshot, PartitionStatus
from zkconsumer.zk.absence import NoBrokers


def examine_cluster(snapshot: ClusterSnapshot, around: Circumstances) -> list[Diagnosis]:
    """Diagnose everything that belongs to no group."""
    return [
        *_not_read(snapshot),
        *_zookeeper(snapshot),
        *_brokers(snapshot),
        *_topics(snapshot),
        *_leaders(snapshot),
        *_replicas(snapshot),
        *_clocks(snapshot, around),
    ]


def _not_read(snapshot: ClusterSnapshot) -> Iterator[Diagnosis]:
    """Report the parts that were not read: the absence of findings there proves nothing."""
    lines = [
        f"{failure.part}: {failure.reason}, "
        f"for {max(0, snapshot.taken_ms - failure.since_ms) // 1000} s"
        for failure in snapshot.failures
    ]
    if lines:
        yield Diagnosis(
            code=Code.NOT_LOOKED_AT,
            severity=Severity.WARNING,
            what=(
                f"{counted(len(lines), 'part')} of the cluster could not be read. What is "
                "reported about them is old, and the absence of a finding does not mean that all "
                "is well."
            ),
            evidence=lines,
            repair="Remove the causes, then run this again.",
        )


def _zookeeper(snapshot: ClusterSnapshot) -> Iterator[Diagnosis]:
    """Report what is unknown if there is a ZooKeeper that was not read."""
    alone = snapshot.brokers_alone
    if alone is None or alone.no_zookeeper or not snapshot.brokers:
        return
    yield Diagnosis(
        code=Code.ZOOKEEPER_UNKNOWN,
        severity=Severity.NOTE,
        what=(
            "The cluster has a ZooKeeper, but was examined through its brokers alone. Everything "
            "stored in ZooKeeper is unknown, not healthy: its groups with their members, owners "
            "and offsets, topics that are being deleted, and clocks."
        ),
        evidence=(f"read through {alone.bootstrap_servers}",),
        repair=(
            "Give --zookeeper to examine it, too. If you have no access to it, and no groups of "
            "old consumers are left, nothing is missed."
        ),
    )


def _brokers(snapshot: ClusterSnapshot) -> Iterator[Diagnosis]:
    if not snapshot.brokers:
        # If only brokers are read, a missing broker is among the failures.
        is_seen = not snapshot.failures and snapshot.brokers_alone is None
        if is_seen:
            yield _no_brokers(snapshot)
        return
    unusable = [
        f"broker {broker.broker.id}: {broker.problem}"
        for broker in snapshot.brokers
        if broker.problem
    ]
    if unusable:
        yield Diagnosis(
            code=Code.BROKER_UNUSABLE,
            severity=Severity.ERROR,
            what=f"{counted(len(unusable), 'broker')} can't be used by consumers.",
            evidence=unusable,
            repair=(
                "Check the broker's listeners (host.name, advertised.host.name and port up to "
                "0.8.2), and whether its host can be reached from here."
            ),
        )
    # None: the controller is unknown.
    if not snapshot.failures and all(broker.is_controller is False for broker in snapshot.brokers):
        yield Diagnosis(
            code=Code.NO_CONTROLLER,
            severity=Severity.ERROR,
            what=(
                "No broker is the controller: no new leaders are elected, and topics are neither "
                "created nor deleted."
            ),
            evidence=(
                "brokers: " + listed((broker.broker.id for broker in snapshot.brokers), limit=10),
            ),
            repair=(
                "A new controller should be elected within the session time-out. If this lasts, "
                "look at the controller logs of all brokers, and at the node /controller."
            ),
        )


def _no_brokers(snapshot: ClusterSnapshot) -> Diagnosis:
    seen = snapshot.no_brokers or NoBrokers(
        zookeeper_connect=snapshot.address, is_cluster=bool(snapshot.topics)
    )
    return Diagnosis(
        code=Code.NO_BROKERS,
        severity=Severity.ERROR,
        what=seen.what,
        evidence=seen.evidence,
        repair=seen.repair,
    )


def _topics(snapshot: ClusterSnapshot) -> Iterator[Diagnosis]:
    unreadable = [f"{topic.name}: {topic.problem}" for topic in snapshot.topics if topic.problem]
    empty = [
        topic.name
        for topic in snapshot.topics
        if not topic.partitions and not topic.problem and not topic.deleting
    ]
    if unreadable:
        yield Diagnosis(
            code=Code.TOPIC_UNREADABLE,
            severity=Severity.ERROR,
            what=(
                f"The nodes of {counted(len(unreadable), 'topic')} are malformed: nobody can read "
                "these topics."
                if snapshot.brokers_alone is None
                else f"Brokers report errors for {counted(len(unreadable), 'topic')}: nobody can "
                "read there."
            ),
            evidence=unreadable,
            repair=(
                "Look at /brokers/topics/<topic>: it was written by hand, or by another tool."
                if snapshot.brokers_alone is None
                else "Look at the errors, and at the log of the controller."
            ),
        )
    if empty:
        yield Diagnosis(
            code=Code.TOPIC_WITHOUT_PARTITIONS,
            severity=Severity.WARNING,
            what=f"{counted(len(empty), 'topic')} ha{_s(len(empty))} no partitions.",
            evidence=[f"{topic}{_readers(snapshot, {topic})}" for topic in empty],
            repair="Delete it, or create it again with partitions.",
        )


def _s(number: int) -> str:
    return "s" if number == 1 else "ve"


def _live(snapshot: ClusterSnapshot) -> Iterable[PartitionStatus]:
    """Return the partitions of topics that are not being deleted."""
    return (
        partition
        for topic in snapshot.topics
        if not topic.deleting
        for partition in topic.partitions
    )


def _is_lost(partition: PartitionStatus, there: set[int]) -> bool:
    """Return whether a partition has no leader, or one that is no longer registered.

    If no broker is registered, its node is out of date; that is a diagnosis of its own.
    """
    return partition.leaderless or (bool(there) and partition.leader not in there)


def _leaders(snapshot: ClusterSnapshot) -> Iterator[Diagnosis]:
    there = {broker.broker.id for broker in snapshot.brokers}
    lost = [partition for partition in _live(snapshot) if _is_lost(partition, there)]
    if not lost:
        return
    topics = {partition.topic_partition.topic for partition in lost}
    yield Diagnosis(
        code=Code.LEADER_MISSING,
        severity=Severity.ERROR,
        what=(
            f"{counted(len(lost), 'partition')} ha{_s(len(lost))} no leader: nobody "
            f"can read or write there{_readers(snapshot, topics)}."
        ),
        evidence=[
            f"{partition.topic_partition}: {_replica_text(partition, there)}" for partition in lost
        ],
        repair=(
            "Start a broker that has an in-sync replica. If all of those are lost for good, "
            "unclean.leader.election.enable lets a replica that is behind become leader; the "
            "records that it lacks are then lost."
        ),
        about=frozenset(partition.topic_partition for partition in lost),
    )


def _replica_text(partition: PartitionStatus, there: set[int]) -> str:
    replicas = [
        f"{replica} ({'runs' if replica in there else 'is gone'}"
        f"{', in sync' if replica in partition.in_sync else ''})"
        for replica in partition.replicas
    ]
    return f"replicas {', '.join(replicas)}" if replicas else "no replicas known"


def _readers(snapshot: ClusterSnapshot, topics: set[str]) -> str:
    groups = [
        group.group_id
        for _, group in sorted(snapshot.groups.items())
        if any(topics & member.streams.keys() for member in group.members)
    ]
    if not groups:
        return ""
    return (
        f", which {'group' if len(groups) == 1 else 'groups'} {listed(groups, limit=5)} would read"
    )


def _replicas(snapshot: ClusterSnapshot) -> Iterator[Diagnosis]:
    there = {broker.broker.id for broker in snapshot.brokers}
    behind = [
        partition
        for partition in _live(snapshot)
        if partition.under_replicated and not _is_lost(partition, there)
    ]
    if not behind:
        return
    missing = Counter(
        replica
        for partition in behind
        for replica in partition.replicas
        if replica not in partition.in_sync
    )
    alone = sum(len(partition.in_sync) <= 1 for partition in behind)
    lines = [
        f"broker {broker_id} ({'it runs' if broker_id in there else 'it is gone'}): "
        f"behind in {counted(number, 'partition')}"
        for broker_id, number in missing.most_common()
    ]
    lines += [
        f"{partition.topic_partition}: replicas {_ids(partition.replicas)}, "
        f"in sync {_ids(partition.in_sync)}"
        for partition in behind
    ]
    yield Diagnosis(
        code=Code.UNDER_REPLICATED,
        severity=Severity.WARNING,
        what=(
            f"{counted(len(behind), 'partition')} lack{'s' if len(behind) == 1 else ''} replicas; "
            f"{alone} of them have at most one in-sync replica."
        ),
        evidence=lines,
        repair=(
            "Start the brokers that are gone. A broker that runs and is behind is overloaded, "
            "has a slow disk, or has to replicate messages larger than replica.fetch.max.bytes."
        ),
        about=frozenset(partition.topic_partition for partition in behind),
    )


def _ids(brokers: tuple[int, ...]) -> str:
    return "[" + ", ".join(map(str, brokers)) + "]"


def _clocks(snapshot: ClusterSnapshot, around: Circumstances) -> Iterator[Diagnosis]:
    lines = []
    ours = snapshot.clock_skew_ms
    if ours is not None and abs(ours.value) > around.skew_ms:
        side = "ahead of" if ours.value > 0 else "behind"
        lines.append(f"ZooKeeper's clock is {abs(ours.value) // 1000} s {side} ours")
    for broker in snapshot.brokers:
        if broker.registered_ms is None or broker.created_ms is None:
            continue
        off_ms = broker.registered_ms - broker.created_ms
        if abs(off_ms) > around.skew_ms:
            side = "ahead of" if off_ms > 0 else "behind"
            lines.append(
                f"{broker.broker}: its clock was {abs(off_ms) // 1000} s {side} ZooKeeper's "
                "when it registered"
            )
    if lines:
        yield Diagnosis(
            code=Code.CLOCK_SKEW,
            severity=Severity.WARNING,
            what=(
                "Clocks differ. Ages and lags in seconds are wrong by as much; a broker whose "
                "clock is wrong deletes records too early or too late, and returns wrong offsets "
                "for a time."
            ),
            evidence=lines,
            repair="Set the clocks (NTP) on the hosts that differ from the others.",
        )
