"""From batches and rows to a proof, and its text and JSON."""

import json
from dataclasses import replace

import pytest

from zkconsumer.drain.checksum import Checksum, Contents
from zkconsumer.drain.manifest import Absence, LandedPart, Manifest
from zkconsumer.drain.plan import BatchPlan
from zkconsumer.drain.proving.coverage import Discrepancy, Run, cover
from zkconsumer.drain.proving.proof import (
    ClusterCheck,
    Difference,
    Differing,
    DrainProof,
    PartitionCoverage,
    ProofOutcome,
)
from zkconsumer.drain.proving.record import PartitionRecord, read_record
from zkconsumer.drain.proving.report import as_json, as_text
from zkconsumer.model import OffsetRange, TopicPartition

TP = TopicPartition("clicks", 0)


def _range(start: int, end: int) -> OffsetRange:
    return OffsetRange(topic_partition=TP, from_offset=start, until_offset=end)


def _contents(rows: int, total: int = 0) -> Contents:
    return Contents(rows=rows, first_offset=0, last_offset=9, checksum=Checksum(total))


def _batch(
    number: int,
    wanted: OffsetRange,
    *,
    starts: int | None = None,
    expired: tuple[OffsetRange, ...] = (),
    absent: tuple[Absence, ...] = (),
) -> tuple[BatchPlan, Manifest]:
    plan = BatchPlan(
        number=number,
        created_ms=0,
        positions={},
        starts={} if starts is None else {TP: starts},
        ranges=(wanted,),
        expired=expired,
    )
    missing = sum(absence.count for absence in absent)
    part = LandedPart(
        offsets=wanted, contents=_contents(wanted.count - missing, number), absent=absent
    )
    return plan, Manifest(number=number, attempt="a", landed_ms=0, parts=(part,))


def _proof(*found: Run, record: PartitionRecord | None = None, rows: int = 10) -> PartitionCoverage:
    record = record or PartitionRecord(start=0, end=10, contents=_contents(10))
    return PartitionCoverage(
        topic_partition=TP,
        record=record,
        coverage=cover(record.wanted, found, excuses=record.excuses),
        landed=_contents(rows),
    )


def _whole(*partitions: PartitionCoverage) -> DrainProof:
    return DrainProof(path="/land", format="parquet", batches=1, partitions=partitions)


def test_consecutive_batches_form_one_range() -> None:
    """It extends from the first start to the last end, with all contents added up."""
    record = read_record([_batch(1, _range(5, 9), starts=5), _batch(2, _range(9, 20))])
    entry = record.partitions[TP]
    assert entry.wanted == Run(5, 20)
    assert entry.contents.rows == 15
    assert entry.contents.checksum == Checksum(3)
    assert entry.problems == []


def test_a_hole_between_batches_is_a_problem_of_the_record() -> None:
    """A missing manifest is noticed even if its rows are missing, too."""
    record = read_record([_batch(1, _range(0, 9), starts=0), _batch(3, _range(12, 20))])
    assert record.partitions[TP].problems == [
        "batch 3 begins at offset 12, and those before it end at 9"
    ]


def test_excuses_come_from_plans_and_manifests() -> None:
    """Offsets may have expired before the range or during the read, or be compacted."""
    absent = (
        Absence(12, 13, 1, Discrepancy.EXPIRED),
        Absence(15, 17, 2, Discrepancy.COMPACTED),
    )
    batches = [
        _batch(1, _range(0, 4), starts=0),
        _batch(2, _range(12, 20), expired=(_range(4, 12),), absent=absent),
    ]
    entry = read_record(batches).partitions[TP]
    assert entry.problems == []
    assert entry.excuses == {
        Discrepancy.EXPIRED: [Run(4, 12), Run(12, 13)],
        Discrepancy.COMPACTED: [Run(15, 17)],
    }
    assert entry.absent == 11
    proof = _proof(Run(0, 4), Run(13, 15), Run(17, 20), record=entry)
    assert proof.coverage.complete


