"""Which part of a requested range is readable and which is lost, for logs in every state."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from zkconsumer.model import OffsetRange, TopicPartition
from zkconsumer.spark.data_loss import LogBounds, OffsetsLost, readable

T0 = TopicPartition("t", 0)
offsets = some.integers(0, 12)


def reported(
    start: int | None, end: int | None, log: tuple[int, int] | None
) -> tuple[list[str], list[str]]:
    """Return the ranges and losses of one partition, as text."""
    bounds = LogBounds({T0: log[0]}, {T0: log[1]}) if log else LogBounds({}, {})
    starts, ends = {} if start is None else {T0: start}, {} if end is None else {T0: end}
    ranges, losses = readable(starts, ends, bounds)
    return list(map(str, ranges)), list(map(str, losses))


@pytest.mark.parametrize(
    ("start", "end", "log", "ranges", "losses"),
    [
        (5, 9, (0, 9), ["t-0 [5, 9)"], []),
        (5, 5, (0, 9), [], []),
        (None, 9, (0, 9), ["t-0 [0, 9)"], []),
        (5, 9, (7, 9), ["t-0 [7, 9)"], ["t-0 [5, 7) is lost: the log begins at 7"]),
        (5, 9, (20, 30), [], ["t-0 [5, 9) is lost: the log begins at 20"]),
        (None, 9, (7, 9), ["t-0 [7, 9)"], ["t-0 [0, 7) is lost: the log begins at 7"]),
        (5, 9, (0, 8), ["t-0 [5, 8)"], ["t-0 [8, 9) is lost: the log ends at 8"]),
        (5, 9, None, [], ["t-0 [5, 9) is lost: the partition no longer exists"]),
        (
            5,
            None,
            None,
            [],
            [
                "t-0 from offset 5 on is lost: the partition no longer exists, or the options no "
                "longer name it"
            ],
        ),
        (
            50,
            9,
            (0, 9),
            ["t-0 [0, 9)"],
            [
                "t-0 [9, 50) is lost: the log ends at 9, although it was read up to 50: the topic "
                "was deleted and recreated, or its log truncated"
            ],
        ),
    ],
)
def test_each_loss_is_reported_to_the_offset(
    start: int | None,
    end: int | None,
    log: tuple[int, int] | None,
    ranges: list[str],
    losses: list[str],
) -> None:
    """Each loss is reported with its exact offsets, and the rest is read."""
    assert reported(start, end, log) == (ranges, losses)


@given(start=offsets, end=offsets, first=offsets, size=offsets)
def test_each_offset_is_read_or_reported_as_lost(
    start: int, end: int, first: int, size: int
) -> None:
    """Each requested offset is read, if the log has it, or reported as lost; never both."""
    log = range(first, first + size)
    ranges, losses = readable({T0: start}, {T0: end}, LogBounds({T0: first}, {T0: log.stop}))
    read = [at for range_ in ranges for at in offsets_of(range_)]
    lost = [at for loss in losses for at in offsets_of(loss.lost)]
    assert set(read) <= set(log)
    assert not set(read) & set(lost)
    if start <= end:
        assert sorted(read + lost) == list(range(start, end))
    else:
        assert read == [at for at in log if at < end]


def offsets_of(offset_range: OffsetRange) -> range:
    """Return all offsets of a range."""
    return range(offset_range.from_offset, offset_range.until_offset)


def test_the_error_names_the_option_that_helps() -> None:
    """The error names a few of very many losses, and the option that lets the query go on."""
    starts = {TopicPartition("t", number): 5 for number in range(30)}
    ends = dict.fromkeys(starts, 9)
    _, losses = readable(starts, ends, LogBounds(dict.fromkeys(starts, 9), ends))
    text = str(OffsetsLost(losses))
    assert text.startswith("failOnDataLoss: t-0 [5, 9) is lost: the log begins at 9; ")
    assert "and 20 more" in text
    assert "failOnDataLoss=false" in text
