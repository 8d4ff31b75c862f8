"""The rebalances of a group as the page tells them. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from zkconsumer.model import ConsumerThreadId
from zkconsumer.status.causes import Reason
from zkconsumer.status.model import GroupKey
from zkconsumer.status.timeline import Moved, Rebalance
from zkconsumer.web.pages.words import counted, duration
from zkconsumer.web.state import ClusterState, PastRebalance

SHOWN: Final = 12
MOVES_SHOWN: Final = 40
RIBBON_MS: Final = 3_600_000
_RIBBON_WIDTH: Final = 1000
_LEAST_MARK: Final = 6
_MADE_UP: Final = re.compile(
    r"(.+)[-:](?:[0-9]{13}-[0-9a-f]{0,6}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{10})"
    r"([0-9a-f]{2})"
)
"""Ids as the original makes them (host, time, chance) and as coordinators do (client id, UUID)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerChange:
    """A partition that changed hands, with short names; "" is nobody."""

    topic: str
    partition: int
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A rebalance.

    Attributes:
        began_ms: when it was first seen.
        ended_ms: when the group was seen at rest again; None where that is not known.
        lasted: for how long, in words; "" where that is not known.
        under_way: whether it still lasts.
        reasons: in plain words, with short names.
        changed: what it did, in plain words.
        moves: which partitions changed hands, as far as that is known and is not too many.
        more_moves: how many others.
    """

    began_ms: int
    ended_ms: int | None
    lasted: str
    under_way: bool
    reasons: tuple[str, ...]
    changed: str
    moves: tuple[OwnerChange, ...] = ()
    more_moves: int = 0


@dataclass(frozen=True, slots=True)
class Mark:
    """A rebalance on the ribbon of the last hour: from 0 to 1000."""

    x: int
    width: int


def events_of(
    state: ClusterState, key: GroupKey, past: Sequence[PastRebalance], now_ms: int
) -> list[Event]:
    """Return all rebalances, the latest first.

    Args:
        state: which tells those since the start.
        key: the group.
        past: those that were written down; the ones since the start count by ``state``.
        now_ms: the time.
    """
    recent = state.rebalances(key)
    first_ms = recent[0].began_ms if recent else None
    older = [rebalance for rebalance in past if first_ms is None or rebalance.began_ms < first_ms]
    return [
        *(_event(rebalance, key, now_ms) for rebalance in reversed(recent)),
        *(_past_event(rebalance, key) for rebalance in reversed(older)),
    ]


def ribbon(events: Sequence[Event], now_ms: int) -> list[Mark]:
    """Return the rebalances of the last hour.

    Args:
        events: any.
        now_ms: the time.
    """
    since_ms = now_ms - RIBBON_MS
    marks = []
    for event in events:
        until_ms = event.ended_ms or (now_ms if event.under_way else event.began_ms)
        if until_ms < since_ms:
            continue
        x = max(0, event.began_ms - since_ms) * _RIBBON_WIDTH // RIBBON_MS
        width = (until_ms - max(since_ms, event.began_ms)) * _RIBBON_WIDTH // RIBBON_MS
        marks.append(Mark(min(x, _RIBBON_WIDTH - _LEAST_MARK), max(_LEAST_MARK, width)))
    return marks


def owner_label(key: GroupKey, owner: str | None) -> str:
    """Return a short name of an owner: without the group's id, with the stream's number."""
    if owner is None:
        return ""
    thread = ConsumerThreadId.parse(owner) if key.kind == "zookeeper" else None
    if thread is None:
        return member_label(key, owner)
    return f"{member_label(key, thread.consumer_id)}, stream {thread.thread}"


def bare_id(key: GroupKey, member_id: str) -> str:
    """Return the id of a member without the group's id, which all have in front."""
    return member_id.removeprefix(f"{key.group_id}_") or member_id


def member_label(key: GroupKey, member_id: str) -> str:
    """A short name of a member, by which people know it: its host, and a bit to tell two apart."""
    bare = bare_id(key, member_id)
    found = _MADE_UP.fullmatch(bare)
    return bare if found is None else f"{found[1]}·{found[2]}"


def _event(rebalance: Rebalance, key: GroupKey, now_ms: int) -> Event:
    moves = tuple(_move(move, key) for move in rebalance.moved[:MOVES_SHOWN])
    return Event(
        began_ms=rebalance.began_ms,
        ended_ms=rebalance.ended_ms,
        lasted=_lasted(rebalance.lasted_ms(now_ms)),
        under_way=rebalance.ended_ms is None,
        reasons=tuple(_reason(reason, key) for reason in rebalance.reasons),
        changed=_changed(len(rebalance.moved), rebalance.reclaimed),
        moves=moves,
        more_moves=len(rebalance.moved) - len(moves),
    )


def _past_event(rebalance: PastRebalance, key: GroupKey) -> Event:
    ended = rebalance.ended_ms
    return Event(
        began_ms=rebalance.began_ms,
        ended_ms=rebalance.ended_ms,
        lasted="" if ended is None else _lasted(ended - rebalance.began_ms),
        under_way=False,
        reasons=tuple(_shortened(reason, key) for reason in rebalance.reasons),
        changed=_changed(rebalance.moved, rebalance.reclaimed),
    )


def _lasted(ms: int) -> str:
    """Nothing where it began and ended between two looks."""
    return duration(ms) if ms > 0 else ""


def _reason(reason: Reason, key: GroupKey) -> str:
    message = reason.cause.value.format(member_label(key, reason.what))
    return (
        message if reason.before is None else f"{message} (was {member_label(key, reason.before)})"
    )


def _shortened(reason: str, key: GroupKey) -> str:
    """Return a reason that was written down with whole ids."""
    return re.sub(r"[^ ()]+", lambda word: member_label(key, word[0]), reason)


def _move(moved: Moved, key: GroupKey) -> OwnerChange:
    return OwnerChange(
        topic=moved.topic_partition.topic,
        partition=moved.topic_partition.partition,
        before=owner_label(key, moved.before),
        after=owner_label(key, moved.after),
    )


def _changed(moved: int, reclaimed: int) -> str:
    message = f"{counted(moved, 'partition')} changed hands" if moved else "nothing changed hands"
    return f"{message}; {reclaimed:,} given up and taken back" if reclaimed else message
