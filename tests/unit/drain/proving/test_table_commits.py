"""Comparing a table's commits with the recorded batches."""

import re

import pytest

from zkconsumer.drain.proving.table_commits import (
    BATCH,
    OFFSETS,
    Offsets,
    TableCommit,
    commit_of,
    compare_commits,
    summary_of,
)
from zkconsumer.model import OffsetRange, TopicPartition


def offsets(begin: int) -> Offsets:
    """Return ten offsets of one partition."""
    return frozenset({("weblog", 0, begin, begin + 10)})


LANDED = {number: offsets(10 * number) for number in (1, 2, 3)}
ALL = [TableCommit(number, found) for number, found in LANDED.items()]


@pytest.mark.parametrize(
    ("commits", "is_whole", "complaint"),
    [
        (ALL, True, None),
        (ALL[1:], False, None),
        ([], False, None),
        (ALL[1:], True, "1 batches are in no commit of the current table: 1"),
        ([], True, "3 batches are in no commit of the current table: 1, 2, 3"),
        ([ALL[0], ALL[2]], False, "1 batches are in no commit .*: 2"),
        ([*ALL, ALL[1]], True, "1 batches are in more than one commit of the table: 2"),
        ([*ALL[:2], TableCommit(3, offsets(31))], True, "1 batches have other offsets .*: 3"),
        ([*ALL[:2], TableCommit(3, frozenset())], True, "1 batches have other offsets .*: 3"),
    ],
)
def test_each_batch_is_in_one_commit_with_its_offsets(
    commits: list[TableCommit],
    is_whole: bool,
    complaint: str | None,
) -> None:
    """Batches whose snapshots have expired are not checked: the table has no commit for them."""
    found = compare_commits(LANDED, commits, is_whole=is_whole)
    if complaint is None:
        assert found == []
    else:
        [text] = found
        assert re.fullmatch(complaint, text), text


def test_a_commit_summary_names_drain_batch_and_offsets() -> None:
    """It is readable by people and tools; other values belong to no batch."""
    span = OffsetRange(TopicPartition("weblog", 0), 20, 30)
    summary = summary_of("drain-1", 2, [span])
    assert summary == {
        "zkconsumer.drain": "drain-1",
        "zkconsumer.batch": "2",
        "zkconsumer.offsets": '{"weblog": {"0": [20, 30]}}',
    }
    assert commit_of(summary, "drain-1") == TableCommit(2, offsets(20))
    assert commit_of(summary, "drain-2") is None
    for odd in (None, 2, "x", "-1", ["2"]):
        assert commit_of({**summary, BATCH: odd}, "drain-1") is None
    for odd in (None, 2, "x", "[]", '{"weblog": {"0": 7}}', "[" * 9_999):
        assert commit_of({**summary, OFFSETS: odd}, "drain-1") == TableCommit(2, frozenset())
