"""Did each member read only its own partitions, in order, from the committed offset on?"""

from tests.histories.facts import Claim, Delivery, History, Partition, Place
from tests.histories.rules import FREEZE, CheckResult


def check_polls(history: History, outcome: CheckResult) -> None:
    """Follow each member through each of its partitions."""
    last: dict[tuple[str, Partition], Delivery] = {}
    for delivery in history.deliveries:
        if delivery.place is None:
            continue
        if history.claims.get(delivery.place.partition):
            _check_ownership(history, outcome, delivery)
        key = (delivery.member, delivery.place.partition)
        _check_step(history, outcome, last.get(key), delivery)
        last[key] = delivery


# --- order ----------------------------------------------------------------------------------------


def _check_step(
    history: History, outcome: CheckResult, before: Delivery | None, delivery: Delivery
) -> None:
    """Check whether a delivery continues its assignment, or correctly begins another one."""
    assert delivery.place is not None
    claims = history.claims_of(delivery)
    registry = bool(history.claims.get(delivery.place.partition))
    if before is not None and _goes_on(history, before, delivery, claims, registry=registry):
        return
    fresh = [c for c in claims if before is None or c.start_ms >= before.sent_ms]
    within = before is not None and before.poll == delivery.poll
    restarted = before is None or delivery.fresh or (bool(fresh) and not within)
    if restarted and (not registry or _starts(history, outcome, delivery, fresh)):
        if before is not None:
            outcome.effects[f"a poll that {_moved(before, delivery)} with a new assignment"] += 1
        return
    if restarted or not history.promises(delivery.member, "order"):
        return
    assert before is not None
    kind = "internal " if within else ""
    what = "nonmonotonic poll" if _moved(before, delivery) == "goes back" else "poll skip"
    assert before.place is not None
    outcome.complain(
        f"{kind}{what}", [f"{delivery.place} after {before.place.offset} by {_who(delivery)}"]
    )


def _goes_on(
    history: History,
    before: Delivery,
    delivery: Delivery,
    claims: list[Claim],
    *,
    registry: bool,
) -> bool:
    """Whether a delivery is the next message after ``before``, and under one of its claims."""
    assert before.place is not None
    assert delivery.place is not None
    first, end = before.place.offset + 1, delivery.place.offset
    if end < first or history.between(delivery.place.partition, first, end):
        return False
    same = {claim.start for claim in claims} & {c.start for c in history.claims_of(before)}
    return bool(same) or not registry


def _moved(before: Delivery, delivery: Delivery) -> str:
    assert before.place is not None
    assert delivery.place is not None
    return "goes back" if delivery.place.offset <= before.place.offset else "goes forward"


def _starts(
    history: History, outcome: CheckResult, delivery: Delivery, claims: list[Claim]
) -> bool:
    """Whether a claim starts at the committed offset; else complain, if that was promised.

    It may also start after records that its member processed under an earlier claim.
    """
    assert delivery.place is not None
    if not claims or not history.promises(delivery.member, "starts"):
        return True
    offset, partition = delivery.place.offset, delivery.place.partition
    ranges = [_start_of(history, claim, delivery) for claim in claims]
    for lowest, highest in ranges:
        if lowest is None or highest is None:
            return True
        left_out = (Place(partition, at) for at in history.between(partition, highest, offset))
        if lowest <= offset and all(
            history.done(delivery.member, at, delivery.given_ms) for at in left_out
        ):
            return True
    stored = ", ".join(str(low) if low == high else f"{low} to {high}" for low, high in ranges)
    below = all(lowest is not None and offset < lowest for lowest, _ in ranges)
    outcome.complain(
        "committed redelivery" if below else "poll skip",
        [f"{delivery.place} by {_who(delivery)}, where {stored} was committed at its claim"],
    )
    return False


def _start_of(history: History, claim: Claim, delivery: Delivery) -> tuple[int | None, int | None]:
    """The lowest and the highest offset at which this claim may start; None: unknown.

    A former owner that does not know yet may still commit, so offsets that others store between
    the claim and its first message count, too.
    """
    member = history.members[claim.member]
    partition = claim.partition
    if member.load_slack_ms is not None:
        frozen_ms = sum(
            fault.until_ms - fault.from_ms
            for fault in history.faults
            if fault.kind == FREEZE and fault.member == member.name
        )
        from_ms = claim.start_ms - member.load_slack_ms - frozen_ms
        if all(commit.time_ms > from_ms for commit in history.commits.get(partition, ())):
            return None, None  # nothing may have been committed at that time
        stored = history.stored_between(partition, from_ms, claim.start_ms + member.load_slack_ms)
        return (min(stored), delivery.place.offset) if stored and delivery.place else (None, None)
    at_claim = history.committed_at(partition, claim.start)
    first = 0 if at_claim is None and member.earliest else at_claim
    if first is None or first > history.end_of(partition):
        return None, None  # its reset policy decides
    others = [
        commit.offset
        for commit in history.commits.get(partition, ())
        if commit.line > claim.start
        and commit.time_ms <= delivery.given_ms
        and commit.member != claim.member
    ]
    log = history.logs.get(partition)
    begin = 0 if log is None else log.start
    return min(first, *others, first), max(first, begin, *others)


# --- ownership ------------------------------------------------------------------------------------


def _check_ownership(history: History, outcome: CheckResult, delivery: Delivery) -> None:
    """A delivery is under a claim; after a session's end, for ``late_ms`` at most."""
    if not history.promises(delivery.member, "owned"):
        return
    claims = history.claims_of(delivery)
    if not claims:
        outcome.complain("unowned poll", [f"{delivery.place} by {_who(delivery)}"])
    elif all(claim.end_ms is not None and claim.end_ms < delivery.sent_ms for claim in claims):
        _check_late(history, outcome, delivery, claims[-1])


def _check_late(history: History, outcome: CheckResult, delivery: Delivery, claim: Claim) -> None:
    assert claim.end_ms is not None
    if claim.ended_by == "released":
        outcome.complain("poll after release", [f"{delivery.place} by {_who(delivery)}"])
        return
    frozen_until = [
        min(fault.until_ms, delivery.sent_ms)  # the thaw is recorded a moment after it happened
        for fault in history.faults
        if fault.kind == FREEZE
        and fault.member == delivery.member
        and fault.from_ms <= delivery.sent_ms
    ]
    late_ms = delivery.sent_ms - max([claim.end_ms, *frozen_until])
    most_ms = history.members[delivery.member].late_ms
    if most_ms is not None and late_ms > most_ms:
        outcome.complain("late poll", [f"{delivery.place} by {_who(delivery)}, {late_ms} ms late"])
    else:
        outcome.effects["read on after its session, until it knew"] += 1


def _who(delivery: Delivery) -> str:
    return f"{delivery.member} ({delivery.process}) at {delivery.given_ms}"