def test_merged_holes_excuse_no_more_than_their_number() -> None:
    """A span with 3 holes excuses 3 absent offsets, not the whole span."""
    absent = (Absence(0, 10, 3, Discrepancy.COMPACTED),)
    entry = read_record([_batch(1, _range(0, 10), starts=0, absent=absent)]).partitions[TP]
    enough = _proof(Run(0, 2), Run(3, 4), Run(5, 6), Run(7, 10), record=entry, rows=7)
    assert not [text for text in enough.problems() if "absent" in text]
    fewer = _proof(Run(0, 2), Run(3, 4), Run(7, 10), record=entry, rows=7)
    assert "clicks-0: 1 more offsets are absent than the batches recorded" in fewer.problems()


def test_a_complete_unchanged_landing_is_proven() -> None:
    """The text ends with PROVEN, and the exit status is 0."""
    proof = _whole(_proof(Run(0, 10)))
    assert proof.outcome is ProofOutcome.PROVEN
    assert proof.outcome.value == 0
    assert as_text(proof).splitlines()[-1].startswith("PROVEN")


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ([Run(0, 4), Run(5, 10)], "clicks-0: 1 offset is missing: [4, 5)"),
        (
            [Run(0, 10), Run(2, 4)],
            "clicks-0: 2 offsets are too many (duplicates): [2, 4)",
        ),
        ([Run(0, 12)], "clicks-0: 2 offsets are there, though outside the landed ranges: [10, 12)"),
    ],
)
def test_missing_or_repeated_offsets_are_not_proven(runs: list[Run], message: str) -> None:
    """Each kind of damage alone is enough, and is named with its offsets."""
    proof = _whole(_proof(*runs))
    assert proof.outcome is ProofOutcome.NOT_PROVEN
    assert proof.problems == [message]
    assert f"wrong: {message}" in as_text(proof)


def test_changed_contents_are_not_proven() -> None:
    """The right offsets with other bytes have another checksum."""
    changed = replace(_proof(Run(0, 10)), landed=_contents(10, 77))
    assert _whole(changed).outcome is ProofOutcome.NOT_PROVEN
    assert "000000000000004d" in _whole(changed).problems[0]


def test_messages_that_the_cluster_lost_since_are_no_fault() -> None:
    """Compaction and retention continue after a drain."""
    check = ClusterCheck(
        compared=Run(4, 10), log_end=12, differing={Difference.ONLY_LANDED: Differing(2, 5, 6)}
    )
    proof = _whole(replace(_proof(Run(0, 10)), cluster=check))
    assert proof.outcome is ProofOutcome.PROVEN
    assert "same in [4, 10), 2 gone since, 2 to come\n" in as_text(proof)


@pytest.mark.parametrize("kind", [Difference.CONTENT, Difference.ONLY_IN_CLUSTER])
def test_messages_that_differ_in_the_cluster_are_a_fault(kind: Difference) -> None:
    """Other contents, or messages only in the cluster, mean that the landing is no copy."""
    check = ClusterCheck(compared=Run(0, 10), differing={kind: Differing(1, 5, 5)})
    proof = _whole(replace(_proof(Run(0, 10)), cluster=check))
    assert proof.outcome is ProofOutcome.NOT_PROVEN


def test_an_incomplete_comparison_leaves_the_outcome_unknown() -> None:
    """There is neither a fault nor a proof; a fault elsewhere still decides."""
    check = ClusterCheck(compared=Run(10, 10), obstacle="the cluster does not have it")
    doubtful = replace(_proof(Run(0, 10)), cluster=check)
    assert _whole(doubtful).outcome is ProofOutcome.UNKNOWN
    assert _whole(doubtful, _proof(Run(0, 9))).outcome is ProofOutcome.NOT_PROVEN


def test_json_holds_the_contents_of_the_table() -> None:
    """Programs get numbers and offset ranges."""
    value = json.loads(as_json(_whole(_proof(Run(0, 4), Run(6, 10)))))
    assert value["verdict"] == "not_proven"
    (partition,) = value["partitions"]
    assert partition["gap"] == {"offsets": 2, "ranges": 1, "shown": [[4, 6]]}
    assert partition["cluster"] is None
    assert not partition["complete"]
