"""Do commits cover all records that were processed, and no others?"""

import itertools
from collections.abc import Iterator

from tests.histories.facts import Claim, Commit, Delivery, History, Partition, Place
from tests.histories.losses import began_at
from tests.histories.rules import CAUSE_SLACK_MS, REGISTRY_AWAY, CheckResult

_BACK_AGAIN_MS = 10_000

_Key = tuple[str, Partition]


def check_commits(history: History, outcome: CheckResult) -> None:
    """Check every commit, the end of every claim, and the offsets stored at the end."""
    _check_covered(history, outcome)
    _check_direction(history, outcome)
    _check_hand_overs(history, outcome)
    if history.committed:
        outcome.complain("uncommitted end", _uncommitted(history))
    outcome.counts["offsets written"] = sum(map(len, history.commits.values()))


# --- what a commit covers -------------------------------------------------------------------------


def _check_covered(history: History, outcome: CheckResult) -> None:
    """Each message below a commit was delivered to the committing member, and processed there."""
    for partition, commits in history.commits.items():
        highest = began_at(history, partition)
        for commit in commits:
            first, highest = highest, max(highest, commit.offset)
            if not history.promises(commit.member, "delivered"):
                continue
            assert commit.member is not None
            for offset in history.between(partition, first, commit.offset):
                place = Place(partition, offset)
                _check_message(history, outcome, commit, place)


def _check_message(history: History, outcome: CheckResult, commit: Commit, place: Place) -> None:
    what = f"{place} by the commit of {commit.offset} by {commit.member} at {commit.time_ms}"
    given = history.given.get((commit.member or "", place), ())
    if not any(delivery.given_ms <= commit.time_ms for delivery in given):
        outcome.complain("premature commit", [what])
    elif history.promises(commit.member, "consumed") and not history.done(
        commit.member, place, commit.time_ms
    ):
        outcome.complain("commit in hand", [what])


def _check_direction(history: History, outcome: CheckResult) -> None:
    for partition, commits in history.commits.items():
        for before, commit in itertools.pairwise(commits):
            if commit.offset >= before.offset or (commit.member, partition) in history.sought:
                continue
            if not history.promises(commit.member, "fenced"):
                outcome.effects["an offset that one without a fence moved back"] += 1
            elif history.promises(before.member, "fenced"):
                outcome.complain(
                    "commit moved back",
                    [f"{partition} from {before.offset} to {commit.offset} by {commit.member}"],
                )


# --- how claims end -------------------------------------------------------------------------------


def _check_hand_overs(history: History, outcome: CheckResult) -> None:
    """A released claim leaves only the records of its last poll uncommitted."""
    given: dict[_Key, list[Delivery]] = {}
    for delivery in history.deliveries:
        if delivery.place is not None:
            given.setdefault((delivery.member, delivery.place.partition), []).append(delivery)
    ends = {"released": 0, "session": 0, "stranger": 0, "": 0}
    for partition, claims in history.claims.items():
        for claim in claims:
            ends[claim.ended_by] += 1
            if claim.ended_by != "released" or not history.promises(claim.member, "hands_over"):
                continue
            pending = _pending(given.get((claim.member, partition), []), claim)
            done = _done(history, claim)
            if pending is None or done >= pending:
                continue
            if _registry_was_away(history, claim):
                outcome.effects["a hand-over without a commit: the registry was away"] += 1
            else:
                what = f"{partition} by {claim.member}: {pending} in hand, {done} committed"
                outcome.complain("unfinished hand-over", [what])
    outcome.counts |= {
        "claims": sum(ends.values()),
        "claims given up in order": ends["released"],
        "claims ended by the session's end": ends["session"],
        "claims deleted by somebody else": ends["stranger"],
    }


def _pending(given: list[Delivery], claim: Claim) -> int | None:
    """Return the first offset of the last poll that was certainly delivered under the claim."""
    end_ms = claim.end_ms or 0
    under = [
        delivery
        for delivery in given
        if claim.start_ms < delivery.sent_ms and delivery.given_ms < end_ms
    ]
    if not under:
        return None
    return min(
        delivery.place.offset
        for delivery in under
        if delivery.poll == under[-1].poll and delivery.place
    )


def _done(history: History, claim: Claim) -> int:
    """What was committed when the claim ended, or before by its own member.

    If a member without fencing overwrote that offset, this member is not to blame.
    """
    assert claim.end is not None
    own = [
        commit.offset
        for commit in history.commits.get(claim.partition, ())
        if commit.member == claim.member and claim.start < commit.line < claim.end
    ]
    return max([history.committed_at(claim.partition, claim.end) or 0, *own])


def _registry_was_away(history: History, claim: Claim) -> bool:
    """Whether an outage of the registry may have prevented the commit before a release."""
    end_ms = claim.end_ms or claim.start_ms
    return any(
        fault.kind == REGISTRY_AWAY
        and fault.from_ms <= end_ms
        and claim.start_ms <= fault.until_ms + CAUSE_SLACK_MS
        and end_ms <= fault.until_ms + _BACK_AGAIN_MS
        for fault in history.faults
    )


def _uncommitted(history: History) -> Iterator[str]:
    ends = {partition: log.end for partition, log in history.logs.items()}
    for partition, offsets in history.offsets.items():
        ends.setdefault(partition, offsets[-1] + 1)
    for partition, end in sorted(ends.items()):
        commits = history.commits.get(partition)
        stored = commits[-1].offset if commits else None
        if stored != end:
            yield f"{partition}: {stored} of {end}"
