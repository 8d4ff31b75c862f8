"""The list of groups. Pure."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from zkconsumer.status.model import GroupKey, GroupKind, GroupState
from zkconsumer.web.pages.group_rows import GroupRow, found_in, group_row
from zkconsumer.web.pages.table import SortableColumn, matching, table_of
from zkconsumer.web.pages.trend import trend_of
from zkconsumer.web.pages.view import PageRequest, View
from zkconsumer.web.state import ClusterState

_COLUMNS: Final[tuple[SortableColumn[GroupRow], ...]] = (
    SortableColumn(name="name", label="Group", of=lambda row: row.key.group_id),
    SortableColumn(name="kind", label="Kept by", of=lambda row: row.key.kind.value),
    SortableColumn(name="state", label="State", of=lambda row: row.state.value),
    SortableColumn(name="members", label="Members", of=lambda row: row.members, numeric=True),
    SortableColumn(
        name="partitions",
        label="Partitions",
        of=lambda row: row.partitions,
        numeric=True,
        about="That it reads, owns or has offsets of",
    ),
    SortableColumn(
        name="lag",
        label="Lag",
        of=lambda row: row.lag,
        numeric=True,
        about="Records that are written and not yet read",
    ),
    SortableColumn(
        name="behind",
        label="Behind",
        of=lambda row: None if row.time is None else row.time.ms,
        numeric=True,
        about="Age of the next record to read, in the partition where it is oldest",
    ),
    SortableColumn(
        name="burrow",
        label="Burrow",
        of=lambda row: int(row.burrow),
        worst_last=True,
        about="Whether it gets on, by the rules of Burrow",
    ),
)


TREND_POINTS: Final = 60

Trends = Callable[[Sequence[GroupKey]], Mapping[GroupKey, Sequence[int | None]]]
"""Returns the lag of groups in each minute of the last hour."""


def groups_page(
    state: ClusterState, page_request: PageRequest, trends: Trends = lambda _keys: {}
) -> View:
    """Return the list of groups, narrowed by ``q`` (words of the id), ``kind`` and ``state``.

    Abandoned groups come last; ``abandoned=hide`` omits them.

    Groups in trouble lead, unless another order is requested.
    """
    rows = sorted(
        (group_row(state, key) for key in state.snapshot.groups),
        key=lambda row: (
            row.state is GroupState.ABANDONED,
            -row.trouble_rank,
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
            "findings": found_in(state, table.rows),
            "kinds": [
                kind.value
                for kind in GroupKind
                if state.snapshot.brokers_alone is None or kind is GroupKind.COORDINATOR
            ],
            "states": [state.value for state in GroupState],
        },
    )
