"""What a table's snapshots say, held against the record."""

import re

import pytest

from zkconsumer.drain.proving.table_commits import Offsets, TableCommit, compare_commits


def offsets(begin: int) -> Offsets:
    """Ten of one partition."""
    return frozenset({("weblog", 0, begin, begin + 10)})


LANDED = {number: offsets(10 * number) for number in (1, 2, 3)}
ALL = [TableCommit(number, found) for number, found in LANDED.items()]


@pytest.mark.parametrize(
    ("commits", "is_whole", "complaint"),
    [
        (ALL, True, None),
        (ALL[1:], False, None),
        ([], False, None),
        (ALL[1:], True, "1 batches are in no snapshot that leads to the table's current one: 1"),
        ([], True, "3 batches are in no snapshot that leads to the table's current one: 1, 2, 3"),
        ([ALL[0], ALL[2]], False, "1 batches are in no snapshot .*: 2"),
        ([*ALL, ALL[1]], True, "1 batches are in more than one snapshot of the table: 2"),
        ([*ALL[:2], TableCommit(3, offsets(31))], True, "1 batches have other offsets .*: 3"),
        ([*ALL[:2], TableCommit(3, frozenset())], True, "1 batches have other offsets .*: 3"),
    ],
)
def test_each_batch_is_in_one_snapshot_with_its_offsets(
    commits: list[TableCommit],
    is_whole: bool,
    complaint: str | None,
) -> None:
    """But for those whose snapshots have expired, of which the table says nothing."""
    found = compare_commits(LANDED, commits, is_whole=is_whole)
    if complaint is None:
        assert found == []
    else:
        [text] = found
        assert re.fullmatch(complaint, text), text
