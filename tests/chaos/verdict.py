"""What the run proves: each check of a promise against what was written down. Pure.

When may a message come twice? Who claims a partition starts at the committed offset. So:

- *No repeat without a claim*: within one claim of ours each offset is above the one before.
- *Only what was not committed*: what is delivered under a claim lies at or above the offset that
  was committed when the claim was made. For ours that is exact: it loads offsets when it owns the
  partition. The original loads them before it claims; there the lowest offset of the seconds before
  counts.
- *A hand-over in order repeats one message at most*: when a claim of ours ends by its own release,
  all that it delivered is committed, but for the one message in hand.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.chaos.cast import Given, LeftBehind
from tests.chaos.group_history import Claim, GroupHistory
from zkconsumer.model import TopicPartition

Where = tuple[TopicPartition, int]

_ORIGINAL_SLACK_MS = 5_000
_CAUSE_SLACK_MS = 1_500
_SHOWN = 5
_CAUSES = {
    "kill": "kill",
    "freeze": "freeze",
    "expire": "expired session",
    "leave": "leaving while ZooKeeper was away",
}


@dataclass(frozen=True, slots=True)
class Interval:
    """A fault that hit one member: what, whom, and from when to when (since the epoch)."""

    kind: str
    consumer_id: str
    from_ms: int
    to_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that was written down.

    Attributes:
        acknowledged: where the producers' acknowledged values lie.
        log: where every value lies, read from the leaders when all was over.
        ends: the end of each partition's log.
        given: every delivery.
        history: of the group, from ZooKeeper's log.
        originals: the consumer ids of the original's members.
        intervals: what was done to members.
        committed: the offsets in ZooKeeper at the end.
        left_behind: what members of ours reported after their shutdown; None where nothing.
    """

    acknowledged: Mapping[str, Where]
    log: Mapping[str, Where]
    ends: Mapping[TopicPartition, int]
    given: Sequence[Given]
    history: GroupHistory
    originals: frozenset[str]
    intervals: Sequence[Interval]
    committed: Mapping[TopicPartition, int]
    left_behind: Mapping[str, LeftBehind | None]


@dataclass(slots=True)
class Verdict:
    """Counts to show, and what is wrong (nothing, one hopes).

    Attributes:
        counts: what was counted, in the order to show it.
        repeats: deliveries beyond the first of each message, by what ended the claim before.
        wrong: one line for each broken promise of ours.
        kafka_lost: acknowledged messages that are not in the log: the cluster's fault.
    """

    counts: dict[str, int] = field(default_factory=dict)
    repeats: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    kafka_lost: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Whether all is as promised."""
        return not self.wrong and not self.kafka_lost


def judge(evidence: Evidence) -> Verdict:
    """Check everything."""
    verdict = Verdict()
    _judge_losses(evidence, verdict)
    _judge_places(evidence, verdict)
    _judge_repeats(evidence, verdict)
    _judge_claims(evidence, verdict)
    _judge_commits(evidence, verdict)
    _judge_end(evidence, verdict)
    return verdict


def _complain(verdict: Verdict, what: str, examples: Sequence[object]) -> None:
    if examples:
        shown = "; ".join(map(str, examples[:_SHOWN]))
        more = f" and {len(examples) - _SHOWN} more" if len(examples) > _SHOWN else ""
        verdict.wrong.append(f"{what}: {len(examples)} ({shown}{more})")


# --- nothing lost ---------------------------------------------------------------------------------


def _judge_losses(evidence: Evidence, verdict: Verdict) -> None:
    seen = {one.value for one in evidence.given}
    lost_by_kafka = [
        value for value, where in evidence.acknowledged.items() if evidence.log.get(value) != where
    ]
    missing = [value for value in evidence.log if value not in seen]
    by_original = {value for value in missing if _in_hand_of_original(evidence, value)}
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
    _complain(verdict, "lost", [f"{value} at {evidence.log[value]}" for value in lost])


def _in_hand_of_original(evidence: Evidence, value: str) -> bool:
    """Whether the original committed it, and was killed before it had written it out.

    It moves its offset before it hands a message over, so one message can go that way at each
    kill; ours is no part of it.
    """
    tp, offset = evidence.log[value]
    return any(
        claim.consumer_id in evidence.originals
        and claim.end_zxid is not None
        and evidence.history.committed_at(tp, claim.end_zxid) == offset + 1
        and _hit(evidence, claim, "kill")
        for claim in evidence.history.claims.get(tp, [])
    )


def _hit(evidence: Evidence, claim: Claim, kind: str) -> bool:
    """Whether such a fault hit the claim's member before the claim ended."""
    if claim.end_ms is None:
        return False
    return any(
        one.kind == kind
        and one.consumer_id == claim.consumer_id
        and claim.start_ms <= one.to_ms + _CAUSE_SLACK_MS
        and one.from_ms <= claim.end_ms + _CAUSE_SLACK_MS
        for one in evidence.intervals
    )


# --- what was delivered is what was written -------------------------------------------------------


def _judge_places(evidence: Evidence, verdict: Verdict) -> None:
    unknown = [one for one in evidence.given if one.value not in evidence.log]
    misplaced = [
        one
        for one in evidence.given
        if one.where is not None and evidence.log.get(one.value, one.where) != one.where
    ]
    _complain(verdict, "delivered what is not in the log", unknown)
    _complain(verdict, "delivered with a wrong position", misplaced)


