"""Results of a drain's verification, and their outcome. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum

from zkconsumer.drain.checksum import Contents
from zkconsumer.drain.proving.coverage import EXCUSED, Coverage, CoverageRanges, Discrepancy, Run
from zkconsumer.drain.proving.record import PartitionRecord
from zkconsumer.model import TopicPartition


class ProofOutcome(Enum):
    """The outcome of a verification, worst last; the value is the command's exit status."""

    PROVEN = 0
    """Every offset that the log had is there exactly once, with the contents that were landed."""
    NOT_PROVEN = 1
    """Something is missing, there twice, or other than it was."""
    UNKNOWN = 2
    """Nothing was found to be wrong, but not all that was asked for could be looked at."""


class Difference(StrEnum):
    """Kind of difference between a landed message and the cluster's."""

    CONTENT = "content"
    """Both are there, and are not the same."""
    ONLY_IN_CLUSTER = "only in cluster"
    """The cluster has it now, and it was not landed."""
    ONLY_LANDED = "only landed"
    """It was landed, and the cluster has it no more: compacted or expired since. No fault."""


@dataclass(frozen=True, slots=True)
class Differing:
    """All offsets of one partition that differ in one way: how many, the smallest, the largest."""

    count: int
    first_offset: int
    last_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterCheck:
    """One topic-partition, compared with the current cluster.

    Attributes:
        compared: the landed range as far as the cluster still has it.
        log_end: where the cluster's log ends now; None where it is not known.
        differing: by the way in which offsets differ.
        obstacle: why it could not be compared; None where it was.
    """

    compared: Run
    log_end: int | None = None
    differing: Mapping[Difference, Differing] = field(default_factory=dict)
    obstacle: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionCoverage:
    """The verification of one topic-partition.

    Attributes:
        topic_partition: which.
        record: what the drain says of it.
        coverage: what is there.
        landed: what the rows that are there add up to, dead letters included.
        dead_lettered: how many of them are dead letters.
        cluster: against the cluster; None where that was not asked for.
    """

    topic_partition: TopicPartition
    record: PartitionRecord
    coverage: Coverage
    landed: Contents
    cluster: ClusterCheck | None = None
    dead_lettered: int = 0

    @property
    def same_contents(self) -> bool:
        """Whether the rows add up to what the batches noted when they were landed."""
        return self.landed == self.record.contents

    def problems(self) -> list[str]:
        """Return what is wrong, one sentence each."""
        message = list(self.record.problems)
        message += [
            f"{_offsets(finding)} {_WORDS[kind]}: {_stretches(finding)}"
            for kind, finding in self.coverage.findings.items()
            if kind not in EXCUSED
        ]
        excused = sum(self.coverage.of(kind).offsets for kind in EXCUSED)
        if excused > self.record.absent:
            message.append(
                f"{excused - self.record.absent} offsets more are absent than the batches noted"
            )
        if not self.same_contents:
            message.append(
                f"the rows are not those that were landed: {self.landed.rows} with checksum "
                f"{self.landed.checksum}, and {self.record.contents.rows} with checksum "
                f"{self.record.contents.checksum} were noted"
            )
        if self.dead_lettered != self.record.dead_lettered:
            message.append(
                f"{self.dead_lettered} dead letters are there, and "
                f"{self.record.dead_lettered} were noted"
            )
        for kind, found in () if self.cluster is None else self.cluster.differing.items():
            if kind is not Difference.ONLY_LANDED:
                message.append(
                    f"{found.count} messages differ from the cluster's ({kind}), from offset "
                    f"{found.first_offset} to {found.last_offset}"
                )
        return [f"{self.topic_partition}: {text}" for text in message]

    def doubts(self) -> list[str]:
        """Return what was requested and could not be verified."""
        if self.cluster is None or self.cluster.obstacle is None:
            return []
        return [f"{self.topic_partition}: not compared with the cluster: {self.cluster.obstacle}"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainProof:
    """The verification of a whole drain.

    Attributes:
        path: where it is.
        format: how it landed.
        batches: how many were landed.
        partitions: in order.
        file_problems: what is wrong with files, one sentence each.
        obstacles: what could not be looked at, one sentence each.
    """

    path: str
    format: str
    batches: int
    partitions: tuple[PartitionCoverage, ...]
    file_problems: tuple[str, ...] = ()
    obstacles: tuple[str, ...] = ()

    @property
    def dead_lettered(self) -> int:
        """How many messages are dead letters."""
        return sum(proof.dead_lettered for proof in self.partitions)

    @property
    def problems(self) -> list[str]:
        """Everything that is wrong."""
        of_partitions = [text for proof in self.partitions for text in proof.problems()]
        return [*self.file_problems, *of_partitions]

    @property
    def doubts(self) -> list[str]:
        """Everything that could not be verified."""
        of_partitions = [text for proof in self.partitions for text in proof.doubts()]
        return [*self.obstacles, *of_partitions]

    @property
    def outcome(self) -> ProofOutcome:
        """The outcome that follows from these."""
        if self.problems:
            return ProofOutcome.NOT_PROVEN
        return ProofOutcome.UNKNOWN if self.doubts else ProofOutcome.PROVEN


_WORDS = {
    Discrepancy.GAP: "missing",
    Discrepancy.DUPLICATE: "too many (there more than once)",
    Discrepancy.STRAY: "there that were never to be landed",
}
_SHOWN = 5


def _offsets(finding: CoverageRanges) -> str:
    return "1 offset is" if finding.offsets == 1 else f"{finding.offsets} offsets are"


def _stretches(finding: CoverageRanges) -> str:
    shown = ", ".join(map(format, finding.shown[:_SHOWN]))
    more = finding.stretches - _SHOWN
    return f"{shown} and {more} stretches more" if more > 0 else shown
