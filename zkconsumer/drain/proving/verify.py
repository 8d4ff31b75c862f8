"""Proves from the landed rows that every offset exists exactly once, unchanged.

It reads the files that any reader of the landing would see, and trusts the drain's own record only
for the offsets that should exist. Batches that are not published yet are ignored, so a drain may
run meanwhile.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from zkconsumer.drain import layout
from zkconsumer.drain.checksum import Contents
from zkconsumer.drain.engine import DrainEngine, LandedRows
from zkconsumer.drain.identity import DrainIdentity
from zkconsumer.drain.journal import BatchJournal
from zkconsumer.drain.manifest import Manifest
from zkconsumer.drain.plan import BatchPlan
from zkconsumer.drain.proving.against_cluster import check_cluster
from zkconsumer.drain.proving.coverage import Coverage, cover
from zkconsumer.drain.proving.delta_log import read_log
from zkconsumer.drain.proving.landed_rows import (
    LandedFiles,
    compare_files,
    described,
    is_of,
    is_of_table,
    table_files,
    visible_files,
)
from zkconsumer.drain.proving.proof import ClusterCheck, DrainProof, PartitionCoverage
from zkconsumer.drain.proving.record import PartitionRecord, VerificationRecord, read_record
from zkconsumer.drain.proving.table_commits import TableCommit, compare_commits, offsets_of
from zkconsumer.drain.storage import Storage
from zkconsumer.drain.table_name import TableName
from zkconsumer.errors import DrainError
from zkconsumer.model import TopicPartition
from zkconsumer.printable import listed
from zkconsumer.spark.creations import Creations

_MIRROR = "kafka"
_TABLES = ("delta", "iceberg")


class Published(NamedTuple):
    """The batches that a verification covers.

    Attributes:
        last: the last batch that should be landed; 0 for none.
        lost: the numbers of batches up to ``last`` that have no manifest.
        pending: the batch that is landed but not wholly published; None if there is none.
    """

    last: int
    lost: tuple[int, ...]
    pending: int | None


class _Seen(NamedTuple):
    """A drain and the inputs of its verification."""

    engine: DrainEngine
    storage: Storage
    journal: BatchJournal
    identity: DrainIdentity
    published: Published
    target_options: Mapping[str, str]


def prove(
    engine: DrainEngine,
    storage: Storage,
    *,
    cluster: Mapping[str, str] | None = None,
    target_options: Mapping[str, str] | None = None,
) -> DrainProof:
    """Verify a whole drain.

    Args:
        engine: reads the landing, and the cluster if it is given.
        storage: the drain's storage.
        cluster: options of the source, to compare with the cluster; None to skip that.
        target_options: for a mirroring drain, options for reading the target; for a Delta table,
            storage options of ``deltalake``; for an Iceberg table, catalog properties of
            ``pyiceberg``.

    Raises:
        DrainError: there is no drain at this path, or its own files are damaged.
        ZkConsumerError: the storage or the cluster can't be read.
    """
    journal = BatchJournal(storage)
    identity = journal.identity()
    if identity is None:
        raise DrainError(f"there is no drain at {journal.path}: {layout.IDENTITY} is not there")
    published = published_batches(storage)
    seen = _Seen(engine, storage, journal, identity, published, target_options or {})
    record = read_record(_landed(journal, published))
    with engine.converted_errors(f"verifying {journal.path}"):
        rows, dead, problems = _rows(seen, record)
        unplaced = rows.unplaced() if identity.format in _TABLES else 0
        if unplaced:
            problems.append(f"{unplaced} rows have no topic, partition or offset")
        wanted = {tp: entry.wanted for tp, entry in record.partitions.items()}
        checks = {}
        if cluster is not None:
            checks = check_cluster(rows, cluster, wanted, _created(journal, published))
        partitions = _proofs((rows, dead), record, checks)
    if published.lost:
        files = listed(map(layout.manifest_file, published.lost))
        problems.append(f"{len(published.lost)} batches have no manifest: {files}")
    return DrainProof(
        path=journal.path,
        format=identity.format,
        batches=record.batches,
        partitions=partitions,
        file_problems=tuple(problems),
        obstacles=_obstacles(published),
    )


def _obstacles(published: Published) -> tuple[str, ...]:
    if published.pending is None:
        # The first batch is landed even if it has no messages.
        return () if published.last else ("no batch is landed yet: there is nothing to prove",)
    return (
        f"batch {published.pending} is landed and not published yet: let the drain go on, it does "
        "that first",
    )


def published_batches(storage: Storage) -> Published:
    """Return the batches to verify, while a drain may be landing more.

    A plan is written after the previous batch is published. So plans are listed before batches: all
    but the last plan must be landed. Staged files are listed after that: a batch whose staged files
    are deleted by then is published.
    """
    plans = layout.numbers_of_files(storage.names(layout.PLANS))
    landed = layout.numbers_of_files(storage.names(layout.BATCHES))
    done = max(plans, default=1) - 1
    newest = max(landed, default=0)
    pending = None
    if newest > done and storage.names(layout.staging_folder(newest)):
        pending = newest
    last = max(done, newest if pending is None else newest - 1)
    return Published(last, tuple(sorted(set(range(1, last + 1)) - set(landed))), pending)


def _landed(journal: BatchJournal, published: Published) -> Iterator[tuple[BatchPlan, Manifest]]:
    for number in range(1, published.last + 1):
        if number not in published.lost:
            yield journal.plan(number), journal.manifest(number)


def _created(journal: BatchJournal, published: Published) -> Creations:
    """Return the creation of each topic, as of the last landed batch."""
    there = [number for number in range(1, published.last + 1) if number not in published.lost]
    return journal.plan(there[-1]).created if there else {}


def _rows(
    seen: _Seen, record: VerificationRecord
) -> tuple[LandedRows, LandedRows | None, list[str]]:
    """Return the rows of the verified batches in the landing and in its dead letters.

    Returns:
        All rows; the rows of dead letters, or None; the faults of files.
    """
    if seen.identity.format == _MIRROR:
        last = seen.published.last
        reported = seen.engine.mirrored(seen.storage, seen.identity, last, seen.target_options)
        return reported, None, []
    found, dead = _files(seen, record), _dead_letters(seen, record)
    file_format = "json" if seen.identity.format == "json" else "parquet"
    rows = seen.engine.landed(seen.storage, (*found.readable, *dead.readable), file_format)
    dead_rows = seen.engine.landed(seen.storage, dead.readable, file_format)
    problems = [*found.problems, *(f"dead letters: {text}" for text in dead.problems)]
    return rows, dead_rows if dead.readable else None, problems


def _files(seen: _Seen, record: VerificationRecord) -> LandedFiles:
    """Return the files that a reader of the landing finds, except dead letters."""
    if seen.identity.format == "iceberg":
        return _iceberg_files(seen)
    if seen.identity.format == "delta":
        return _delta_files(seen)
    stored = visible_files(seen.storage)
    return compare_files(record.files, stored, since=_landed_since(seen))


def _dead_letters(seen: _Seen, record: VerificationRecord) -> LandedFiles:
    """Return the files of dead letters, compared with those that the batches recorded."""
    below = f"{layout.DEAD_LETTERS}/"
    noted = {path.removeprefix(below): file for path, file in record.dead_letters.items()}
    stored = seen.storage.files(layout.DEAD_LETTERS)
    found = compare_files(noted, stored, since=_landed_since(seen))
    return LandedFiles(tuple(below + path for path in found.readable), found.problems)


def _delta_files(seen: _Seen) -> LandedFiles:
    """Return the files that the table names, and contradictions between its log and the record."""
    stored = visible_files(seen.storage)
    log = read_log(seen.storage, seen.target_options, seen.identity.id)
    since = _landed_since(seen)
    named = [path for path in log.files if not is_of(path, since)]
    found = table_files(named, stored, "Delta")
    complaints = _complaints(seen, log.commits, since, is_whole=log.is_whole)
    return LandedFiles(found.readable, (*found.problems, *complaints))


def _complaints(
    seen: _Seen, commits: Iterable[TableCommit], since: set[int], *, is_whole: bool
) -> list[str]:
    """Return contradictions between the table's commits and the record; see ``compare_commits``."""
    landed = {
        plan.number: offsets_of(part.offsets for part in manifest.parts)
        for plan, manifest in _landed(seen.journal, seen.published)
    }
    covered = (commit for commit in commits if commit.number not in since)
    return compare_commits(landed, covered, is_whole=is_whole)


