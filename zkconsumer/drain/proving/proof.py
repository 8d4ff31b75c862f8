"""The results of a drain's verification, and its outcome. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum

from zkconsumer.drain.checksum import Contents
from zkconsumer.drain.proving.coverage import EXCUSED, Coverage, CoverageRanges, Discrepancy, Run
from zkconsumer.drain.proving.record import PartitionRecord
from zkconsumer.model import TopicPartition

BLOCK = 100_000
"""The number of offsets whose messages are summed up together to compare them with the cluster."""


class ProofOutcome(Enum):
    """The outcome of a verification; the value is the command's exit status."""

    PROVEN = 0
    """Every offset of the log exists exactly once, with the landed contents."""
    NOT_PROVEN = 1
    """A message is missing, duplicated, or changed."""
    UNKNOWN = 2
    """No fault was found, but not everything requested could be verified."""


class Difference(StrEnum):
    """The kind of difference between a landed message and the cluster's."""

    CONTENT = "content"
    """Both exist, with different contents."""
    ONLY_IN_CLUSTER = "only in cluster"
    """The cluster has the message, but it was not landed."""
    ONLY_LANDED = "only landed"
    """The message was landed, and the cluster no longer has it: no fault."""


@dataclass(frozen=True, slots=True)
class Differing:
    """The offsets of one partition with one kind of difference: count, smallest, largest."""

    count: int
    first_offset: int
    last_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterCheck:
    """The comparison of one topic-partition with the current cluster.

    Attributes:
        compared: the landed range as far as the cluster still has it.
        log_end: the current log end of the cluster; None if unknown.
        differing: the differing offsets, by kind of difference.
        obstacle: why it could not be compared; None if it was.
    """

    compared: Run
    log_end: int | None = None
    differing: Mapping[Difference, Differing] = field(default_factory=dict)
    obstacle: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionCoverage:
    """The verification of one topic-partition.

    Attributes:
        topic_partition: the topic-partition.
        record: the drain's own record.
        coverage: the coverage of the recorded offsets by landed rows.
        landed: the contents of the landed rows, dead letters included.
        dead_lettered: the number of dead letters among them.
        cluster: the comparison with the cluster; None if it was not requested.
    """

    topic_partition: TopicPartition
    record: PartitionRecord
    coverage: Coverage
    landed: Contents
    cluster: ClusterCheck | None = None
    dead_lettered: int = 0

    @property
    def same_contents(self) -> bool:
        """Whether the rows have the contents that the batches recorded."""
        return self.landed == self.record.contents

    def problems(self) -> list[str]:
        """Return the faults, one sentence each."""
        message = list(self.record.problems)
        message += [
            f"{_offsets(finding)} {_WORDS[kind]}: {_ranges_text(finding)}"
            for kind, finding in self.coverage.findings.items()
            if kind not in EXCUSED
        ]
        excused = sum(self.coverage.of(kind).offsets for kind in EXCUSED)
        if excused > self.record.absent:
            message.append(
                f"{excused - self.record.absent} more offsets are absent than the batches recorded"
            )
        if not self.same_contents:
            message.append(
                f"the rows are not those that were landed: {self.landed.rows} with checksum "
                f"{self.landed.checksum} were found, but {self.record.contents.rows} with checksum "
                f"{self.record.contents.checksum} were recorded"
            )
        if self.dead_lettered != self.record.dead_lettered:
            message.append(
                f"{self.dead_lettered} dead letters were found, but "
                f"{self.record.dead_lettered} were recorded"
            )
        for kind, found in () if self.cluster is None else self.cluster.differing.items():
            if kind is not Difference.ONLY_LANDED:
                message.append(
                    f"{found.count} messages differ from the cluster's ({kind}), from offset "
                    f"{found.first_offset} to {found.last_offset}"
                )
        return [f"{self.topic_partition}: {text}" for text in message]

    def doubts(self) -> list[str]:
        """Return the requested checks that were not possible, one sentence each."""
        if self.cluster is None or self.cluster.obstacle is None:
            return []
        return [f"{self.topic_partition}: not compared with the cluster: {self.cluster.obstacle}"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainProof:
    """The verification of a whole drain.

    Attributes:
        path: the drain's path.
        format: the format of the landing.
        batches: the number of landed batches.
        partitions: the verified partitions, in order.
        file_problems: the faults of files, one sentence each.
        obstacles: the reasons why not everything could be verified, one sentence each.
    """

    path: str
    format: str
    batches: int
    partitions: tuple[PartitionCoverage, ...]
    file_problems: tuple[str, ...] = ()
    obstacles: tuple[str, ...] = ()

    @property
    def dead_lettered(self) -> int:
        """The number of dead letters."""
        return sum(proof.dead_lettered for proof in self.partitions)

    @property
    def problems(self) -> list[str]:
        """All faults."""
        of_partitions = [text for proof in self.partitions for text in proof.problems()]
        return [*self.file_problems, *of_partitions]

    @property
    def doubts(self) -> list[str]:
        """Everything that could not be verified."""
        of_partitions = [text for proof in self.partitions for text in proof.doubts()]
        return [*self.obstacles, *of_partitions]

    @property
    def outcome(self) -> ProofOutcome:
        """The outcome of the verification."""
        if self.problems:
            return ProofOutcome.NOT_PROVEN
        return ProofOutcome.UNKNOWN if self.doubts else ProofOutcome.PROVEN


_WORDS = {
    Discrepancy.GAP: "missing",
    Discrepancy.DUPLICATE: "too many (duplicates)",
    Discrepancy.STRAY: "there, though outside the landed ranges",
}
_SHOWN = 5


def _offsets(finding: CoverageRanges) -> str:
    return "1 offset is" if finding.offsets == 1 else f"{finding.offsets} offsets are"


def _ranges_text(finding: CoverageRanges) -> str:
    shown = ", ".join(map(format, finding.shown[:_SHOWN]))
    more = finding.ranges - _SHOWN
    return f"{shown} and {more} more ranges" if more > 0 else shown
