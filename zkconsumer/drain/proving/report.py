"""Formats a verification's findings as a table and as JSON. Pure.

The JSON is one object; its fields are described in ``docs/drain-verify.md``. Later versions may add
fields.
"""

import json
from collections.abc import Sequence

from zkconsumer.drain.fields import JsonValue
from zkconsumer.drain.layout import DEAD_LETTERS
from zkconsumer.drain.proving.coverage import Coverage, CoverageRanges, Discrepancy, Run
from zkconsumer.drain.proving.proof import (
    ClusterCheck,
    Difference,
    DrainProof,
    PartitionCoverage,
    ProofOutcome,
)
from zkconsumer.printable import printable

_HEADS = (
    "topic",
    "partition",
    "from",
    "until",
    "rows",
    "gaps",
    "duplicates",
    "strays",
    "compacted",
    "expired",
    "contents",
    "cluster",
)
_SHOWN = 10
_LEFT = (0, len(_HEADS) - 2, len(_HEADS) - 1)
_VERDICTS = {
    ProofOutcome.PROVEN: "PROVEN: every offset that the log had is there exactly once",
    ProofOutcome.NOT_PROVEN: "NOT PROVEN",
    ProofOutcome.UNKNOWN: "UNKNOWN: no fault was found, but not everything could be verified",
}


def as_text(proof: DrainProof) -> str:
    """Return the whole report as lines of text, the verdict last."""
    lines = [f"{proof.path}: {proof.format}, {proof.batches} batches", ""]
    lines += _table([_HEADS, *map(_row, proof.partitions)])
    lines.append("")
    if proof.dead_lettered:
        lines.append(f"of these rows are dead letters, in {DEAD_LETTERS}: {_dead_letters(proof)}")
    lines += [f"wrong: {text}" for text in proof.problems]
    lines += [f"open: {text}" for text in proof.doubts]
    lines.append(_VERDICTS[proof.outcome])
    # File names at the path are not trusted.
    return "\n".join(map(printable, lines)) + "\n"


def as_json(proof: DrainProof) -> str:
    """Return the report as JSON, with all kept ranges."""
    value: JsonValue = {
        "path": proof.path,
        "format": proof.format,
        "verdict": proof.outcome.name.lower(),
        "batches": proof.batches,
        "problems": list(proof.problems),
        "open": list(proof.doubts),
        "dead_lettered": proof.dead_lettered,
        "partitions": [_partition(partition) for partition in proof.partitions],
    }
    return json.dumps(value, indent=1) + "\n"


def _dead_letters(proof: DrainProof) -> str:
    shown = [
        f"{part.dead_lettered} of {part.topic_partition}"
        for part in proof.partitions
        if part.dead_lettered
    ]
    more = f", and of {len(shown) - _SHOWN} more partitions" if len(shown) > _SHOWN else ""
    return ", ".join(shown[:_SHOWN]) + more


def _row(proof: PartitionCoverage) -> tuple[str, ...]:
    coverage = proof.coverage
    kinds = (
        Discrepancy.GAP,
        Discrepancy.DUPLICATE,
        Discrepancy.STRAY,
        Discrepancy.COMPACTED,
        Discrepancy.EXPIRED,
    )
    return (
        proof.topic_partition.topic,
        str(proof.topic_partition.partition),
        str(coverage.wanted.from_offset),
        str(coverage.wanted.until_offset),
        str(coverage.rows),
        *(str(coverage.of(kind).offsets) for kind in kinds),
        "as landed" if proof.same_contents else "CHANGED",
        _cluster_word(proof.cluster),
    )


def _cluster_word(check: ClusterCheck | None) -> str:
    if check is None:
        return "not requested"
    if check.obstacle is not None:
        return "not compared"
    if check.differing.keys() - {Difference.ONLY_LANDED}:
        return "DIFFERS"
    if check.compared.length == 0:
        return f"nothing left there{_lag(check)}"
    return f"same in {check.compared}{_gone(check)}{_lag(check)}"


def _gone(check: ClusterCheck) -> str:
    """Format the number of landed records that the cluster no longer has, so weren't compared."""
    gone = check.differing.get(Difference.ONLY_LANDED)
    return "" if gone is None else f", {gone.count} gone since"


def _lag(check: ClusterCheck) -> str:
    """Format the number of records that are not landed yet, which the proof does not cover."""
    lag = 0 if check.log_end is None else check.log_end - check.compared.until_offset
    return f", {lag} to come" if lag > 0 else ""


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if at in _LEFT else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _partition(proof: PartitionCoverage) -> JsonValue:
    return {
        "topic": proof.topic_partition.topic,
        "partition": proof.topic_partition.partition,
        "from": proof.coverage.wanted.from_offset,
        "until": proof.coverage.wanted.until_offset,
        "rows": proof.coverage.rows,
        "dead_lettered": proof.dead_lettered,
        "complete": not proof.problems(),
        **_findings(proof.coverage),
        "checksum": str(proof.landed.checksum),
        "noted_checksum": str(proof.record.contents.checksum),
        "noted_rows": proof.record.contents.rows,
        "cluster": _cluster(proof.cluster),
    }


def _findings(coverage: Coverage) -> dict[str, JsonValue]:
    return {f"{kind}": _finding(coverage.of(kind)) for kind in Discrepancy}


def _finding(finding: CoverageRanges) -> JsonValue:
    return {
        "offsets": finding.offsets,
        "ranges": finding.ranges,
        "shown": [_run(run) for run in finding.shown],
    }


def _run(run: Run) -> JsonValue:
    return [run.from_offset, run.until_offset]


def _cluster(check: ClusterCheck | None) -> JsonValue:
    if check is None:
        return None
    return {
        "compared": _run(check.compared),
        "log_end": check.log_end,
        "obstacle": check.obstacle,
        "differing": {
            f"{kind}": {
                "count": found.count,
                "first": found.first_offset,
                "last": found.last_offset,
            }
            for kind, found in check.differing.items()
        },
    }
