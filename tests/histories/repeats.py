"""Which messages were redelivered, and why: what ended the assignment before."""

from tests.histories.facts import Claim, Delivery, History
from tests.histories.rules import CAUSE_SLACK_MS, EXPIRE, FREEZE, KILL, LEAVE, CheckResult

_CAUSES = {
    KILL: "a kill",
    FREEZE: "a freeze",
    EXPIRE: "an expired session",
    LEAVE: "leaving while the registry was away",
}


def count_repeats(history: History, outcome: CheckResult) -> None:
    """Count each message's redeliveries by cause."""
    before: dict[str, Delivery] = {}
    for delivery in history.deliveries:
        if delivery.value in before:
            outcome.repeats[_cause(history, before[delivery.value], delivery)] += 1
        before[delivery.value] = delivery
    outcome.counts["deliveries"] = len(history.deliveries)
    outcome.counts["came again"] = outcome.repeats.total()


def _cause(history: History, first: Delivery, again: Delivery) -> str:
    """Why it was redelivered: the earlier claim's end, or a reader that had lost its claim."""
    late = _claim_of(history, again)
    if late is not None and late.end_ms is not None and late.end_ms < again.given_ms:
        return f"{_end_of(history, late)}: it read on until it knew"
    claim = _claim_of(history, first)
    if claim is None:
        return "nobody knows: claims were not recorded"
    if claim.ended_by == "released" and not history.promises(again.member, "starts"):
        return "one that looks for offsets before the hand-over"
    return _end_of(history, claim)


def _claim_of(history: History, delivery: Delivery) -> Claim | None:
    claims = history.claims_of(delivery)
    return claims[-1] if claims else None


def _end_of(history: History, claim: Claim) -> str:
    who = "a fenced one" if history.promises(claim.member, "fenced") else "one without a fence"
    if claim.ended_by == "session":
        for kind, cause in _CAUSES.items():
            if history.hit(claim, kind, CAUSE_SLACK_MS):
                return f"{cause} of {who}"
        return f"the session's end of {who}, by itself"
    if claim.ended_by == "stranger":
        return f"an owner node of {who} that somebody deleted"
    return f"a hand-over by {who}" if claim.end_ms else f"within a claim of {who}"
