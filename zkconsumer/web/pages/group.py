"""The page of a group: owners, lag, rebalances, diagnoses. Pure."""

from collections.abc import Sequence
from typing import Final

from zkconsumer.status.burrow import BurrowStatus
from zkconsumer.status.doctor.diagnosis import Code, Diagnosis, Severity
from zkconsumer.status.doctor.incidents import flatten
from zkconsumer.status.grid import Grid, bare_id
from zkconsumer.status.model import GroupKey, GroupKind
from zkconsumer.status.verify import Verification
from zkconsumer.web.pages.formatting import BURROW_WORDS, SEVERITY_TONES, Tone, counted
from zkconsumer.web.pages.group_grid import group_grid
from zkconsumer.web.pages.group_rows import group_row
from zkconsumer.web.pages.group_timeline import SHOWN, events_of, owner_label, ribbon
from zkconsumer.web.pages.plain import sorry_page
from zkconsumer.web.pages.view import PageRequest, View, group_address
from zkconsumer.web.state import ClusterState, PastRebalance

MEMBERS_SHOWN: Final = 100
_BLAME: Final = {
    Code.MEMBER_IDLE: "idle",
    Code.MEMBER_STALE: "gone",
    Code.COMMITS_PAUSED: BURROW_WORDS[BurrowStatus.STOP],
    Code.READING_STALLED: BURROW_WORDS[BurrowStatus.STALL],
}
"""The words for a member at fault, by the code of the doctor's finding."""


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
    group = state.snapshot.groups.get(key)
    if group is None:
        return sorry_page(404, absent_text(state, key))
    events = events_of(state, key, past, page_request.now_ms)
    shown = events if page_request.query.get("timeline") == "all" else events[:SHOWN]
    verification, grid = state.judgements.verification(key), state.judgements.grid(key)
    outcome, row = state.judgements.outcome(key), group_row(state, key)
    return View(
        template="group.html",
        title=key.group_id,
        group=key,
        context={
            "group": group,
            "row": row,
            "tone": row.verdict.tone,
            "worst_time": state.judgements.lag(key).worst_time,
            "lag_at_ms": group.oldest_ms,
            "watched": _watched(
                outcome.complete, [partition.complete for partition in outcome.partitions]
            ),
            "owned": sum(row.column is not None and row.fault is None for row in grid.rows),
            "checked": verification.checked,
            "findings": state.judgements.findings(key),
            "tones": SEVERITY_TONES,
            "sharing": _sharing(key, verification),
            "grid": group_grid(state, page_request, key),
            "members": grid.columns[:MEMBERS_SHOWN],
            "blamed": _blamed(state.judgements.findings(key), grid),
            "more_members": max(0, len(grid.columns) - MEMBERS_SHOWN),
            "details": group.members_by_id,
            "owner_label": lambda owner: owner_label(key, owner),
            "bare_id": lambda member_id: bare_id(key.group_id, member_id),
            "events": shown,
            "more_events": len(events) - len(shown),
            "ribbon": ribbon(events, page_request.now_ms),
            "marks": ",".join(str(event.began_ms) for event in events),
            "data_address": f"{page_request.root}/api{group_address(key)}/lag",
            "in_zookeeper": key.kind is GroupKind.ZOOKEEPER,
        },
    )


def _blamed(findings: Sequence[Diagnosis], grid: Grid) -> dict[str, tuple[Tone, str, str]]:
    """Return the tone, word and meaning of the doctor's finding for each member that has one."""
    members = {
        row.partition.owner: grid.columns[row.column].owner_id
        for row in grid.rows
        if row.partition.owner is not None and row.column is not None
    }
    found: dict[str, tuple[Tone, str, str]] = {}
    for finding in flatten(list(findings)):
        if finding.severity > Severity.NOTE:
            word = _BLAME.get(finding.code, "in trouble")
            for culprit in finding.culprits:
                about = (SEVERITY_TONES[finding.severity], word, finding.what)
                found.setdefault(members.get(culprit, culprit), about)
    return found


def absent_text(state: ClusterState, key: GroupKey) -> str:
    """Return why a group is not shown: it is absent, or that is unknown."""
    alone = state.snapshot.brokers_alone
    if alone is not None and key.kind is GroupKind.ZOOKEEPER:
        return f"Whether there is a {key} is unknown, since {alone.why}."
    return f"There is no {key} in this cluster, or no longer."


def _watched(complete: float, windows: Sequence[float]) -> str:
    """Return a sentence about the commits that Burrow's status is based on."""
    if not any(windows):
        return "No commit was seen yet, so there is no sign of a problem."
    if complete >= 1:
        return "Based on the last 10 commits of each partition."
    seen = round(10 * max(windows))
    return (
        f"Based on at most the last {counted(seen, 'commit')} of a partition; "
        "a full evaluation takes ten."
    )


def _sharing(key: GroupKey, verification: Verification) -> str:
    """Return a sentence about the assignors whose assignment matches the owners."""
    if key.kind is not GroupKind.ZOOKEEPER or not verification.expectations:
        return ""
    met = verification.strategies
    if len(met) > 1:
        return "Assigned as either assignor would."
    if met:
        return f"Assigned as the {met[0]} assignor would."
    return "Not assigned as either assignor would."
