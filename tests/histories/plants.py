"""Plant anomalies in healthy histories, to test that the checker finds them."""

import copy
import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tests.histories.simulated import LATE_MS, TOPIC, Operations

Operation = dict[str, Any]
Pick = Callable[[list[Any]], Any]
Plant = Callable[[Operations, Pick], bool]

_PLANTS: dict[str, Plant] = {}


def planted(anomaly: str, healthy: Operations, pick: Pick) -> Operations | None:
    """Return the history with this anomaly planted; None if it has no place for it."""
    changed = copy.deepcopy(healthy)
    return changed if _PLANTS[anomaly](changed, pick) else None


def plants() -> list[str]:
    """Return the names of the anomalies that can be planted."""
    return list(_PLANTS)


def _plant_for(anomaly: str) -> Callable[[Plant], Plant]:
    def register(plant: Plant) -> Plant:
        _PLANTS[anomaly] = plant
        return plant

    return register


# --- reading a history ----------------------------------------------------------------------------


class _Claim(NamedTuple):
    start: int
    end: int
    member: str
    partition: int
    how: str


def _polls(history: Operations) -> list[tuple[int, Operation]]:
    return [(n, o) for n, o in enumerate(history) if o["f"] == "poll" and o["type"] == "ok"]


def _messages(history: Operations) -> list[tuple[Operation, list[Any]]]:
    return [(poll, message) for _, poll in _polls(history) for message in poll["messages"]]


def _commits(history: Operations) -> list[tuple[int, Operation]]:
    return [(n, o) for n, o in enumerate(history) if o["f"] == "commit" and "member" in o]


def _log(history: Operations, partition: int) -> list[str]:
    [log] = [o for o in history if o["f"] == "log" and o["partition"] == partition]
    return [value for _, value in log["messages"]]


def _acknowledged(history: Operations) -> set[str]:
    requested: list[str] = []
    values: set[str] = set()
    for event in history:
        if event["f"] == "send" and event["type"] == "invoke":
            requested = event["values"]
        elif event["f"] == "send" and event["type"] == "ok":
            values.update(requested)
    return values


def _requested_at(history: Operations, given: int) -> int:
    """Return the index of the invocation of the poll that completes at index ``given``."""
    process = history[given]["process"]
    return max(n for n in range(given) if history[n]["process"] == process)


def _claims(history: Operations) -> Iterator[_Claim]:
    begun: dict[int, int] = {}
    for number, event in enumerate(history):
        if event["f"] == "claim":
            begun[event["partition"]] = number
        elif event["f"] == "release":
            start = begun.pop(event["partition"])
            yield _Claim(start, number, history[start]["member"], event["partition"], event["how"])


def _stored(history: Operations, line: int, partition: int) -> int:
    """Return the committed offset as of this line of the history."""
    offsets = [
        offset
        for event in history[:line]
        if event["f"] == "commit"
        for _, number, offset in event["offsets"]
        if number == partition
    ]
    return int(offsets[-1])


def _read_by(history: Operations, claim: _Claim) -> list[tuple[int, Operation]]:
    """Return the member's polls of the partition that began and ended under the claim."""
    return [
        (n, poll)
        for n, poll in _polls(history)
        if claim.start < n < claim.end
        and poll["member"] == claim.member
        and claim.start < _requested_at(history, n)
        and _of(poll, claim.partition)
    ]


def _of(poll: Operation, partition: int) -> list[list[Any]]:
    return [message for message in poll["messages"] if message[1] == partition]


def _write(history: Operations, at: int, time: int, *operations: Operation) -> None:
    history[at:at] = [{"time": time, **operation} for operation in operations]


def _poll_of_another_reader(member: str, message: list[Any]) -> tuple[Operation, Operation]:
    reader = {"process": f"{member}/x", "f": "poll"}
    return {**reader, "type": "invoke"}, {
        **reader,
        "type": "ok",
        "member": member,
        "messages": [message],
    }


# --- the log --------------------------------------------------------------------------------------


def _never_deliver(history: Operations, value: str) -> None:
    for _, poll in _polls(history):
        poll["messages"] = [message for message in poll["messages"] if message[3] != value]


@_plant_for("lost write")
def _lose(history: Operations, pick: Pick) -> bool:
    values = [value for n in (0, 1) for value in _log(history, n)[:-1]]
    if values:
        _never_deliver(history, pick(values))
    return bool(values)


