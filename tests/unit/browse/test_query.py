"""Which offsets a message query scans."""

from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.browse.query import (
    SCANNED,
    UNKNOWN,
    MessageQuery,
    positions_after,
    ranges_of,
    skipped_offsets,
)
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
    """A range never exceeds the log, nor, for the last messages, the scan limit."""
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


def test_a_logged_query_does_not_show_its_filter() -> None:
    """A user who searches for a secret must not find it in the log."""
    query = MessageQuery(topic="t", partition=3, start="offset", at=7, passes=lambda _: True)
    assert str(query) == "t-3: from offset 7, at most 50, filtered"
    assert ranges_of(MessageQuery(topic="t", start="time"), {TP: (0, 5)}, {TP: -1}) == []


OTHER = TopicPartition("t", 1)
ADDED = TopicPartition("t", 2)


def test_a_following_query_continues_where_the_last_one_ended() -> None:
    """Each offset is read once, unread partitions come first, and a new partition is read whole."""
    first = MessageQuery(topic="t")
    positions = positions_after(first, [TP, OTHER], {TP: (0, 10)}, {})
    assert positions == {TP: 10, OTHER: UNKNOWN}
    query = MessageQuery(topic="t", start="positions", positions=positions)
    logs = {TP: (0, 15), OTHER: (0, 7), ADDED: (0, 3)}
    ranges = [(found.topic_partition, found.from_offset) for found in ranges_of(query, logs, {})]
    assert ranges == [(ADDED, 0), (TP, 10)], "an unknown position starts at the end of the log"
    positions = positions_after(query, [], logs, {TP: 12})
    assert list(positions.items()) == [(OTHER, 7), (TP, 12)]
    assert str(query) == "t: new ones, at most 50"


def test_a_following_query_reports_offsets_that_it_missed() -> None:
    """A leader that lags behind is waited for; deleted offsets are reported as deleted."""
    query = MessageQuery(topic="t", start="positions", positions={TP: 5, OTHER: UNKNOWN})
    assert list(skipped_offsets(query, {TP: (0, 5), OTHER: (3, 4), ADDED: (8, 9)})) == []
    (lagging,) = skipped_offsets(query, {TP: (0, 4)})
    assert "ends before offset 5" in lagging
    assert list(ranges_of(query, {TP: (0, 4)}, {})) == []
    assert positions_after(query, [], {TP: (0, 4)}, {})[TP] == 5
    (deleted,) = skipped_offsets(query, {TP: (7, 9)})
    assert "offsets 5 to 7 were deleted" in deleted
