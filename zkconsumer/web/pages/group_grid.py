"""A group's grid on its page: some of the rows, and the columns that they need. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from zkconsumer.status.burrow import BurrowStatus
from zkconsumer.status.grid import OwnerColumn, PartitionRow
from zkconsumer.status.lag import PartitionLag
from zkconsumer.status.model import GroupKey, GroupPartition
from zkconsumer.web.pages.formatting import BURROW_TONES, BURROW_WORDS, Tone, burrow_about, time_lag
from zkconsumer.web.pages.group_timeline import member_label
from zkconsumer.web.pages.table import Paging, page_of
from zkconsumer.web.pages.view import PageRequest
from zkconsumer.web.state import ClusterState

ROWS: Final = 100
NAMED: Final = 10
"""Up to this many columns are shown with names; if there are more, only with numbers."""
COLUMNS: Final = 40
"""Beyond this many columns, those without any partition on the page are omitted."""
HUES: Final = 8
"""The number of colours for members."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GridColumn:
    """The column of an owner.

    Attributes:
        number: its index among all, from 1.
        hue: its colour; may repeat.
        label: its short name.
        column: the column in the grid.
    """

    number: int
    hue: int
    label: str
    column: OwnerColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class GridRow:
    """The row of a partition.

    Attributes:
        row: the row in the grid.
        owner: its owner's column; None if unowned.
        end: the log end.
        log_at_ms: when the log end was read.
        lag: its lag in records; None if unknown.
        bar: its lag as a percentage of the largest one on the page.
        behind: its lag in time, in words.
        word: Burrow's status in plain words; "" if it is OK.
        about: the meaning of that status.
        tone: the tone of Burrow's status.
        oldest_ms: the oldest read time of its numbers; None if there is none.
    """

    row: PartitionRow
    owner: GridColumn | None
    end: int | None
    log_at_ms: int | None
    lag: int | None
    bar: int
    behind: str
    word: str
    about: str
    tone: Tone
    oldest_ms: int | None

    @property
    def partition(self) -> int:
        """The partition's number."""
        return self.row.topic_partition.partition

    @property
    def trouble(self) -> str:
        """The problem of its owner, nodes or offset; "" if there is none."""
        message = [self.row.fault, self.row.problem]
        return "; ".join(str(part) for part in message if part is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupGrid:
    """The visible part of the grid.

    Attributes:
        columns: the visible ones.
        hidden_columns: the number of hidden ones.
        named: whether there is space for names in the column heads.
        topics: the rows by topic.
        all_topics: the topics of the whole grid.
        paging: which page of the rows it is.
    """

    columns: tuple[GridColumn, ...]
    hidden_columns: int
    named: bool
    topics: tuple[tuple[str, tuple[GridRow, ...]], ...]
    all_topics: tuple[str, ...]
    paging: Paging


def columns_of(key: GroupKey, columns: Sequence[OwnerColumn]) -> tuple[GridColumn, ...]:
    """Return columns with numbers, colours and names; ambiguous names are not shortened."""
    labels = [member_label(key, column.owner_id) for column in columns]
    if len(set(labels)) < len(labels):
        labels = [column.label for column in columns]
    return tuple(
        GridColumn(number=place + 1, hue=place % HUES, label=labels[place], column=column)
        for place, column in enumerate(columns)
    )


def group_grid(state: ClusterState, page_request: PageRequest, key: GroupKey) -> GroupGrid:
    """Return the part of the grid that ``topic``, ``show`` (behind, faults) and ``page`` select."""
    grid = state.judgements.grid(key)
    all_columns = columns_of(key, grid.columns)
    found = [row for row in grid.rows if _wanted(row, page_request)]
    shown, paging = page_of(found, page_request, ROWS, total=len(grid.rows))
    columns = all_columns
    if len(columns) > COLUMNS:
        used = {row.column for row in shown}
        columns = tuple(column for column in columns if column.number - 1 in used)
    rows = _rows(state, key, shown, all_columns)
    return GroupGrid(
        columns=columns,
        hidden_columns=len(all_columns) - len(columns),
        named=len(columns) <= NAMED,
        topics=tuple(
            (topic, tuple(some))
            for topic, some in groupby(rows, key=lambda row: row.row.topic_partition.topic)
        ),
        all_topics=tuple(dict.fromkeys(row.topic_partition.topic for row in grid.rows)),
        paging=paging,
    )


def _wanted(row: PartitionRow, page_request: PageRequest) -> bool:
    if page_request.query.get("topic", "") not in {"", row.topic_partition.topic}:
        return False
    match page_request.query.get("show"):
        case "behind":
            return bool(row.lag)
        case "faults":
            return row.fault is not None or row.problem is not None
        case _:
            return True


def _rows(
    state: ClusterState, key: GroupKey, rows: Sequence[PartitionRow], columns: Sequence[GridColumn]
) -> list[GridRow]:
    wanted = {row.topic_partition for row in rows}
    group = state.snapshot.groups[key]
    partitions = {
        partition.topic_partition: partition
        for partition in group.partitions
        if partition.topic_partition in wanted
    }
    lags = {
        lag.topic_partition: lag
        for lag in state.judgements.lag(key).partitions
        if lag.topic_partition in wanted
    }
    verdicts = {
        partition.topic_partition: partition.status
        for partition in state.judgements.outcome(key).partitions
        if partition.topic_partition in wanted
    }
    largest = max((lag.records or 0 for lag in lags.values()), default=0)

    def made(row: PartitionRow) -> GridRow:
        tp = row.topic_partition
        partition = partitions.get(tp) or GroupPartition(tp)
        lag = lags.get(tp) or PartitionLag(tp, None, None)
        status = verdicts.get(tp)
        tone = Tone.CALM if status is None else BURROW_TONES[status]
        return GridRow(
            row=row,
            owner=None if row.column is None else columns[row.column],
            end=partition.log_end,
            log_at_ms=partition.log_at_ms,
            lag=lag.records,
            bar=_bar(lag.records, largest),
            behind=time_lag(lag.time),
            word="" if status is None or status is BurrowStatus.OK else BURROW_WORDS[status],
            about="" if status is None else burrow_about(status),
            tone=tone,
            oldest_ms=_oldest_ms(partition, row),
        )

    return [made(row) for row in rows]


def _bar(lag: int | None, largest: int) -> int:
    """Return the bar's length in percent: visible unless the lag is 0 or unknown."""
    return 0 if not lag or not largest else max(2, 100 * lag // largest)


def _oldest_ms(partition: GroupPartition, row: PartitionRow) -> int | None:
    seen = [partition.log_at_ms, None if row.committed is None else row.committed.seen_ms]
    return min((owner for owner in seen if owner is not None), default=None)
