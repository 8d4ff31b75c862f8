"""Was everything delivered that had to be delivered?"""

from collections.abc import Iterator

from tests.histories.facts import Claim, History, Partition, Place
from tests.histories.rules import CAUSE_SLACK_MS, KILL, CheckResult

_NEVER = 1 << 62


def check_losses(history: History, outcome: CheckResult) -> None:
    """Find lost and unseen messages.

    A message is lost if its group read or committed past it, and it was never delivered. If members
    ran until the log was drained, undelivered messages at the log's end are unseen.
    """
    delivered = {delivery.value for delivery in history.deliveries}
    partitions = sorted({place.partition for place in history.places.values()})
    checked = [
        partition for partition in partitions if not _has_unrecorded_members(history, partition)
    ]
    taken = waiting = 0
    for partition in checked:
        end = _read_up_to(history, partition)
        for place, value in _due(history, partition):
            if value in delivered:
                continue
            if fetched_by_killed(history, place):
                taken += 1
            elif place.offset < end:
                outcome.complain("lost write", [f"{value} at {place}"])
            elif history.drained:
                outcome.complain("unseen", [f"{value} at {place}"])
            else:
                waiting += 1
    outcome.counts |= {
        "acknowledged": sum(len(send.values) for send in history.sends if send.outcome == "ok"),
        "in the log": sum(len(log.values) for log in history.logs.values()),
        "delivered": len(delivered),
        "lost": len(outcome.anomalies.get("lost write", ())),
        "lost in the hand of a killed one that commits before": taken,
        "not delivered yet": waiting,
        "partitions that were not judged: others read them": len(partitions) - len(checked),
    }


def fetched_by_killed(history: History, place: Place) -> bool:
    """Whether a member committed this message, and was killed before it delivered it.

    That is legal, one message for each kill, for a member that does not promise "delivered".
    """
    return any(
        not history.promises(claim.member, "delivered")
        and history.committed_at(place.partition, claim.end or _NEVER) == place.offset + 1
        and history.hit(claim, KILL, CAUSE_SLACK_MS)
        for claim in history.claims.get(place.partition, ())
    )


def _has_unrecorded_members(history: History, partition: Partition) -> bool:
    """Whether the partition was claimed by a member whose deliveries are not recorded."""
    claims = history.claims.get(partition, ())
    return any(claim.member not in history.members for claim in claims)


def _due(history: History, partition: Partition) -> Iterator[tuple[Place, str]]:
    """Yield all messages of a partition that had to be delivered, from the group's start on."""
    first = began_at(history, partition)
    skipped = list(_skipped_by_others(history, partition))
    written = {value for send in history.sends if send.outcome == "ok" for value in send.values}
    for value, place in history.places.items():
        if (
            place.partition == partition
            and place.offset >= first
            and (value in written or partition in history.logs)
            and not any(start <= place.offset < end for start, end in skipped)
        ):
            yield place, value


def began_at(history: History, partition: Partition) -> int:
    """Find the first offset of a partition that its group had to read.

    That is the committed offset, if there was one at the first claim; else the log's start, if all
    members start there; else the lowest offset that was read or committed.
    """
    log = history.logs.get(partition)
    at_least = 0 if log is None else log.start
    claims: list[Claim] = history.claims.get(partition, [])
    stored = history.committed_at(partition, claims[0].start) if claims else None
    if stored is not None:
        return max(at_least, stored)
    first = [claims[0].member] if claims else list(history.members)
    if all(text in history.members and history.members[text].earliest for text in first):
        return at_least
    known = [
        *_read(history, partition),
        *(commit.offset for commit in history.commits.get(partition, ())),
    ]
    return max(at_least, min(known)) if known else at_least


def _read_up_to(history: History, partition: Partition) -> int:
    """The highest offset that a member read (plus 1) or committed."""
    read = [offset + 1 for offset in _read(history, partition)]
    commits = history.commits.get(partition, ())
    return max([0, *read, *(commit.offset for commit in commits if commit.member is not None)])


def _read(history: History, partition: Partition) -> list[int]:
    return [
        delivery.place.offset
        for delivery in history.deliveries
        if delivery.place is not None and delivery.place.partition == partition
    ]


def _skipped_by_others(history: History, partition: Partition) -> Iterator[tuple[int, int]]:
    """Yield the ranges that a client outside of the group skipped by moving the offset."""
    before: int | None = None
    for commit in history.commits.get(partition, ()):
        if commit.member is None and before is not None and commit.offset > before:
            yield before, commit.offset
        before = commit.offset
