"""Tables that can be sorted, and are split into pages."""

from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.web.pages.table import SortableColumn, matching, number_in, table_of
from zkconsumer.web.pages.view import PageRequest

COLUMNS: Final[tuple[SortableColumn[tuple[str, int | None]], ...]] = (
    SortableColumn("name", "Name", lambda row: row[0]),
    SortableColumn("size", "Size", lambda row: row[1], numeric=True),
)
ROWS: Final[list[tuple[str, int | None]]] = [("b", 3), ("a", None), ("C", 20), ("d", 1)]


def page_request(**query: str) -> PageRequest:
    """Return a request for the table."""
    return PageRequest(path="/things", query=query, now_ms=0)


def names(**query: str) -> str:
    """Return the names in the order in which they are shown."""
    return "".join(row[0] for row in table_of(ROWS, COLUMNS, page_request(**query)).rows)


def test_rows_are_sorted() -> None:
    """Unknown values come last in either direction; an unknown sort key changes nothing."""
    assert names() == names(sort="colour") == names(sort="") == "baCd"
    assert names(sort="name") == "abCd"
    assert names(sort="-name") == "dCba"
    assert names(sort="size") == "dbCa"
    assert names(sort="-size") == "Cbda"


def test_heads_link_to_the_other_order() -> None:
    """A column's head links to the other direction, with the filter and without the page."""
    table = table_of(ROWS, COLUMNS, page_request(q="x", sort="name", page="2"))
    name, size = table.heads
    assert (name.sorted, name.address) == ("ascending", "/things?q=x&sort=-name")
    assert (size.sorted, size.address) == ("", "/things?q=x&sort=-size")
    again = table_of(ROWS, COLUMNS, page_request(sort="-size")).heads
    assert (again[1].sorted, again[1].address) == ("descending", "/things?sort=size")
    assert again[0].address == "/things?sort=name"


@given(st.integers(0, 60), st.integers(1, 9), st.text(max_size=12))
def test_pages_show_every_row_once(rows: int, page_rows: int, nonsense: str) -> None:
    """Links to the next page show each row once, and any page number leads to a page."""
    all_rows: list[tuple[str, int | None]] = [(str(row), row) for row in range(rows)]
    seen: list[tuple[str, int | None]] = []
    address: str | None = "/things"
    while address is not None:
        page = address.partition("page=")[2]
        table = table_of(
            all_rows,
            COLUMNS[:1],
            page_request(**({"page": page} if page else {})),
            page_rows=page_rows,
        )
        assert len(table.rows) <= page_rows
        seen += table.rows
        address = table.paging.after
        assert (table.paging.before is None) == (table.paging.page == 1)
    assert seen == all_rows
    unsupported = table_of(all_rows, COLUMNS[:1], page_request(page=nonsense), page_rows=page_rows)
    assert 1 <= unsupported.paging.page <= unsupported.paging.pages


def test_invalid_numbers_in_addresses_are_ignored() -> None:
    """A page number that is not a number is ignored."""
    for message in ("", "-1", "x", "1e3", "9" * 40, "٣"):
        assert number_in({"page": message}, "page", 7) == 7
    assert number_in({"page": "12"}, "page", 7) == 12


def test_all_words_must_match() -> None:
    """All words must match, in any order and case."""
    found = matching(["Orders-in", "orders", "in"], lambda topic: topic, " IN ord ")
    assert found == ["Orders-in"]
