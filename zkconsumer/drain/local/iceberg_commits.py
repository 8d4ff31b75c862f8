"""Reads from an Iceberg table's snapshots which batches of a drain they hold. Pure.

The summary of a commit holds drain, batch and offsets; a property of the table, set by the same
commit, holds the number of the last batch, since snapshots expire, but properties stay.
"""

from collections.abc import Iterable, Iterator, Sequence

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot, ancestors_of

from zkconsumer.digits import is_decimal
from zkconsumer.drain.proving.table_commits import BATCH, TableCommit, commit_of


def snapshots_of(metadata: TableMetadata) -> list[Snapshot]:
    """Return a table's current snapshot and its ancestors, the newest first."""
    return list(ancestors_of(metadata.current_snapshot(), metadata))


def last_batch(metadata: TableMetadata, drain: str) -> int:
    """Return the number of a drain's newest visible batch; 0 if there is none.

    Only ancestors of the current snapshot count: a table that was rolled back has others. If the
    snapshots of all batches have expired, a property of the table holds the number.
    """
    snapshots = snapshots_of(metadata)
    there = [commit.number for commit in commits_of(snapshots, drain)]
    if there or is_whole(snapshots):
        return max(there, default=0)
    number = metadata.properties.get(BATCH, "")
    return int(number) if is_decimal(number, 18) else 0


def is_whole(snapshots: Sequence[Snapshot]) -> bool:
    """Return whether no ancestor of the current snapshot has expired.

    Parent ids don't show it: expiring a snapshot may remove its id from its child.
    """
    return not snapshots or snapshots[-1].sequence_number == 1


def commits_of(snapshots: Iterable[Snapshot], drain: str) -> Iterator[TableCommit]:
    """Yield a drain's commits among some snapshots."""
    for snapshot in snapshots:
        summary = snapshot.summary
        commit = None if summary is None else commit_of(summary.additional_properties, drain)
        if commit is not None:
            yield commit
