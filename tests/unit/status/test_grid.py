"""A group as a grid of partitions by owner."""

from dataclasses import replace

import pytest

from tests.support.status import group_of, member
from zkconsumer.model import TopicPartition
from zkconsumer.status.grid import Grid, grid_of, short_labels
from zkconsumer.status.model import (
    CommittedOffset,
    GroupKind,
    GroupPartition,
    GroupStatus,
    MemberStatus,
)
from zkconsumer.status.verify import OwnershipFault, verify

IDS = {"t": (0, 1, 2)}


def _owned(number: int, owner: str | None, lag: int | None = None) -> GroupPartition:
    committed = () if lag is None else (CommittedOffset(5, "zookeeper", 0),)
    log_end = None if lag is None else 5 + lag
    return GroupPartition(
        TopicPartition("t", number), owner, None, None, committed, 0, log_end, None
    )


def _grid(group: GroupStatus) -> Grid:
    return grid_of(group, verify(group, IDS))


def test_each_partition_is_in_its_owners_column() -> None:
    """Each partition is in its owner's column: members come first, idle ones included."""
    members = (member("g_a", {"t": 2}), replace(member("g_b", {"t": 1}), host="h"))
    grid = _grid(
        group_of(_owned(0, "g_a-1", 3), _owned(1, "g_a-0", 4), _owned(2, "zz"), members=members)
    )
    assert [(column.owner_id, column.is_member, column.idle) for column in grid.columns] == [
        ("g_a", True, False),
        ("g_b", True, True),
        ("zz", False, False),
    ]
    assert [
        (column.streams, column.partitions, column.lag, column.host) for column in grid.columns
    ] == [
        (2, 2, 7, None),
        (1, 0, 0, "h"),
        (0, 1, 0, None),
    ]
    assert [(row.column, row.thread, row.lag, row.fault) for row in grid.rows] == [
        (0, 1, 3, None),
        (0, 0, 4, None),
        (2, None, None, OwnershipFault.NO_THREAD_ID),
    ]
    assert grid.rows[0].committed == CommittedOffset(5, "zookeeper", 0)


def test_a_partition_without_an_owner_has_a_row_without_a_column() -> None:
    """A partition without an owner has a row and no column, even if the group has no node of it."""
    grid = _grid(group_of(_owned(0, None, 2), members=(member("g_a", {"t": 1}),)))
    assert [(row.column, row.fault) for row in grid.rows] == [(None, OwnershipFault.UNOWNED)] * 3
    assert grid.rows[0].lag == 2


def test_a_coordinators_members_are_shown_by_their_ids() -> None:
    """Members of a coordinator's group are shown by id, even if it looks like a thread id."""
    members = (MemberStatus(member_id="c-1", streams={"t": 1}, problem="odd"),)
    group = group_of(_owned(0, "c-1"), members=members, kind=GroupKind.COORDINATOR)
    grid = _grid(group)
    assert [column.owner_id for column in grid.columns] == ["c-1"]
    assert grid.columns[0].problem == "odd"
    assert (grid.rows[0].column, grid.rows[0].thread) == (0, None)


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (["g_h1-17-aa", "g_h2-18-bb"], ["h1-17-aa", "h2-18-bb"]),
        (["g_h-17-aa", "g_h-17-bb"], ["aa", "bb"]),
        (["g_h-17-aa"], ["h-17-aa"]),
        (["g_h-abc", "g_h-abd"], ["abc", "abd"]),
        (["g_a", "a"], ["g_a", "a"]),
        (["g_", "g_b"], ["g_", "b"]),
        (["h-", "h-b"], ["h-", "b"]),
        (["h-", "h-h-"], ["h-", "h-h-"]),
        ([], []),
    ],
)
def test_labels_are_short_and_differ(names: list[str], labels: list[str]) -> None:
    """Labels are whole parts of the ids, as short as they still differ."""
    assert list(short_labels("g", names).values()) == labels
