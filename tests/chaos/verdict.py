"""What the run proves: each promise against what was written down. Pure.

Besides what ``repeats`` says: nothing that is in the log is missing; a commit covers only what was
delivered before; and *a hand-over in order repeats one message at most*: when a claim of ours ends
by its own release, all that it delivered is committed, but for the one message in hand. (Where
ZooKeeper went away in the middle of the hand-over, the commit may have failed; that is counted.)
"""

from collections import Counter
from collections.abc import Sequence

from tests.chaos.cast import Given
from tests.chaos.evidence import CAUSE_SLACK_MS, ZOOKEEPER_AWAY, Evidence, Verdict, Where
from tests.chaos.group_history import Claim
from tests.chaos.repeats import judge_repeats
from zkconsumer.model import TopicPartition

_BACK_AGAIN_MS = 10_000


def judge(evidence: Evidence) -> Verdict:
    """Check everything."""
    verdict = Verdict()
    _judge_losses(evidence, verdict)
    _judge_places(evidence, verdict)
    judge_repeats(evidence, verdict)
    _judge_claims(evidence, verdict)
    _judge_commits(evidence, verdict)
    _judge_end(evidence, verdict)
    return verdict


# --- nothing lost ---------------------------------------------------------------------------------


def _judge_losses(evidence: Evidence, verdict: Verdict) -> None:
    seen = {one.value for one in evidence.given}
    lost_by_kafka = [
        value for value, where in evidence.acknowledged.items() if evidence.log.get(value) != where
    ]
    missing = [value for value in evidence.log if value not in seen]
    by_original = {value for value in missing if taken_by_original(evidence, value)}
    lost = [value for value in missing if value not in by_original]
    verdict.kafka_lost = lost_by_kafka
    verdict.counts |= {
        "acknowledged": len(evidence.acknowledged),
        "in the log": len(evidence.log),
        "delivered": len(seen),
        "lost": len(lost),
        "lost in the hand of the killed original": len(by_original),
        "lost by Kafka": len(lost_by_kafka),
    }
    verdict.complain("lost", [f"{value} at {evidence.log[value]}" for value in lost])


def taken_by_original(evidence: Evidence, value: str) -> bool:
    """Whether the original committed it, and was killed before it had written it out.

    It moves its offset before it hands a message over, so one message can go that way at each
    kill; ours is no part of it.
    """
    tp, offset = evidence.log[value]
    return any(
        claim.consumer_id in evidence.originals
        and claim.end_zxid is not None
        and evidence.history.committed_at(tp, claim.end_zxid) == offset + 1
        and evidence.hit(claim, "kill")
        for claim in evidence.history.claims.get(tp, [])
    )


# --- what was delivered is what was written -------------------------------------------------------


def _judge_places(evidence: Evidence, verdict: Verdict) -> None:
    unknown = [one for one in evidence.given if one.value not in evidence.log]
    misplaced = [
        one
        for one in evidence.given
        if one.where is not None and evidence.log.get(one.value, one.where) != one.where
    ]
    verdict.complain("delivered what is not in the log", unknown)
    verdict.complain("delivered with a wrong position", misplaced)


# --- commits --------------------------------------------------------------------------------------


def _judge_claims(evidence: Evidence, verdict: Verdict) -> None:
    """Count claims and how they ended; a release in order leaves one message in hand at most."""
    uncommitted: list[str] = []
    ends: Counter[str] = Counter()
    given: dict[tuple[str, TopicPartition], list[Given]] = {}
    for one in evidence.given:
        if one.where is not None:
            given.setdefault((one.consumer_id, one.where[0]), []).append(one)
    for claims in evidence.history.claims.values():
        for claim in claims:
            ends[claim.ended_by or "lasted"] += 1
            if claim.consumer_id in evidence.originals or claim.ended_by != "released":
                continue
            last = _last_given(given.get((claim.consumer_id, claim.tp), []), claim)
            assert claim.end_zxid is not None
            committed = evidence.history.committed_at(claim.tp, claim.end_zxid)
            # What an original that thawed writes over it, with no look at the owner, is not ours.
            done = max(committed or 0, evidence.history.committed_under(claim) or 0)
            if last is None or done >= last:
                continue
            if _zookeeper_was_away(evidence, claim):
                ends["uncommitted"] += 1
            else:
                uncommitted.append(
                    f"{claim.tp} by {claim.consumer_id}: delivered {last}, committed {committed}"
                )
    verdict.counts |= {
        "claims": ends.total() - ends["uncommitted"],
        "claims released in order": ends["released"] + ends["lasted"],
        "of these uncommitted, since ZooKeeper was away": ends["uncommitted"],
        "claims ended by the session's end": ends["session"],
        "claims deleted by somebody else": ends["stranger"],
    }
    verdict.complain("released with more than one message uncommitted", uncommitted)


