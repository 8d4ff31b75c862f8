"""The list of groups. Pure."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from zkconsumer.status.model import GroupKey, GroupKind, GroupState
from zkconsumer.web.pages.group_rows import GroupRow, group_rows
from zkconsumer.web.pages.table import SortableColumn, matching, table_of
from zkconsumer.web.pages.trend import trend_of
from zkconsumer.web.pages.view import PageRequest, View
from zkconsumer.web.state import ClusterState

_COLUMNS: Final[tuple[SortableColumn[GroupRow], ...]] = (
    SortableColumn("name", "Group", lambda row: row.key.group_id),
    SortableColumn(
        "verdict",
        "Verdict",
        lambda row: row.rank,
        worst_last=True,
        about="Whether it keeps up, by Burrow's rules, and what the doctor has found",
    ),
    SortableColumn(
        "lag",
        "Lag",
        lambda row: row.lag,
        numeric=True,
        about="Records that are written but not yet read",
    ),
    SortableColumn(
        "behind",
        "Behind",
        lambda row: None if row.time is None else row.time.ms,
        numeric=True,
        about="Age of the next record to read, in the partition where it is oldest",
    ),
    SortableColumn(
        "written",
        "Written/s",
        lambda row: None if row.rates.written is None else int(row.rates.written * 1_000),
        numeric=True,
        about="Records per second written to its topics, over five minutes",
    ),
    SortableColumn(
        "read",
        "Read/s",
        lambda row: None if row.rates.read is None else int(row.rates.read * 1_000),
        numeric=True,
        about="Records per second that it commits, over five minutes",
    ),
    SortableColumn(
        "caught-up",
        "Caught up in",
        lambda row: row.caught_up_ms,
        numeric=True,
        about="When it has read everything, at these rates",
    ),
    SortableColumn(
        "commit",
        "Last commit",
        lambda row: row.last_commit_ms,
        numeric=True,
        about="When it last committed, or was seen to",
    ),
    SortableColumn("members", "Members", lambda row: row.members, numeric=True),
    SortableColumn("state", "State", lambda row: row.state.value),
    SortableColumn("kind", "Kept by", lambda row: row.key.kind.value),
)


TREND_POINTS: Final = 60

Trends = Callable[[Sequence[GroupKey]], Mapping[GroupKey, Sequence[int | None]]]
"""Returns the lag of groups in each minute of the last hour."""


def groups_page(
    state: ClusterState, page_request: PageRequest, trends: Trends = lambda _keys: {}
) -> View:
    """Return the list of groups, narrowed by ``q`` (words of the id), ``kind`` and ``state``.

    Unless another order is requested, groups in trouble come first, those with the largest lag
    before others, and abandoned groups last; ``abandoned=hide`` omits the latter.
    """
    rows = sorted(
        group_rows(state, state.snapshot.groups),
        key=lambda row: (
            row.state is GroupState.ABANDONED,
            -row.rank,
            -(row.lag or 0) if row.rank else 0,
            row.key.group_id.lower(),
            row.key,
        ),
    )
    kind, wanted = page_request.query.get("kind", ""), page_request.query.get("state", "")
    hidden = {GroupState.ABANDONED} if page_request.query.get("abandoned") == "hide" else set()
    found = [
        row
        for row in matching(rows, lambda row: row.key.group_id, page_request.query.get("q", ""))
        if kind in {"", row.key.kind.value}
        and wanted in {"", row.state.value}
        and row.state not in hidden
    ]
    table = table_of(found, _COLUMNS, page_request, total=len(rows))
    past = trends([row.key for row in table.rows])
    return View(
        template="groups.html",
        title="Groups",
        context={
            "table": table,
            "trends": {key: trend_of(lags) for key, lags in past.items()},
            "kinds": [
                kind.value
                for kind in GroupKind
                if state.snapshot.brokers_alone is None or kind is GroupKind.COORDINATOR
            ],
            "states": [state.value for state in GroupState],
        },
    )