def _iceberg_files(seen: _Seen) -> LandedFiles:
    """Return the files that the table names, and contradictions between snapshots and record."""
    from zkconsumer.drain.local.iceberg_table import IcebergTable  # noqa: PLC0415 - optional

    name = TableName.of_target(seen.identity.target)
    table = IcebergTable(name, seen.storage, seen.target_options)
    state = table.state(seen.identity.id)
    stored, since = visible_files(seen.storage), _landed_since(seen)
    paths = {uri: table.below(uri) for uri in state.files}
    foreign = [uri for uri, path in paths.items() if path is None or not is_of_table(path)]
    named = sorted(
        {
            path
            for uri, path in paths.items()
            if path and uri not in foreign and not is_of(path, since)
        }
    )
    found = table_files(named, stored, "Iceberg")
    complaints = _complaints(seen, state.commits, since, is_whole=state.is_whole)
    times = Counter(paths[uri] or uri for uri in state.files)
    repeated = [path for path, count in times.items() if count > 1]
    # Readers that filter by topic or date miss these.
    misplaced = [uri for uri in state.misplaced if uri not in foreign]
    return LandedFiles(
        found.readable,
        (
            *found.problems,
            *described("files are in the table that no drain landed", foreign),
            *complaints,
            *described("files are named more than once by the table", repeated),
            *described(
                "files are in another partition of the table than their folders say", misplaced
            ),
        ),
    )


def _landed_since(seen: _Seen) -> set[int]:
    """Return the batches landed by now but not covered; call it after listing the files.

    Files named for any other batch belong to no batch.
    """
    landed = layout.numbers_of_files(seen.storage.names(layout.BATCHES))
    return {number for number in landed if number > seen.published.last}


def _proofs(
    reported: tuple[LandedRows, LandedRows | None],
    record: VerificationRecord,
    checks: Mapping[TopicPartition, ClusterCheck],
) -> tuple[PartitionCoverage, ...]:
    rows, dead = reported
    contents = rows.contents()
    letters = {} if dead is None else dead.contents()
    coverages: dict[TopicPartition, Coverage] = {}
    for tp, runs in rows.runs():
        entry = record.partitions.get(tp, _UNKNOWN)
        coverages[tp] = cover(entry.wanted, runs, excuses=entry.excuses)
    proofs = []
    for tp in sorted(record.partitions.keys() | coverages.keys() | checks.keys()):
        entry = record.partitions.get(tp, _UNKNOWN)
        coverage = coverages.get(tp) or cover(entry.wanted, [], excuses=entry.excuses)
        proofs.append(
            PartitionCoverage(
                topic_partition=tp,
                record=entry,
                coverage=coverage,
                landed=contents.get(tp, Contents()),
                cluster=checks.get(tp),
                dead_lettered=letters.get(tp, Contents()).rows,
            )
        )
    return tuple(proofs)


_UNKNOWN = PartitionRecord(start=0, end=0)