def _zookeeper_was_away(evidence: Evidence, claim: Claim) -> bool:
    """Whether that may have kept a claim of ours from being committed before its release."""
    end_ms = claim.end_ms or claim.start_ms
    return any(
        one.kind == ZOOKEEPER_AWAY
        and one.from_ms <= end_ms
        and claim.start_ms <= one.to_ms + CAUSE_SLACK_MS
        and end_ms <= one.to_ms + _BACK_AGAIN_MS
        for one in evidence.intervals
    )


def _last_given(given: Sequence[Given], claim: Claim) -> int | None:
    """The highest offset that was surely delivered under a claim of ours."""
    end_ms = claim.end_ms or 0
    offsets = [
        one.where[1]
        for one in given
        if one.where is not None and claim.start_ms < one.asked_ms and one.given_ms < end_ms
    ]
    return max(offsets, default=None)


def _judge_commits(evidence: Evidence, verdict: Verdict) -> None:
    """A commit of ours covers only what was delivered before, and moves no commit of ours back."""
    ahead: list[str] = []
    back: list[str] = []
    moved_back_by_original = 0
    given_at = _first_given(evidence)
    history = evidence.history
    ours = {
        session: member
        for session, member in history.members.items()
        if member not in evidence.originals
    }
    for tp, commits in history.commits.items():
        highest = 0
        for before, commit in zip([None, *commits], commits, strict=False):
            if before is not None and commit.offset < before.offset:
                if commit.session not in ours:
                    moved_back_by_original += 1
                elif before.session in ours:
                    back.append(f"{tp} from {before.offset} to {commit.offset}")
            if commit.session in ours and commit.offset > highest:
                when = given_at.get((tp, commit.offset - 1))
                if when is None or when > commit.time_ms:
                    ahead.append(f"{tp} {commit.offset} by {ours[commit.session]}")
            highest = max(highest, commit.offset)
    verdict.counts |= {
        "offsets written": sum(map(len, history.commits.values())),
        "offsets moved back by the original": moved_back_by_original,
    }
    verdict.complain("committed before it was delivered", ahead)
    verdict.complain("an offset of ours moved back", back)


def _first_given(evidence: Evidence) -> dict[Where, int]:
    """When each message was first delivered, at the latest; by the original: at the earliest."""
    found: dict[Where, int] = {}
    for one in evidence.given:
        where = evidence.log.get(one.value)
        if where is not None:
            when = one.asked_ms if one.where is None else one.given_ms
            found[where] = min(found.get(where, when), when)
    return found


# --- the end --------------------------------------------------------------------------------------


def _judge_end(evidence: Evidence, verdict: Verdict) -> None:
    different = [
        f"{tp}: {evidence.committed.get(tp)} of {end}"
        for tp, end in sorted(evidence.ends.items())
        if evidence.committed.get(tp) != end
    ]
    verdict.complain("committed is not what was delivered", different)
    silent = [name for name, left in evidence.left_behind.items() if left is None]
    leaky = [
        f"{name}: {left}"
        for name, left in evidence.left_behind.items()
        if left is not None and (left.stuck or left.threads or left.descriptors)
    ]
    verdict.counts["clean ends of ours"] = len(evidence.left_behind) - len(silent) - len(leaky)
    verdict.complain("members that did not end when told", silent)
    verdict.complain("left threads or descriptors behind", leaky)
