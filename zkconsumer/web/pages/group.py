"""A group: owners, lag, rebalances, diagnoses. Pure."""

from collections.abc import Sequence
from typing import Final

from zkconsumer.status.doctor.diagnosis import Code
from zkconsumer.status.model import GroupKey, GroupKind, GroupStatus
from zkconsumer.status.verify import Verification
from zkconsumer.web.pages.group_grid import columns_of, group_grid
from zkconsumer.web.pages.group_rows import group_row
from zkconsumer.web.pages.group_timeline import SHOWN, bare_id, events_of, ribbon
from zkconsumer.web.pages.plain import sorry_page
from zkconsumer.web.pages.view import PageRequest, View, group_address
from zkconsumer.web.pages.words import SEVERITY_TONES, counted
from zkconsumer.web.state import ClusterState, PastRebalance

MEMBERS_SHOWN: Final = 100


def group_page(
    state: ClusterState,
    page_request: PageRequest,
    key: GroupKey,
    past: Sequence[PastRebalance] = (),
) -> View:
    """Return the page of a group.

    Args:
        state: the cluster.
        page_request: with the grid's filters, and ``timeline=all``.
        key: the group.
        past: its recorded rebalances.
    """
    group = state.group(key)
    if group is None:
        return sorry_page(404, absent_text(state, key))
    events = events_of(state, key, past, page_request.now_ms)
    shown = events if page_request.query.get("timeline") == "all" else events[:SHOWN]
    verification, grid = state.judgements.verification(key), state.judgements.grid(key)
    columns = columns_of(key, grid.columns)
    lag, outcome = state.judgements.lag(key), state.judgements.outcome(key)
    return View(
        template="group.html",
        title=key.group_id,
        group=key,
        context={
            "group": group,
            "row": group_row(state, key),
            "worst_time": lag.worst_time,
            "lag_at_ms": _lag_at_ms(group),
            "verdict": outcome,
            "watched": _watched(
                outcome.complete, [partition.complete for partition in outcome.partitions]
            ),
            "owned": sum(row.column is not None and row.fault is None for row in grid.rows),
            "checked": verification.checked,
            "findings": state.judgements.findings(key),
            "tones": SEVERITY_TONES,
            "sharing": _sharing(key, verification),
            "grid": group_grid(state, page_request, key),
            "members": columns[:MEMBERS_SHOWN],
            "gone": {
                member
                for diagnosis in state.judgements.findings(key)
                if diagnosis.code is Code.MEMBER_STALE
                for member in diagnosis.culprits
            },
            "more_members": max(0, len(columns) - MEMBERS_SHOWN),
            "details": group.members_by_id,
            "bare_id": lambda member_id: bare_id(key, member_id),
            "events": shown,
            "more_events": len(events) - len(shown),
            "ribbon": ribbon(events, page_request.now_ms),
            "marks": ",".join(str(event.began_ms) for event in events),
            "data_address": f"{page_request.root}/api{group_address(key)}/lag",
            "in_zookeeper": key.kind is GroupKind.ZOOKEEPER,
        },
    )


def absent_text(state: ClusterState, key: GroupKey) -> str:
    """Return why a group is not shown: it is absent, or that is unknown."""
    alone = state.snapshot.brokers_alone
    if alone is not None and key.kind is GroupKind.ZOOKEEPER:
        return f"Whether there is a {key} is unknown, since {alone.why}."
    return f"There is no {key} in this cluster, or no longer."


def _lag_at_ms(group: GroupStatus) -> int:
    """Return the oldest read time of the values that its lag depends on."""
    ends = [
        partition.log_at_ms for partition in group.partitions if partition.log_at_ms is not None
    ]
    commits = [
        it.seen_ms for partition in group.partitions if (it := partition.effective(group.kind))
    ]
    return min([group.seen_ms, *ends, *commits])


def _watched(complete: float, windows: Sequence[float]) -> str:
    """Return what Burrow's status is based on."""
    if not any(windows):
        return "No commit was seen yet, so nothing speaks against it."
    if complete >= 1:
        return f"By the last {10} commits of each partition."
    seen = round(10 * max(windows))
    return f"By the last {counted(seen, 'commit')} of a partition at most; ten are a full look."


def _sharing(key: GroupKey, verification: Verification) -> str:
    """Return the assignors that match the owners."""
    if key.kind is not GroupKind.ZOOKEEPER or not verification.expectations:
        return ""
    met = verification.strategies
    if len(met) > 1:
        return "Shared out as either assignor would."
    if met:
        return f"Shared out as the {met[0]} assignor would."
    return "Not shared out as either assignor would."
