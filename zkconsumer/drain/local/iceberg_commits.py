"""Which batches of a drain an Iceberg table's snapshots have. Pure.

The summary of a commit says which drain and batch it is and which offsets it has; a property of the
table, set by the same commit, which batch was the last: snapshots expire, properties stay.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot, ancestors_of

from zkconsumer.drain.fields import JsonValue
from zkconsumer.drain.proving.table_commits import Offsets, TableCommit, offsets_of
from zkconsumer.model import OffsetRange

DRAIN, BATCH, OFFSETS = "zkconsumer.drain", "zkconsumer.batch", "zkconsumer.offsets"


def summary_of(drain: str, number: int, ranges: Iterable[OffsetRange]) -> dict[str, str]:
    """Return what the summary of a batch's commit says of it."""
    return {DRAIN: drain, BATCH: str(number), OFFSETS: json.dumps(_offsets(ranges))}


def _offsets(ranges: Iterable[OffsetRange]) -> dict[str, JsonValue]:
    """Format offsets: ``{"weblog": {"0": [100, 200]}}``."""
    found: dict[str, Any] = {}
    for topic, partition, begin, end in sorted(offsets_of(ranges)):
        found.setdefault(topic, {})[str(partition)] = [begin, end]
    return found


def snapshots_of(metadata: TableMetadata) -> list[Snapshot]:
    """Return a table's current snapshot and its ancestors, the newest first."""
    return list(ancestors_of(metadata.current_snapshot(), metadata))


def last_batch(metadata: TableMetadata, drain: str) -> int:
    """Return the number of a drain's newest visible batch; 0 if there is none.

    It is the newest that leads to the current snapshot: a table that was rolled back has others.
    If the snapshots of all its batches have expired, a property of the table has it.
    """
    snapshots = snapshots_of(metadata)
    there = [commit.number for commit in commits_of(snapshots, drain)]
    if there or is_whole(snapshots):
        return max(there, default=0)
    said = metadata.properties.get(BATCH, "")
    return int(said) if said.isdigit() else 0


def is_whole(snapshots: Sequence[Snapshot]) -> bool:
    """Return whether no ancestor of the current snapshot has expired.

    Not by their parents: what expires one may take its name from its child.
    """
    return not snapshots or snapshots[-1].sequence_number == 1


def _property(snapshot: Snapshot, name: str) -> str | None:
    summary = snapshot.summary
    return None if summary is None else summary.additional_properties.get(name)


def commits_of(snapshots: Iterable[Snapshot], drain: str) -> Iterator[TableCommit]:
    """Yield a drain's commits among some snapshots."""
    for snapshot in snapshots:
        number = _property(snapshot, BATCH)
        if _property(snapshot, DRAIN) == drain and number is not None and number.isdigit():
            yield TableCommit(int(number), _parsed(_property(snapshot, OFFSETS) or "{}"))


def _parsed(text: str) -> Offsets:
    """Parse what ``_offsets`` wrote; empty if it is anything else."""
    try:
        return frozenset(
            (topic, int(partition), int(begin), int(end))
            for topic, partitions in json.loads(text).items()
            for partition, (begin, end) in partitions.items()
        )
    except (ValueError, TypeError, AttributeError):
        return frozenset()
