"""The rebalances of a group on its page. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from zkconsumer.status.causes import Reason
from zkconsumer.status.doctor.diagnosis import Code
from zkconsumer.status.doctor.headline import headline_of
from zkconsumer.status.grid import member_label
from zkconsumer.status.model import GroupKey
from zkconsumer.status.timeline import Moved, Rebalance
from zkconsumer.status.verify import owner_of
from zkconsumer.web.pages.formatting import counted, duration
from zkconsumer.web.state import ClusterState, PastRebalance

SHOWN: Final = 12
MOVES_SHOWN: Final = 40
RIBBON_MS: Final = 3_600_000
_RIBBON_WIDTH: Final = 1000
_LEAST_MARK: Final = 6
_DISTURBING_CODES: Final = frozenset(
    {
        Code.MEMBER_STALE,
        Code.MEMBER_UNREADABLE,
        Code.MEMBER_FOREIGN,
        Code.MEMBER_NOT_UNDERSTOOD,
        Code.MEMBER_UNREADABLE_BY_SCALA,
        Code.OWNER_PERSISTENT,
        Code.OWNER_OF_DEAD_SESSION,
        Code.OWNER_OF_OTHER_SESSION,
        Code.OWNER_NO_MEMBER,
        Code.OWNER_NO_THREAD,
        Code.OWNER_MISSING,
        Code.ASSIGNORS_DIFFER,
        Code.SUBSCRIPTIONS_UNEQUAL,
        Code.COORDINATOR_MISSING,
        Code.REBALANCE_ENDLESS,
    }
)
"""The codes of findings that explain a rebalance that does not end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A rebalance.

    Attributes:
        began_ms: when it was first seen.
        ended_ms: when the group was seen at rest again; None if unknown.
        lasted: its duration in words; "" if unknown.
        under_way: whether it is in progress.
        reasons: in plain words, with short names.
        changed: a description of the changes.
        moves: the partitions that changed owners, up to a limit.
        more_moves: the number of further partitions.
    """

    began_ms: int
    ended_ms: int | None
    lasted: str
    under_way: bool
    reasons: tuple[str, ...]
    changed: str
    moves: tuple[Moved, ...] = ()
    more_moves: int = 0


def events_of(
    state: ClusterState, key: GroupKey, past: Sequence[PastRebalance], now_ms: int
) -> list[Event]:
    """Return all rebalances, the latest first.

    Args:
        state: provides the rebalances since the start.
        key: the group.
        past: the recorded ones; those since the start are taken from ``state``.
        now_ms: the current time.
    """
    recent = state.judgements.rebalances(key)
    first_ms = recent[0].began_ms if recent else None
    older = [rebalance for rebalance in past if first_ms is None or rebalance.began_ms < first_ms]
    return [
        *(_event(rebalance, key, now_ms, _cause(state, key)) for rebalance in reversed(recent)),
        *(_past_event(rebalance, key) for rebalance in reversed(older)),
    ]


def ribbon(events: Sequence[Event], now_ms: int) -> list[tuple[int, int]]:
    """Return position and width of the rebalances of the last hour, on a scale from 0 to 1000."""
    since_ms = now_ms - RIBBON_MS
    marks = []
    for event in events:
        until_ms = event.ended_ms or (now_ms if event.under_way else event.began_ms)
        if until_ms < since_ms:
            continue
        x = max(0, event.began_ms - since_ms) * _RIBBON_WIDTH // RIBBON_MS
        width = (until_ms - max(since_ms, event.began_ms)) * _RIBBON_WIDTH // RIBBON_MS
        marks.append((min(x, _RIBBON_WIDTH - _LEAST_MARK), max(_LEAST_MARK, width)))
    return marks


def owner_label(key: GroupKey, owner: str | None) -> str:
    """Return a short name of an owner: without the group's id, with the stream's number."""
    if owner is None:
        return ""
    member_id, thread = owner_of(key.kind, owner)
    label = member_label(key.group_id, member_id)
    return label if thread is None else f"{label}, stream {thread}"


def _cause(state: ClusterState, key: GroupKey) -> str:
    """Return why a rebalance does not end, according to the doctor; "" if unknown."""
    found = state.judgements.findings(key)
    causes = (headline_of(finding).cause for finding in found if finding.code in _DISTURBING_CODES)
    return next(causes, "")


def _event(rebalance: Rebalance, key: GroupKey, now_ms: int, cause: str) -> Event:
    under_way = rebalance.ended_ms is None
    reasons = tuple(_reason(reason, key) for reason in rebalance.reasons)
    moves = rebalance.moved[:MOVES_SHOWN]
    return Event(
        began_ms=rebalance.began_ms,
        ended_ms=rebalance.ended_ms,
        lasted=_lasted(rebalance.lasted_ms(now_ms)),
        under_way=under_way,
        reasons=reasons or ((cause,) if under_way and cause else ()),
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
    """Format a duration; "" if the rebalance began and ended between two snapshots."""
    return duration(ms) if ms > 0 else ""


def _reason(reason: Reason, key: GroupKey) -> str:
    before = None if reason.before is None else member_label(key.group_id, reason.before)
    return str(Reason(reason.cause, member_label(key.group_id, reason.what), before))


def _shortened(reason: str, key: GroupKey) -> str:
    """Return a recorded reason with short ids."""
    return re.sub(r"[^ ()]+", lambda word: member_label(key.group_id, word[0]), reason)


def _changed(moved: int, reclaimed: int) -> str:
    message = f"{counted(moved, 'partition')} changed hands" if moved else "nothing changed hands"
    return f"{message}; {reclaimed:,} given up and taken back" if reclaimed else message
