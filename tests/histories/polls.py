"""Did each member read its own partitions, in order, from where they were committed?"""

from tests.histories.facts import Claim, Delivery, History, Partition, Place
from tests.histories.rules import FREEZE, Verdict


def judge_polls(history: History, outcome: Verdict) -> None:
    """Follow each member through each of its partitions."""
    last: dict[tuple[str, Partition], Delivery] = {}
    for delivery in history.deliveries:
        if delivery.place is None:
            continue
        if history.claims.get(delivery.place.partition):
            _judge_ownership(history, outcome, delivery)
        key = (delivery.member, delivery.place.partition)
        _judge_step(history, outcome, last.get(key), delivery)
        last[key] = delivery


# --- order ----------------------------------------------------------------------------------------


def _judge_step(history: History, outcome: Verdict, before: Delivery | None, one: Delivery) -> None:
    """Allow the next message of the same assignment, or the first one of another."""
    assert one.place is not None
    claims = history.claims_of(one)
    registry = bool(history.claims.get(one.place.partition))
    if before is not None and _goes_on(history, before, one, claims, registry=registry):
        return
    fresh = [c for c in claims if before is None or c.start_ms >= before.sent_ms]
    within = before is not None and before.poll == one.poll
    restarted = before is None or one.fresh or (bool(fresh) and not within)
    if restarted and (not registry or _starts(history, outcome, one, fresh)):
        if before is not None:
            outcome.effects[f"a poll that {_moved(before, one)} with a new assignment"] += 1
        return
    if restarted or not history.promises(one.member, "order"):
        return
    assert before is not None
    kind = "internal " if within else ""
    what = "nonmonotonic poll" if _moved(before, one) == "goes back" else "poll skip"
    assert before.place is not None
    outcome.complain(f"{kind}{what}", [f"{one.place} after {before.place.offset} by {_who(one)}"])


def _goes_on(
    history: History,
    before: Delivery,
    one: Delivery,
    claims: list[Claim],
    *,
    registry: bool,
) -> bool:
    """Whether it is the message behind the one before, perhaps under the same claim."""
    assert before.place is not None
    assert one.place is not None
    first, end = before.place.offset + 1, one.place.offset
    if end < first or history.between(one.place.partition, first, end):
        return False
    same = {claim.start for claim in claims} & {c.start for c in history.claims_of(before)}
    return bool(same) or not registry


def _moved(before: Delivery, one: Delivery) -> str:
    assert before.place is not None
    assert one.place is not None
    return "goes back" if one.place.offset <= before.place.offset else "goes forward"


def _starts(history: History, outcome: Verdict, one: Delivery, claims: list[Claim]) -> bool:
    """Whether a claim begins at what was committed; complains where not, and it is promised.

    It may also go on behind what its member had been done with before, under an earlier claim.
    """
    assert one.place is not None
    if not claims or not history.promises(one.member, "starts"):
        return True
    offset, partition = one.place.offset, one.place.partition
    ranges = [_start_of(history, claim, one) for claim in claims]
    for lowest, highest in ranges:
        if lowest is None or highest is None:
            return True
        left_out = (Place(partition, at) for at in history.between(partition, highest, offset))
        if lowest <= offset and all(history.done(one.member, at, one.given_ms) for at in left_out):
            return True
    stored = ", ".join(str(low) if low == high else f"{low} to {high}" for low, high in ranges)
    below = all(lowest is not None and offset < lowest for lowest, _ in ranges)
    outcome.complain(
        "committed redelivery" if below else "poll skip",
        [f"{one.place} by {_who(one)}, where {stored} was committed at its claim"],
    )
    return False


def _start_of(history: History, claim: Claim, one: Delivery) -> tuple[int | None, int | None]:
    """The lowest and the highest offset at which this claim may begin; None: unknown.

    Who has lost the partition, and does not know, may still write, so what others store between
    the claim and its first message counts, too.
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
            return None, None  # there may have been none yet
        stored = history.stored_between(partition, from_ms, claim.start_ms + member.load_slack_ms)
        return (min(stored), one.place.offset) if stored and one.place else (None, None)
    at_claim = history.committed_at(partition, claim.start)
    first = 0 if at_claim is None and member.earliest else at_claim
    if first is None or first > history.end_of(partition):
        return None, None  # then its policy says where, as far as anyone knows
    others = [
        commit.offset
        for commit in history.commits.get(partition, ())
        if commit.line > claim.start
        and commit.time_ms <= one.given_ms
        and commit.member != claim.member
    ]
    log = history.logs.get(partition)
    begin = 0 if log is None else log.start
    return min(first, *others, first), max(first, begin, *others)


# --- ownership ------------------------------------------------------------------------------------


def _judge_ownership(history: History, outcome: Verdict, one: Delivery) -> None:
    """What is delivered was claimed; behind the end of a session only until the client knows."""
    if not history.promises(one.member, "owned"):
        return
    claims = history.claims_of(one)
    if not claims:
        outcome.complain("unowned poll", [f"{one.place} by {_who(one)}"])
    elif all(claim.end_ms is not None and claim.end_ms < one.sent_ms for claim in claims):
        _judge_late(history, outcome, one, claims[-1])


def _judge_late(history: History, outcome: Verdict, one: Delivery, claim: Claim) -> None:
    assert claim.end_ms is not None
    if claim.ended_by == "released":
        outcome.complain("poll after release", [f"{one.place} by {_who(one)}"])
        return
    frozen_until = [
        min(fault.until_ms, one.sent_ms)  # it was thawed a moment before that was noted
        for fault in history.faults
        if fault.kind == FREEZE and fault.member == one.member and fault.from_ms <= one.sent_ms
    ]
    late_ms = one.sent_ms - max([claim.end_ms, *frozen_until])
    most_ms = history.members[one.member].late_ms
    if most_ms is not None and late_ms > most_ms:
        outcome.complain("late poll", [f"{one.place} by {_who(one)}, {late_ms} ms late"])
    else:
        outcome.effects["read on after its session, until it knew"] += 1


def _who(one: Delivery) -> str:
    return f"{one.member} ({one.process}) at {one.given_ms}"
