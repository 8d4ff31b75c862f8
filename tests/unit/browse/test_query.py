"""Which offsets are scanned for a look."""

from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.browse.query import SCANNED, MessageQuery, ranges_of
from zkconsumer.model import TopicPartition

TP = TopicPartition("t", 0)


@given(
    st.integers(0, 100_000),
    st.integers(0, 100_000),
    st.sampled_from(["last", "offset", "time"]),
    st.integers(0, 2**63 - 1),
    st.integers(1, 200),
    st.booleans(),
)
def test_ranges_lie_within_the_log(
    first: int, count: int, start: str, at: int, limit: int, filtered: bool
) -> None:
    """Never more than is there, nor more of the last ones than is looked at."""
    query = MessageQuery(
        topic="t",
        start=start,  # type: ignore[arg-type]
        at=at,
        limit=limit,
        passes=(lambda _: True) if filtered else None,
    )
    end = first + count
    for found in ranges_of(query, {TP: (first, end)}, {TP: at}):
        assert first <= found.from_offset < found.until_offset == end
        if start == "last":
            assert found.count <= SCANNED
        else:
            assert found.from_offset == max(first, at)


def test_what_is_logged_names_no_filter() -> None:
    """Who looks for a secret must not write it down."""
    query = MessageQuery(topic="t", partition=3, start="offset", at=7, passes=lambda _: True)
    assert str(query) == "t-3: from offset 7, at most 50, filtered"
    assert ranges_of(MessageQuery(topic="t", start="time"), {TP: (0, 5)}, {TP: -1}) == []
