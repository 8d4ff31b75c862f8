"""Diagnoses of committed offsets out of the log's range: before its start, or beyond its end."""

from collections.abc import Iterator
from typing import Final

from zkconsumer.status.doctor.diagnosis import Code, Diagnosis, Severity, ago, counted
from zkconsumer.status.doctor.fix import Fix, Write
from zkconsumer.status.doctor.group_context import GroupContext
from zkconsumer.status.doctor.sightings import is_beyond
from zkconsumer.status.model import CommittedOffset, GroupPartition
from zkconsumer.zk.nodes import encode_offset

Found = tuple[GroupPartition, CommittedOffset]

_OLD_MS: Final = 30_000
"""The age above which evidence states its age, since several reads must have failed."""


def examine_log_offsets(context: GroupContext) -> list[Diagnosis]:
    """Compare the group's committed offsets with the logs' ranges."""
    below: list[Found] = []
    beyond: list[Found] = []
    for partition in context.group.partitions:
        committed = partition.effective(context.group.kind)
        if committed is None or committed.offset < 0:
            continue
        if partition.log_start is not None and committed.offset < partition.log_start:
            below.append((partition, committed))
        elif _is_beyond(context, partition, committed):
            beyond.append((partition, committed))
    return [*_below(context, below), *_beyond(context, beyond)]


def _is_beyond(
    context: GroupContext, partition: GroupPartition, committed: CommittedOffset
) -> bool:
    """Return whether the log, when it was read after the commit, ended before the offset.

    A log that was read before the commit proves nothing, since it may have grown in between.
    """
    if is_beyond(partition, committed, context.sightings.get(partition.topic_partition, ())):
        return True
    if partition.log_end is None or partition.log_at_ms is None or committed.committed_ms is None:
        return False
    is_older = committed.committed_ms + context.around.skew_ms < partition.log_at_ms
    return is_older and committed.offset > partition.log_end


def _below(context: GroupContext, found: list[Found]) -> Iterator[Diagnosis]:
    if not found:
        return
    # If the partition is being read, the log may have been truncated after the last commit.
    lost = sum((partition.log_start or 0) - at.offset for partition, at in found)
    is_read = all(partition.owner is not None for partition, _ in found)
    yield Diagnosis(
        code=Code.OFFSET_BELOW_LOG,
        severity=Severity.WARNING if is_read else Severity.ERROR,
        what=(
            f"The committed offsets of {counted(len(found), 'partition')} have been deleted from "
            f"the log: up to {counted(lost, 'record')} were deleted before the group committed "
            "them. A member that starts there resets its position by auto.offset.reset: with "
            "'largest', the default of Kafka 0.8, it skips everything up to the log end."
        ),
        evidence=[
            f"{partition.topic_partition}: committed {at.offset} in {at.storage}, the log "
            f"begins at {partition.log_start}"
            for partition, at in found
        ],
        repair=(
            "Before the group starts, set these offsets to the log start offset, or "
            "auto.offset.reset of its members to smallest. Then find out why it was late: the "
            "topic's retention is too short, or the group had stopped."
        ),
        fix=_to_log_start(context, found),
        about=frozenset(partition.topic_partition for partition, _ in found),
    )


def _to_log_start(context: GroupContext, found: list[Found]) -> Fix | None:
    """Plan to reset a stopped group's offsets in ZooKeeper; Kafka has no compare-and-set."""
    if not context.in_zookeeper or context.members or not context.group.is_complete:
        return None
    writes = tuple(
        Write(
            path=context.paths.offset(partition.topic_partition),
            before=encode_offset(at.offset),
            session_id=0,
            after=encode_offset(partition.log_start),
        )
        for partition, at in found
        if at.storage == "zookeeper" and partition.owner is None and partition.log_start is not None
    )
    if not writes:
        return None
    return Fix(
        what=(
            f"set {counted(len(writes), 'offset')} of group {context.group.group_id} to the log "
            "start offset"
        ),
        caution=(
            "Keep the group stopped until this is done, and start it soon: retention may delete "
            "more of the log in the meantime."
        ),
        writes=writes,
        childless=(context.paths.ids,),
    )


def _beyond(context: GroupContext, found: list[Found]) -> Iterator[Diagnosis]:
    if found:
        yield Diagnosis(
            code=Code.OFFSET_BEYOND_END,
            severity=Severity.ERROR,
            what=(
                f"The committed offsets of {counted(len(found), 'partition')} are beyond the log "
                "end. A member that starts there resets its position by auto.offset.reset, by "
                "default to the log end."
            ),
            evidence=[
                f"{partition.topic_partition}: committed {at.offset} in {at.storage}, the log "
                f"ends at {partition.log_end}{_read_ago(context, partition)}"
                for partition, at in found
            ],
            repair=(
                "Find out what happened to the log. If the topic was deleted and created again, "
                "none of its records has been read: set the offset to the log start. If a "
                "replica that was behind became leader, the records beyond its end are lost: set "
                "the offset to the log end, or further back to read some records twice rather "
                "than miss any."
            ),
        )


def _read_ago(context: GroupContext, partition: GroupPartition) -> str:
    """Return how long ago the log was read, in words, if it could not be read since; else ""."""
    if partition.log_at_ms is None:
        return ""
    old_ms = context.snapshot.taken_ms - partition.log_at_ms
    return f", as read {ago(old_ms)} ago" if old_ms > _OLD_MS else ""
