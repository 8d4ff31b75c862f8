"""Long tables: filtered, sorted and paginated on the server, so that each page stays small."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Final, Generic, TypeVar

from zkconsumer.digits import is_decimal
from zkconsumer.web.pages.view import PageRequest

R = TypeVar("R")

PAGE_ROWS: Final = 50


@dataclass(frozen=True, slots=True)
class SortableColumn(Generic[R]):
    """A column by which a table can be sorted.

    Attributes:
        name: its name in the URL.
        label: the text of its head.
        of: returns a row's sort key; None (unknown) always comes last.
        numeric: whether it is aligned to the right, and sorted descending at first.
        worst_last: whether it is sorted descending at first, though it is not a number.
        about: its explanation, for a tooltip.
    """

    name: str
    label: str
    of: Callable[[R], int | str | None]
    _: KW_ONLY
    numeric: bool = False
    worst_last: bool = False
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The head of a column.

    Attributes:
        label: its text.
        numeric: as in ``SortableColumn``.
        about: as in ``SortableColumn``.
        address: the URL of the table sorted by this column, reversed if it already is.
        sorted: ``ascending`` or ``descending`` as in ``aria-sort``; "" if sorted by another.
    """

    label: str
    numeric: bool
    about: str
    address: str
    sorted: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Paging:
    """The page of rows that is shown, and the URLs of its neighbours.

    Attributes:
        found: the number of rows on all pages.
        of: the number of rows without a filter.
        page: its number, from 1.
        pages: the number of pages, at least 1.
        before: the URL of the previous page; None on the first.
        after: the URL of the next page; None on the last.
    """

    found: int
    of: int
    page: int
    pages: int
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Generic[R]):
    """One page of a table: its rows, and a head for each column.

    Attributes:
        heads: one for each column.
        rows: of this page.
        paging: which page it is.
    """

    heads: tuple[Head, ...]
    rows: tuple[R, ...]
    paging: Paging


def table_of(
    rows: Sequence[R],
    columns: Sequence[SortableColumn[R]],
    page_request: PageRequest,
    *,
    total: int | None = None,
    page_rows: int = PAGE_ROWS,
) -> Table[R]:
    """Return the page of a table that ``sort`` and ``page`` select.

    Invalid parameters are ignored.

    Args:
        rows: all that match, in the default order.
        columns: those by which it can be sorted.
        page_request: with ``sort`` (a column's name, ``-`` before it: descending) and ``page``.
        total: the number of rows without a filter; None: all match.
        page_rows: the number of rows per page.
    """
    by = {column.name: column for column in columns}
    request = page_request.query.get("sort", "")
    column, descending = by.get(request.removeprefix("-")), request.startswith("-")
    found = list(rows) if column is None else _sorted(rows, column.of, descending=descending)
    shown, paging = page_of(found, page_request, page_rows, total=total)
    return Table(
        heads=tuple(_head(column, page_request, request) for column in columns),
        rows=tuple(shown),
        paging=paging,
    )


def page_of(
    rows: Sequence[R], page_request: PageRequest, size: int, *, total: int | None = None
) -> tuple[Sequence[R], Paging]:
    """Return the rows of the page that ``page`` selects, and their paging."""
    pages = max(1, -(-len(rows) // size))
    page = min(max(1, number_in(page_request.query, "page", 1)), pages)
    return rows[(page - 1) * size : page * size], Paging(
        found=len(rows),
        of=len(rows) if total is None else total,
        page=page,
        pages=pages,
        before=page_request.at(page=page - 1 if page > 2 else None) if page > 1 else None,
        after=page_request.at(page=page + 1) if page < pages else None,
    )


def number_in(query: Mapping[str, str], name: str, default: int) -> int:
    """Return a number from the query; the default if it is missing or malformed."""
    text = query.get(name, "")
    return int(text) if is_decimal(text, 9) else default


def matching(rows: Iterable[R], name_of: Callable[[R], str], wanted: str) -> list[R]:
    """Return the rows whose name contains all wanted words, ignoring case."""
    words = wanted.lower().split()
    return [row for row in rows if all(word in name_of(row).lower() for word in words)]


def _sorted(rows: Iterable[R], of: Callable[[R], int | str | None], *, descending: bool) -> list[R]:
    known: list[tuple[int | str, R]] = []
    unknown: list[R] = []
    for row in rows:
        value = of(row)
        if value is None:
            unknown.append(row)
        else:
            known.append((value.lower() if isinstance(value, str) else value, row))
    known.sort(key=lambda pair: pair[0], reverse=descending)
    return [row for _, row in known] + unknown


def _head(column: SortableColumn[R], page_request: PageRequest, request: str) -> Head:
    ascending, descending = request == column.name, request == f"-{column.name}"
    other_way = descending if column.numeric or column.worst_last else not ascending
    return Head(
        label=column.label,
        numeric=column.numeric,
        about=column.about,
        address=page_request.at(sort=column.name if other_way else f"-{column.name}", page=None),
        sorted="ascending" if ascending else "descending" if descending else "",
    )
