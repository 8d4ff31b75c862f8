"""Diagnoses of offsets that do not advance although there are records to read. Pure."""

from collections.abc import Iterator

from zkconsumer.status.doctor.circumstances import zookeeper_now_ms
from zkconsumer.status.doctor.diagnosis import Code, Diagnosis, Severity, ago, counted
from zkconsumer.status.doctor.group_context import GroupContext
from zkconsumer.status.model import GroupPartition

Pair = tuple[GroupPartition, GroupPartition]
"""A partition in the earlier and in the current snapshot."""


def examine_commits(context: GroupContext) -> list[Diagnosis]:
    """Compare the group's offsets with an earlier snapshot, if that is old enough."""
    still = [
        (then, partition)
        for partition in context.group.partitions
        if (then := context.partitions_long_before.get(partition.topic_partition)) is not None
        and _stands(context, then, partition)
    ]
    silent: list[Pair] = []
    stalled: list[Pair] = []
    for pair in still:
        (stalled if _committed_again(context, pair) else silent).append(pair)
    return [*_paused(context, silent), *_stalled(context, stalled)]


def _paused(context: GroupContext, pairs: list[Pair]) -> Iterator[Diagnosis]:
    if pairs:
        yield Diagnosis(
            code=Code.COMMITS_PAUSED,
            severity=Severity.ERROR,
            what=(
                f"The owners of {counted(len(pairs), 'partition')} have not advanced the "
                f"committed offset for {_stuck_for(context, pairs)}, although there was something "
                f"to read{_seen_for(context, pairs)}."
            ),
            evidence=[_evidence(context, *pair) for pair in pairs],
            repair=(
                "Whether the owner reads without committing, or does not read at all, can't be "
                "seen from outside. Look at its log and its threads for a stream that nobody "
                "reads from (it blocks all partitions of its fetcher), a message larger than "
                "fetch.message.max.bytes, an iterator that failed, rejected commits, or "
                "auto.commit.enable=false in a program that never commits."
            ),
            about=frozenset(now.topic_partition for _, now in pairs),
            culprits=tuple(now.owner for _, now in pairs if now.owner is not None),
        )


def _stalled(context: GroupContext, pairs: list[Pair]) -> Iterator[Diagnosis]:
    if pairs:
        yield Diagnosis(
            code=Code.READING_STALLED,
            severity=Severity.ERROR,
            what=(
                f"The owners of {counted(len(pairs), 'partition')} committed the same offset "
                f"repeatedly for {context.around.silence_seen_ms(context.snapshot) // 1000} s, "
                "although there was something to read: they commit, but make no progress."
            ),
            evidence=[_evidence(context, *pair) for pair in pairs],
            repair=(
                "Look at the owner's log and its threads for a record that it can't process, a "
                "message larger than its fetch size, a stream that nobody reads from, or a "
                "partition that the program paused."
            ),
            about=frozenset(now.topic_partition for _, now in pairs),
            culprits=tuple(now.owner for _, now in pairs if now.owner is not None),
        )


def _stands(context: GroupContext, then: GroupPartition, now: GroupPartition) -> bool:
    """Return whether the same owner had records to read then, and has not moved since."""
    if now.owner is None or now.owner != then.owner or then.log_end is None:
        return False
    committed, earlier = now.effective(context.group.kind), then.effective(context.group.kind)
    if earlier is None:
        return committed is None and then.log_start is not None and then.log_start < then.log_end
    return committed is not None and committed.offset == earlier.offset < then.log_end


def _committed_again(context: GroupContext, pair: Pair) -> bool:
    """Return whether the same offset is known to have been committed again.

    ZooKeeper stamps commits; Kafka's storage mostly does not show their time.
    """
    then, now = (partition.effective(context.group.kind) for partition in pair)
    if then is None or now is None or None in {then.committed_ms, now.committed_ms}:
        return False
    return then.committed_ms != now.committed_ms


def _evidence(context: GroupContext, then: GroupPartition, now: GroupPartition) -> str:
    committed = now.effective(context.group.kind)
    at = "nothing" if committed is None else str(committed.offset)
    return (
        f"{now.topic_partition}: committed {at} then and now, the log end went from "
        f"{then.log_end} to {now.log_end}; owner {now.owner}{_committed_ago(context, now)}"
    )


def _committed_ago(context: GroupContext, now: GroupPartition) -> str:
    committed = now.effective(context.group.kind)
    if committed is None or committed.committed_ms is None:
        return ""
    return f"; last commit {ago(zookeeper_now_ms(context.snapshot) - committed.committed_ms)} ago"


def _stuck_for(context: GroupContext, pairs: list[Pair]) -> str:
    """Return for how long no partition has advanced, perhaps since before our first snapshot."""
    return ago(min(_since_commit_ms(context, now) for _, now in pairs))


def _since_commit_ms(context: GroupContext, now: GroupPartition) -> int:
    """Return the time without a commit up to our last read, at least the time watched."""
    seen_ms = context.around.silence_seen_ms(context.snapshot)
    committed = now.effective(context.group.kind)
    if committed is None or committed.committed_ms is None:
        return seen_ms
    unread_ms = max(0, context.snapshot.taken_ms - committed.seen_ms)
    silent_ms = zookeeper_now_ms(context.snapshot) - unread_ms - committed.committed_ms
    return max(seen_ms, silent_ms)


def _seen_for(context: GroupContext, pairs: list[Pair]) -> str:
    """Return for which part of the time unread records were observed, in words."""
    seen_ms = context.around.silence_seen_ms(context.snapshot)
    if all(_since_commit_ms(context, now) <= seen_ms for _, now in pairs):
        return " all the time"
    return f" for the last {seen_ms // 1000} s at least"