@_plant_for("unseen")
def _leave_unseen(history: Operations, pick: Pick) -> bool:
    logs = [n for n in (0, 1) if _log(history, n)]
    if not logs:
        return False
    partition = pick(logs)
    log = _log(history, partition)
    _never_deliver(history, log[-1])
    for _, commit in _commits(history):
        commit["offsets"] = [
            [topic, number, min(offset, len(log) - 1) if number == partition else offset]
            for topic, number, offset in commit["offsets"]
        ]
    history[-1]["committed"] = False
    return True


@_plant_for("write lost by the log")
def _lose_in_log(history: Operations, pick: Pick) -> bool:
    known = _acknowledged(history)
    lying = [
        (event, message)
        for event in history
        if event["f"] == "log"
        for message in event["messages"]
        if message[1] in known
    ]
    if lying:
        log, message = pick(lying)
        log["messages"].remove(message)
    return bool(lying)


@_plant_for("unwritten read")
def _invent(history: Operations, pick: Pick) -> bool:
    given = _messages(history)
    if given:
        pick(given)[1][3] = "nobody wrote this"
    return bool(given)


@_plant_for("aborted read")
def _fail_a_send(history: Operations, pick: Pick) -> bool:
    sends = [event for event in history if event["f"] == "send" and event["type"] == "ok"]
    if sends:
        pick(sends)["type"] = "fail"
    return bool(sends)


@_plant_for("duplicate")
def _deliver_elsewhere(history: Operations, pick: Pick) -> bool:
    given = _messages(history)
    if given:
        pick(given)[1][2] += 1_000
    return bool(given)


@_plant_for("inconsistent offsets")
def _deliver_another(history: Operations, pick: Pick) -> bool:
    given = [message for _, message in _messages(history) if len(_log(history, message[1])) > 1]
    if given:
        message = pick(given)
        others = [value for value in _log(history, message[1]) if value != message[3]]
        message[3] = pick(others)
    return bool(given)


# --- the order of polls ---------------------------------------------------------------------------


@_plant_for("internal poll skip")
def _skip_within(history: Operations, pick: Pick) -> bool:
    long = [
        (poll, mine[1])
        for _, poll in _polls(history)
        for mine in (_of(poll, 0), _of(poll, 1))
        if len(mine) > 2
    ]
    if long:
        poll, message = pick(long)
        poll["messages"].remove(message)
    return bool(long)


@_plant_for("internal nonmonotonic poll")
def _swap_within(history: Operations, pick: Pick) -> bool:
    long = [
        mine
        for _, poll in _polls(history)
        for mine in (_of(poll, 0), _of(poll, 1))
        if len(mine) > 1
    ]
    if long:
        first, second, *_ = pick(long)
        first[2:], second[2:] = second[2:], first[2:]
    return bool(long)


def _pairs(history: Operations) -> list[tuple[_Claim, Operation, Operation]]:
    """Return consecutive polls of one partition under one claim."""
    return [
        (claim, first, second)
        for claim in _claims(history)
        for polls in [_read_by(history, claim)]
        for (_, first), (_, second) in itertools.pairwise(polls)
    ]


@_plant_for("poll skip")
def _skip_between(history: Operations, pick: Pick) -> bool:
    pairs = [pair for pair in _pairs(history) if len(_of(pair[2], pair[0].partition)) > 1]
    if pairs:
        claim, _, poll = pick(pairs)
        poll["messages"].remove(_of(poll, claim.partition)[0])
    return bool(pairs)


@_plant_for("nonmonotonic poll")
def _go_back(history: Operations, pick: Pick) -> bool:
    pairs = _pairs(history)
    if pairs:
        claim, first, second = pick(pairs)
        second["messages"].insert(0, list(_of(first, claim.partition)[-1]))
    return bool(pairs)


@_plant_for("committed redelivery")
def _read_what_is_committed(history: Operations, pick: Pick) -> bool:
    starts = [
        (claim, polls[0][1], stored)
        for claim in _claims(history)
        for polls in [_read_by(history, claim)]
        for stored in [_stored(history, claim.start, claim.partition)]
        if polls and stored
    ]
    if starts:
        claim, poll, stored = pick(starts)
        value = _log(history, claim.partition)[stored - 1]
        poll["messages"].insert(0, [TOPIC, claim.partition, stored - 1, value])
    return bool(starts)


# --- ownership ------------------------------------------------------------------------------------


