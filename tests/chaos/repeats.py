"""Which messages came twice, whether they may, and why. Pure.

When may a message come twice? Who claims a partition starts at the committed offset. So:

- *No repeat without a claim*: within one claim of ours each offset is above the one before.
- *Only what was not committed*: what is delivered under a claim lies at or above the offset that
  was committed when the claim was made. For ours that is exact: it loads offsets when it owns the
  partition. The original loads them before it claims; there the lowest offset of the seconds before
  counts.
"""

from collections.abc import Iterator

from tests.chaos.cast import Given
from tests.chaos.evidence import CAUSE_SLACK_MS, Evidence, Verdict
from tests.chaos.group_history import Claim
from zkconsumer.model import TopicPartition

_ORIGINAL_SLACK_MS = 5_000
_CAUSES = {
    "kill": "kill",
    "freeze": "freeze",
    "expire": "expired session",
    "leave": "leaving while ZooKeeper was away",
}


def judge_repeats(evidence: Evidence, verdict: Verdict) -> None:
    """Count what came again, by cause, and complain about what may not have come."""
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
    verdict.complain("delivered below the offset that was committed before the claim", early)
    verdict.complain("repeated within one claim", list(_backward_steps(evidence)))


def _floor(evidence: Evidence, claim: Claim) -> int | None:
    """The lowest offset at which this claim may have started."""
    history = evidence.history
    if claim.consumer_id not in evidence.originals:
        at_claim = history.committed_at(claim.tp, claim.start_zxid)
        # Someone who lost the partition unknowingly may still move the offset back.
        until_ms = claim.start_ms + CAUSE_SLACK_MS
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
            if evidence.hit(claim, kind):
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