# --- what came twice ------------------------------------------------------------------------------


def _judge_repeats(evidence: Evidence, verdict: Verdict) -> None:
    before: dict[str, Given] = {}
    early: list[str] = []
    floors = {
        (claim.tp, claim.start_zxid): _floor(evidence, claim)
        for claims in evidence.history.claims.values()
        for claim in claims
    }
    for one in sorted(evidence.given, key=lambda given: given.given_ms):
        where = evidence.log.get(one.value)
        if where is None:
            continue
        claims = evidence.history.claims_between(
            where[0], one.consumer_id, one.asked_ms, one.given_ms
        )
        starts = [floors[claim.tp, claim.start_zxid] for claim in claims]
        if not any(start is None or start <= where[1] for start in starts):
            early.append(f"{where[0]} {where[1]} by {one.consumer_id} at {one.given_ms}")
        if one.value in before:
            verdict.repeats[_cause(evidence, before[one.value], one, where[0])] += 1
        before[one.value] = one
    verdict.counts["deliveries"] = len(evidence.given)
    verdict.counts["came again"] = verdict.repeats.total()
    _complain(verdict, "delivered below the offset that was committed before the claim", early)
    _complain(verdict, "repeated within one claim", list(_backward_steps(evidence)))


def _floor(evidence: Evidence, claim: Claim) -> int | None:
    """The lowest offset at which this claim may have started."""
    history = evidence.history
    if claim.consumer_id not in evidence.originals:
        at_claim = history.committed_at(claim.tp, claim.start_zxid)
        # Someone who lost the partition unknowingly may still move the offset back.
        until_ms = claim.start_ms + _CAUSE_SLACK_MS
        later = history.lowest_committed(claim.tp, claim.start_ms, until_ms)
        return at_claim if later is None or at_claim is None else min(at_claim, later)
    slack_ms = _ORIGINAL_SLACK_MS + sum(
        one.to_ms - one.from_ms
        for one in evidence.intervals
        if one.kind == "freeze" and one.consumer_id == claim.consumer_id
    )
    return history.lowest_committed(
        claim.tp, claim.start_ms - slack_ms, claim.start_ms + _ORIGINAL_SLACK_MS
    )


def _cause(evidence: Evidence, first: Given, again: Given, tp: TopicPartition) -> str:
    """Why it came again: the end of the claim before, or a reader that had lost its claim."""
    late = _claim_of(evidence, again, tp)
    if late is not None and late.end_ms is not None and late.end_ms < again.given_ms:
        return f"{_end_of(evidence, late)}: read on until it knew"
    claim = _claim_of(evidence, first, tp)
    if claim is None:
        return "unknown"
    if claim.ended_by == "released" and again.consumer_id in evidence.originals:
        return "the original looked for offsets before the hand-over"
    return _end_of(evidence, claim)


def _claim_of(evidence: Evidence, one: Given, tp: TopicPartition) -> Claim | None:
    history = evidence.history
    claims = history.claims_between(tp, one.consumer_id, one.asked_ms, one.given_ms)
    return claims[-1] if claims else None


def _end_of(evidence: Evidence, claim: Claim) -> str:
    who = "the original" if claim.consumer_id in evidence.originals else "ours"
    if claim.ended_by == "session":
        for kind, cause in _CAUSES.items():
            if _hit(evidence, claim, kind):
                return f"{cause} of {who}"
        return f"session of {who} ended without our doing"
    if claim.ended_by == "stranger":
        return f"owner node of {who} deleted by somebody else"
    return f"hand-over by {who}" if claim.end_ms else f"within a claim of {who}"


def _backward_steps(evidence: Evidence) -> Iterator[str]:
    """Deliveries of ours that repeat an offset although no new claim lies between."""
    last: dict[tuple[str, TopicPartition], Given] = {}
    for one in evidence.given:
        if one.where is None:
            continue
        tp, offset = one.where
        before = last.get((one.consumer_id, tp))
        last[one.consumer_id, tp] = one
        if before is None or before.where is None or before.where[1] < offset:
            continue
        fresh = evidence.history.claims_between(tp, one.consumer_id, before.asked_ms, one.given_ms)
        if not any(claim.start_ms >= before.asked_ms for claim in fresh):
            yield f"{tp} {offset} after {before.where[1]} by {one.consumer_id}"


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
            if last is not None and (committed is None or committed < last):
                uncommitted.append(
                    f"{claim.tp} by {claim.consumer_id}: delivered {last}, committed {committed}"
                )
    verdict.counts |= {
        "claims": ends.total(),
        "claims released in order": ends["released"] + ends["lasted"],
        "claims ended by the session's end": ends["session"],
        "claims deleted by somebody else": ends["stranger"],
    }
    _complain(verdict, "released with more than one message uncommitted", uncommitted)


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
    _complain(verdict, "committed before it was delivered", ahead)
    _complain(verdict, "an offset of ours moved back", back)


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
    _complain(verdict, "committed is not what was delivered", different)
    silent = [name for name, left in evidence.left_behind.items() if left is None]
    leaky = [
        f"{name}: {left}"
        for name, left in evidence.left_behind.items()
        if left is not None and (left.stuck or left.threads or left.descriptors)
    ]
    verdict.counts["clean ends of ours"] = len(evidence.left_behind) - len(silent) - len(leaky)
    _complain(verdict, "members that did not end when told", silent)
    _complain(verdict, "left threads or descriptors behind", leaky)
