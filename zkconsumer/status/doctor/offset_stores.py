"""Diagnoses of offset storage: some offsets in ZooKeeper, some in Kafka, some of deleted topics."""

from collections.abc import Iterator

from zkconsumer.status.doctor.diagnosis import Code, Diagnosis, Severity, counted
from zkconsumer.status.doctor.fix import Fix, Write
from zkconsumer.status.doctor.group_context import GroupContext
from zkconsumer.status.model import CommittedOffset, GroupKey, GroupKind, GroupPartition
from zkconsumer.zk.nodes import encode_offset
from zkconsumer.zk.paths import topic_path


def examine_offset_stores(context: GroupContext) -> list[Diagnosis]:
    """Compare the offsets in both storages."""
    if not context.in_zookeeper:
        return []
    # If a coordinator's group has the same id, the offsets in Kafka are its own.
    others = context.snapshot.groups.get(GroupKey(GroupKind.COORDINATOR, context.group.group_id))
    of_both = [] if others is not None and others.members else [*_split(context), *_differ(context)]
    return [*of_both, *_of_deleted_topics(context)]


def _split(context: GroupContext) -> Iterator[Diagnosis]:
    """Report mixed settings of ``offsets.storage``: a new owner may find no offset."""
    by_places: dict[frozenset[str], list[str]] = {}
    topics = {topic.name for topic in context.snapshot.topics}
    for partition in context.group.partitions:
        places = frozenset(
            committed.storage for committed in partition.committed if committed.offset >= 0
        )
        if places and partition.topic_partition.topic in topics:
            by_places.setdefault(places, []).append(f"{partition.topic_partition}")
    in_zookeeper = by_places.get(frozenset({"zookeeper"}), [])
    in_kafka = by_places.get(frozenset({"kafka"}), [])
    if not in_zookeeper or not in_kafka:
        return
    yield Diagnosis(
        code=Code.OFFSETS_SPLIT,
        severity=Severity.ERROR,
        what=(
            "The group keeps the offsets of some partitions in ZooKeeper only, and of others in "
            "Kafka only. A member that reads only one storage finds no offsets for the other "
            "partitions, and starts them by auto.offset.reset."
        ),
        evidence=(
            *(f"in ZooKeeper only: {line}" for line in in_zookeeper[:5]),
            *(f"in Kafka only: {line}" for line in in_kafka[:5]),
            f"in ZooKeeper only {len(in_zookeeper)}, in Kafka only {len(in_kafka)}, "
            f"in both {len(by_places.get(frozenset({'zookeeper', 'kafka'}), []))}",
        ),
        repair=(
            "Give all members the same offsets.storage. To move, set offsets.storage=kafka with "
            "dual.commit.enabled=true everywhere, restart one after the other, and turn "
            "dual.commit.enabled off when all of them have been restarted. For a stopped group: "
            "zkconsumer offsets migrate."
        ),
    )


def _differ(context: GroupContext) -> Iterator[Diagnosis]:
    """Report that one of two storages is no longer written."""
    evidence = []
    for partition in context.group.partitions:
        in_zookeeper, in_kafka = (
            partition.committed_in("zookeeper"),
            partition.committed_in("kafka"),
        )
        if in_zookeeper is None or in_kafka is None or in_zookeeper.offset == in_kafka.offset:
            continue
        why = _left_behind(context, partition, in_zookeeper, in_kafka)
        if why is not None:
            evidence.append(
                f"{partition.topic_partition}: {in_zookeeper.offset} in ZooKeeper, "
                f"{in_kafka.offset} in Kafka; {why}"
            )
    if evidence:
        yield Diagnosis(
            code=Code.OFFSETS_DIFFER,
            severity=Severity.WARNING,
            what=(
                "ZooKeeper and Kafka hold different offsets, and one of them is no longer "
                "written. Members with dual.commit.enabled start from the larger offset, the "
                "others from the storage that their offsets.storage names."
            ),
            evidence=evidence,
            repair=(
                "Check offsets.storage and dual.commit.enabled of the members, and set the same "
                "values for all. To reset such a group to earlier offsets, lower them in both "
                "storages."
            ),
        )


def _left_behind(
    context: GroupContext,
    now: GroupPartition,
    in_zookeeper: CommittedOffset,
    in_kafka: CommittedOffset,
) -> str | None:
    """Return which storage is no longer written, in words; None if both are, or if unknown.

    It is known from both commit times, or if one offset has changed since the earlier snapshot and
    the other has not.
    """
    times = (in_zookeeper.committed_ms, in_kafka.committed_ms)
    if times[0] is not None and times[1] is not None:
        ahead_ms = times[0] - times[1]
        if abs(ahead_ms) < context.around.silence_ms:
            return None
        return f"{'Kafka' if ahead_ms > 0 else 'ZooKeeper'}'s is {abs(ahead_ms) // 1000} s older"
    then = context.partitions_long_before.get(now.topic_partition)
    if then is None:
        return None
    stood = {
        committed.storage: (before := then.committed_in(committed.storage)) is not None
        and before.offset == committed.offset
        for committed in (in_zookeeper, in_kafka)
    }
    if stood["zookeeper"] == stood["kafka"]:
        return None
    seconds = context.around.silence_seen_ms(context.snapshot) // 1000
    return f"{'Kafka' if stood['kafka'] else 'ZooKeeper'}'s did not change for {seconds} s"


def _of_deleted_topics(context: GroupContext) -> Iterator[Diagnosis]:
    # If no topic is known at all, topics were most likely not read.
    if not context.snapshot.topics:
        return
    there = {topic.name for topic in context.snapshot.topics}
    left = [
        (partition, it)
        for partition in context.group.partitions
        if partition.topic_partition.topic not in there
        and (it := partition.committed_in("zookeeper")) is not None
    ]
    if not left:
        return
    topics = sorted({partition.topic_partition.topic for partition, _ in left})
    yield Diagnosis(
        code=Code.OFFSETS_OF_DELETED_TOPICS,
        severity=Severity.NOTE,
        what=(
            f"ZooKeeper keeps offsets of {counted(len(topics), 'topic')} that no longer exist. A "
            "topic created again under that name would be read from these offsets, not from its "
            "beginning."
        ),
        evidence=[
            f"{partition.topic_partition}: {committed.offset}" for partition, committed in left
        ],
        repair="Delete them, unless the topic will be restored with its old records.",
        fix=_delete(context, left, topics),
    )


def _delete(
    context: GroupContext, left: list[tuple[GroupPartition, CommittedOffset]], topics: list[str]
) -> Fix:
    return Fix(
        what=f"delete {counted(len(left), 'offset')} of group {context.group.group_id}",
        caution=(
            "If a topic is restored with its old records, the group reads it from the beginning."
        ),
        writes=tuple(
            Write(
                path=context.paths.offset(partition.topic_partition),
                before=encode_offset(committed.offset),
                session_id=0,
            )
            for partition, committed in left
        ),
        absent=tuple(map(topic_path, topics)),
    )
