"""A group's grid on its page: some of the rows, and the columns that they need. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from zkconsumer.status.burrow import BurrowStatus
from zkconsumer.status.grid import OwnerColumn, PartitionRow
from zkconsumer.status.model import GroupKey
from zkconsumer.web.pages.formatting import BURROW_TONES, BURROW_WORDS, Tone, burrow_about, time_lag
from zkconsumer.web.pages.table import Paging, page_of
from zkconsumer.web.pages.view import PageRequest
from zkconsumer.web.state import ClusterState

ROWS: Final = 100
NAMED: Final = 10
"""Up to this many columns are shown with names; if there are more, only with numbers."""
COLUMNS: Final = 40
"""Beyond this many columns, those without any partition on the page are omitted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GridRow:
    """The row of a partition.

    Attributes:
        row: the row in the grid.
        bar: its lag as a percentage of the largest one on the page.
        behind: its lag in time, in words.
        word: Burrow's status in plain words; "" if it is OK.
        about: the meaning of that status.
        tone: the tone of Burrow's status.
    """

    row: PartitionRow
    bar: int
    behind: str
    word: str
    about: str
    tone: Tone

    @property
    def partition(self) -> int:
        """The partition's number."""
        return self.row.topic_partition.partition

    @property
    def trouble(self) -> str:
        """The problem of its owner, nodes or offset; "" if there is none."""
        message = [self.row.fault, self.row.partition.problem]
        return "; ".join(str(part) for part in message if part is not None)

    @property
    def oldest_ms(self) -> int | None:
        """The oldest read time of its numbers; None if there is none."""
        committed = self.row.committed
        seen = [self.row.partition.log_at_ms, None if committed is None else committed.seen_ms]
        return min((at_ms for at_ms in seen if at_ms is not None), default=None)


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

    columns: tuple[OwnerColumn, ...]
    hidden_columns: int
    named: bool
    topics: tuple[tuple[str, tuple[GridRow, ...]], ...]
    all_topics: tuple[str, ...]
    paging: Paging


def group_grid(state: ClusterState, page_request: PageRequest, key: GroupKey) -> GroupGrid:
    """Return the part of the grid that ``topic``, ``show`` (behind, faults) and ``page`` select."""
    grid = state.judgements.grid(key)
    found = [row for row in grid.rows if _wanted(row, page_request)]
    shown, paging = page_of(found, page_request, ROWS, total=len(grid.rows))
    columns = grid.columns
    if len(columns) > COLUMNS:
        used = {row.column for row in shown}
        columns = tuple(column for column in columns if column.number - 1 in used)
    rows = _rows(state, key, shown)
    return GroupGrid(
        columns=columns,
        hidden_columns=len(grid.columns) - len(columns),
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
            return row.fault is not None or row.partition.problem is not None
        case _:
            return True


def _rows(state: ClusterState, key: GroupKey, rows: Sequence[PartitionRow]) -> list[GridRow]:
    wanted = {row.topic_partition for row in rows}
    times = {
        lag.topic_partition: lag.time
        for lag in state.judgements.lag(key).partitions
        if lag.topic_partition in wanted
    }
    verdicts = {
        partition.topic_partition: partition.status
        for partition in state.judgements.outcome(key).partitions
        if partition.topic_partition in wanted
    }
    largest = max((row.lag or 0 for row in rows), default=0)

    def made(row: PartitionRow) -> GridRow:
        status = verdicts.get(row.topic_partition)
        return GridRow(
            row=row,
            bar=_bar(row.lag, largest),
            behind=time_lag(times.get(row.topic_partition)),
            word="" if status is None or status is BurrowStatus.OK else BURROW_WORDS[status],
            about="" if status is None else burrow_about(status),
            tone=Tone.CALM if status is None else BURROW_TONES[status],
        )

    return [made(row) for row in rows]


def _bar(lag: int | None, largest: int) -> int:
    """Return the bar's length in percent: visible unless the lag is 0 or unknown."""
    return 0 if not lag or not largest else max(2, 100 * lag // largest)