@_plant_for("unowned poll")
def _read_without_a_claim(history: Operations, pick: Pick) -> bool:
    first = min(n for n, event in enumerate(history) if event["f"] == "claim")
    logs = [n for n in (0, 1) if _log(history, n)]
    if logs:
        partition = pick(logs)
        message = [TOPIC, partition, 0, _log(history, partition)[0]]
        reader = _poll_of_another_reader("m1", message)
        _write(history, first, history[first]["time"] - 1, *reader)
    return bool(logs)


def _read_after(history: Operations, pick: Pick, how: str, late_ms: int) -> bool:
    """Add a poll after the end of a claim, before the same member's next one."""
    ends = [
        (claim, stored)
        for claim in _claims(history)
        for stored in [_stored(history, claim.end, claim.partition)]
        if claim.how == how
        and stored < len(_log(history, claim.partition))
        and not any(
            other.member == claim.member
            and other.partition == claim.partition
            and other.start > claim.end
            and history[other.start]["time"] <= history[claim.end]["time"] + late_ms
            for other in _claims(history)
        )
    ]
    if ends:
        claim, stored = pick(ends)
        time = history[claim.end]["time"] + late_ms
        message = [TOPIC, claim.partition, stored, _log(history, claim.partition)[stored]]
        at = next((n for n, event in enumerate(history) if event["time"] > time), len(history))
        _write(history, at, time, *_poll_of_another_reader(claim.member, message))
    return bool(ends)


@_plant_for("poll after release")
def _read_what_was_released(history: Operations, pick: Pick) -> bool:
    return _read_after(history, pick, "released", 1)


@_plant_for("late poll")
def _read_long_after_the_session(history: Operations, pick: Pick) -> bool:
    return _read_after(history, pick, "session", LATE_MS + 1)


# --- commits --------------------------------------------------------------------------------------


@_plant_for("premature commit")
def _commit_ahead(history: Operations, pick: Pick) -> bool:
    early = [
        place
        for n, commit in _commits(history)
        for place in commit["offsets"]
        if place[2] < len(_log(history, place[1]))
        and not any(
            message[1:3] == place[1:]
            for at, poll in _polls(history)
            if at < n and poll["member"] == commit["member"]
            for message in poll["messages"]
        )
    ]
    if early:
        pick(early)[2] += 1
    return bool(early)


@_plant_for("commit in hand")
def _commit_what_is_in_hand(history: Operations, pick: Pick) -> bool:
    pending = [
        (n, claim.member, message)
        for claim in _claims(history)
        for n, poll in _read_by(history, claim)
        for message in _of(poll, claim.partition)[-1:]
        if sum(m == message and p["member"] == claim.member for p, m in _messages(history)) == 1
        and _stored(history, n, claim.partition) <= message[2]
    ]
    if pending:
        at, member, (topic, partition, offset, _) = pick(pending)
        offsets = [[topic, partition, offset + 1]]
        _add_commit(history, at + 1, history[at]["time"] + 1, member, offsets)
    return bool(pending)


@_plant_for("commit moved back")
def _commit_back(history: Operations, pick: Pick) -> bool:
    commits = _commits(history)
    if commits:
        at, commit = pick(commits)
        offsets = [[topic, number, offset - 1] for topic, number, offset in commit["offsets"]]
        _add_commit(history, at + 1, commit["time"] + 1, commit["member"], offsets)
    return bool(commits)


def _add_commit(
    history: Operations, at: int, time: int, member: str, offsets: list[list[Any]]
) -> None:
    commit = {"process": "zookeeper", "type": "ok", "f": "commit"}
    _write(history, at, time, {**commit, "member": member, "offsets": offsets})


@_plant_for("unfinished hand-over")
def _hand_over_uncommitted(history: Operations, pick: Pick) -> bool:
    claims = [
        claim
        for claim in _claims(history)
        if claim.how == "released" and len(_read_by(history, claim)) > 1
    ]
    if claims:
        claim = pick(claims)
        history[claim.start : claim.end] = [
            event
            for event in history[claim.start : claim.end]
            if event["f"] != "commit" or event["offsets"][0][1] != claim.partition
        ]
    return bool(claims)


@_plant_for("uncommitted end")
def _leave_the_end_uncommitted(history: Operations, pick: Pick) -> bool:
    last = {event["offsets"][0][1]: n for n, event in _commits(history)}
    if last:
        del history[pick(list(last.values()))]
    return bool(last)
