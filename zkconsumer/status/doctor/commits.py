"""Offsets that stand still although there is something to read: not committed, or not read."""

from zkconsumer.status.doctor.finding import Code, Finding, Severity, counted, some
from zkconsumer.status.doctor.group_look import GroupLook
from zkconsumer.status.model import GroupPartition

Pair = tuple[GroupPartition, GroupPartition]
"""A partition then and now."""


def examine_commits(look: GroupLook) -> list[Finding]:
    """Hold the group's offsets against those of an earlier look, where that is long enough ago."""
    still = [
        (then, one)
        for one in look.group.partitions
        if (then := look.partition_before(one.topic_partition)) is not None
        and _stands(look, then, one)
    ]
    silent: list[Pair] = []
    stalled: list[Pair] = []
    for pair in still:
        (stalled if _committed_anew(look, pair) else silent).append(pair)
    return [*_paused(look, silent), *_stalled(look, stalled)]


def _paused(look: GroupLook, pairs: list[Pair]) -> list[Finding]:
    if not pairs:
        return []
    return [
        Finding(
            code=Code.COMMITS_PAUSED,
            severity=Severity.ERROR,
            what=(
                f"The owners of {counted(len(pairs), 'partition')} did not move the committed "
                f"offset for {_seconds(look)} s, although there was something to read all the time."
            ),
            evidence=some([_evidence(look, *pair) for pair in pairs]),
            repair=(
                "From outside nobody sees whether the owner reads without committing, or does not "
                "read. Look at its log and its threads: a stream that nobody takes from (it "
                "stops all partitions of its fetcher), a message larger than "
                "fetch.message.max.bytes, an iterator that failed, commits that are refused, or "
                "auto.commit.enable=false and a program that does not commit."
            ),
            group=look.group.key,
        )
    ]


def _stalled(look: GroupLook, pairs: list[Pair]) -> list[Finding]:
    if not pairs:
        return []
    return [
        Finding(
            code=Code.READING_STALLED,
            severity=Severity.ERROR,
            what=(
                f"The owners of {counted(len(pairs), 'partition')} committed the same offset "
                f"again and again for {_seconds(look)} s, although there was something to read: "
                "they commit, but they don't get on."
            ),
            evidence=some([_evidence(look, *pair) for pair in pairs]),
            repair=(
                "Look at the owner's log and its threads: a record that it can't get past, a "
                "message larger than its fetch size, a stream that nobody takes from, or a "
                "partition that the program paused."
            ),
            group=look.group.key,
        )
    ]


def _stands(look: GroupLook, then: GroupPartition, now: GroupPartition) -> bool:
    """Whether the same owner had something to read then, and stands where it stood."""
    if now.owner is None or now.owner != then.owner or then.log_end is None:
        return False
    committed, earlier = now.effective(look.group.kind), then.effective(look.group.kind)
    if earlier is None:
        return committed is None and then.log_start is not None and then.log_start < then.log_end
    return committed is not None and committed.offset == earlier.offset < then.log_end


def _committed_anew(look: GroupLook, pair: Pair) -> bool:
    """Whether the same offset is known to have been committed once more.

    ZooKeeper tells when it was; of Kafka's storage that is mostly not known.
    """
    then, now = (one.effective(look.group.kind) for one in pair)
    if then is None or now is None or None in {then.committed_ms, now.committed_ms}:
        return False
    return then.committed_ms != now.committed_ms


def _evidence(look: GroupLook, then: GroupPartition, now: GroupPartition) -> str:
    committed = now.effective(look.group.kind)
    at = "nothing" if committed is None else str(committed.offset)
    return (
        f"{now.topic_partition}: committed {at} then and now, the log went from {then.log_end} "
        f"to {now.log_end}; owner {now.owner}"
    )


def _seconds(look: GroupLook) -> int:
    return look.around.silence_seen_ms(look.snapshot) // 1000
