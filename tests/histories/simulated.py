"""Healthy histories: a small group on a log, whose members keep all promises."""

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.histories.rules import PROMISES

TOPIC = "t"
PARTITIONS = 2
STEP_MS = 10
LATE_MS = 500
_OFTEN = ("send", "ask", "give", "commit")
ACTIONS = (*_OFTEN, *_OFTEN, *_OFTEN, "move", "move", "kill", "expire", "hear")
_MOST_MEMBERS = 3
_MOST_AT_ONCE = 4

Operations = list[dict[str, Any]]


@dataclass(slots=True)
class _Member:
    """A live member: its partitions, its positions, and the offsets it has processed."""

    name: str
    owned: set[int] = field(default_factory=set)
    lost_ms: dict[int, int] = field(default_factory=dict)
    position: dict[int, int] = field(default_factory=dict)
    finished: dict[int, int] = field(default_factory=dict)
    polling: bool = False


class Group:
    """A group that performs random actions, and records them."""

    def __init__(self) -> None:
        self.operations: Operations = []
        self._now_ms = 1_000_000
        self._logs: list[list[str]] = [[] for _ in range(PARTITIONS)]
        self._stored = dict.fromkeys(range(PARTITIONS), 0)
        self._members: list[_Member] = []
        self._births = 0
        self._values = 0
        for number in range(PARTITIONS):
            self._notify("zookeeper", "ok", "commit", offsets=[[TOPIC, number, 0]])
        for _ in range(_MOST_MEMBERS):
            self._enter()
        for number in range(PARTITIONS):
            self._claim(self._members[number % len(self._members)], number)

    # --- actions ----------------------------------------------------------------------------------

    def act(self, action: str, chance: random.Random) -> None:
        """Perform an action, if it is possible now."""
        member = chance.choice(self._members)
        if action == "send":
            self._send(chance)
        elif action == "ask":
            self._request(member)
        elif action == "give":
            self._give(member, chance)
        elif action == "commit":
            for number in sorted(member.owned):
                self._commit(member, number)
        elif action == "move":
            self._move(chance)
        elif action == "hear":
            member.lost_ms.clear()
        else:
            self._end_session(member, chance, killed=action == "kill")

    def complete(self) -> None:
        """Deliver and commit everything; then all members leave."""
        for member in self._members:
            member.lost_ms.clear()
        for number, log in enumerate(self._logs):
            owner = next(member for member in self._members if number in member.owned)
            while owner.position[number] < len(log):
                self._request(owner)
                self._deliver(owner, [(number, len(log) - owner.position[number])])
        for member in self._members:
            self._notify(f"{member.name}/0", "invoke", "close", closes=member.polling)
            self._finish(member)
            for number in sorted(member.owned):
                self._release(member, number)
        for number, log in enumerate(self._logs):
            place = {"topic": TOPIC, "partition": number, "start": 0, "end": len(log)}
            messages = [list(entry) for entry in enumerate(log)]
            self._notify("judge", "ok", "log", **place, messages=messages)
        self._notify("judge", "info", "end", drained=True, committed=True)

    def _send(self, chance: random.Random) -> None:
        number = chance.randrange(PARTITIONS)
        values = [f"v{self._values + n}" for n in range(chance.randint(1, _MOST_AT_ONCE))]
        self._values += len(values)
        self._notify("writer", "invoke", "send", topic=TOPIC, partition=number, values=values)
        outcome = chance.choices(("ok", "info", "fail"), (8, 1, 1))[0]
        offset = {"offset": len(self._logs[number])} if outcome == "ok" else {}
        if outcome == "ok" or (outcome == "info" and chance.random() < 0.5):
            self._logs[number] += values
        self._notify("writer", outcome, "send", **offset)

    def _request(self, member: _Member) -> None:
        if not member.polling:
            self._notify(f"{member.name}/0", "invoke", "poll")
            member.polling = True
            self._finish(member)

    def _give(self, member: _Member, chance: random.Random) -> None:
        late = [
            number
            for number, lost_ms in member.lost_ms.items()
            if number not in member.owned and self._now_ms - lost_ms < LATE_MS - 2 * STEP_MS
        ]
        ready = [
            (number, chance.randint(1, _MOST_AT_ONCE))
            for number in sorted([*member.owned, *late])
            if member.position[number] < len(self._logs[number])
        ]
        if member.polling and ready:
            self._deliver(member, ready)

    def _deliver(self, member: _Member, wanted: Iterable[tuple[int, int]]) -> None:
        messages = []
        for number, count in wanted:
            first = member.position[number]
            values = self._logs[number][first : first + count]
            messages += [[TOPIC, number, at, value] for at, value in enumerate(values, first)]
            member.position[number] = first + len(values)
        self._notify(f"{member.name}/0", "ok", "poll", member=member.name, messages=messages)
        member.polling = False

    def _move(self, chance: random.Random) -> None:
        number = chance.randrange(PARTITIONS)
        for member in self._members:
            if number in member.owned:
                self._release(member, number)
        self._claim(chance.choice(self._members), number)

    def _end_session(self, member: _Member, chance: random.Random, *, killed: bool) -> None:
        owned = sorted(member.owned)
        kind = "kill" if killed else "expire"
        self._notify("nemesis", "info", "fault", kind=kind, member=member.name)
        for number in owned:
            self._notify(
                "zookeeper", "info", "release", topic=TOPIC, partition=number, how="session"
            )
            member.lost_ms[number] = self._now_ms
        member.owned.clear()
        if killed:
            self._members.remove(member)
            self._enter()
        others = [other for other in self._members if other is not member]
        for number in owned:
            self._claim(chance.choice(others), number)

    # --- parts of actions -------------------------------------------------------------------------

    def _enter(self) -> None:
        self._births += 1
        name = f"m{self._births}"
        self._members.append(_Member(name))
        self._notify(
            name, "info", "member", member=name, promises=sorted(PROMISES), late_ms=LATE_MS
        )

    def _claim(self, member: _Member, number: int) -> None:
        self._notify(
            "zookeeper", "info", "claim", topic=TOPIC, partition=number, member=member.name
        )
        member.owned.add(number)
        member.lost_ms.pop(number, None)
        member.position[number] = member.finished[number] = self._stored[number]

    def _release(self, member: _Member, number: int) -> None:
        self._commit(member, number)
        self._notify("zookeeper", "info", "release", topic=TOPIC, partition=number, how="released")
        member.owned.discard(number)

    def _commit(self, member: _Member, number: int) -> None:
        offset = member.finished[number]
        if offset > self._stored[number]:
            offsets = [[TOPIC, number, offset]]
            self._notify("zookeeper", "ok", "commit", member=member.name, offsets=offsets)
            self._stored[number] = offset

    def _finish(self, member: _Member) -> None:
        member.finished = {number: member.position[number] for number in member.position}

    def _notify(self, process: str, kind: str, f: str, /, **fields: object) -> None:
        self._now_ms += STEP_MS
        operation = {"process": process, "type": kind, "f": f, "time": self._now_ms, **fields}
        if not operation.pop("closes", False):  # a pending poll has finished its records already
            self.operations.append(operation)


def lived(actions: Iterable[tuple[str, int]]) -> Operations:
    """Return the history of these actions (name and random seed), as far as they are possible."""
    group = Group()
    for action, seed in actions:
        group.act(action, random.Random(seed))
    group.complete()
    return group.operations
