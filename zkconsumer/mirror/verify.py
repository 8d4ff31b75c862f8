"""Proves a mirror by reading both clusters and comparing each message."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.consumer.kafka_consumer import KafkaConsumer
from zkconsumer.errors import ConfigError, MirrorError
from zkconsumer.mirror.landed import Landed, ReadFrom
from zkconsumer.mirror.offsets_file import read_offsets_file
from zkconsumer.mirror.proof import (
    Lines,
    MirroredPartition,
    TargetOffset,
    by_source,
    claimed_twice,
    digest_of,
    offsets_without_line,
    ranges_of,
)
from zkconsumer.model import TopicPartition
from zkconsumer.records.consumer_record import ConsumerRecord

_WINDOW = 50_000
"""The number of offsets compared at a time, and thus held in memory together."""
_NEAR = 1_000
_POLL_MS = 500
_SILENCE_MS = 60_000


@dataclass(frozen=True, slots=True)
class MirrorProof:
    """The result of a verification.

    Attributes:
        partitions: the proof of each source partition that the file names.
        offsets_without_line: see ``proof.offsets_without_line``.
        claimed_twice: see ``proof.claimed_twice``.
    """

    partitions: tuple[MirroredPartition, ...]
    offsets_without_line: Mapping[TopicPartition, int]
    claimed_twice: Mapping[TopicPartition, int] = field(default_factory=dict)

    @property
    def is_proven(self) -> bool:
        """Whether every message is in the target, at an offset that only its line names."""
        return all(partition.is_proven for partition in self.partitions) and not self.claimed_twice


def verify(
    offsets_files: Path | Sequence[Path],
    source: Mapping[str, object],
    target: Mapping[str, object],
    *,
    advance: Callable[[int], None] = lambda _count: None,
    clock: Clock | None = None,
) -> MirrorProof:
    """Compare source and target, message by message.

    Args:
        offsets_files: the offsets files of all mirrors of the group.
        source: settings of a ``KafkaConsumer`` in the mirror's group; nothing is committed.
        target: settings of a ``KafkaConsumer`` for the target, without a group.
        advance: called for each range with the number of messages compared.
        clock: for time-outs.

    Raises:
        ConfigError: a file is empty, or can't be read.
        MirrorError: a file is malformed, a cluster does not return its messages, or the group has
            no committed offset of these partitions.
        ZkConsumerError: a cluster does not respond.
    """
    paths = [offsets_files] if isinstance(offsets_files, Path) else offsets_files
    names = ", ".join(map(str, paths))
    lines = [line for path in paths for line in read_offsets_file(path)]
    if not lines:
        raise ConfigError(f"--offsets-file {names} has no lines: nothing was mirrored")
    landed = [line for line in lines if isinstance(line, Landed)]
    # A verification must not create topics, whatever the mirror may do with the same settings.
    source, target = (
        {**settings, "allow.auto.create.topics": "false"} for settings in (source, target)
    )
    with KafkaConsumer(config=source) as reading, KafkaConsumer(config=target) as checking:
        comparison = _Comparison(reading, checking, landed, clock or SystemClock(), advance)
        partitions = by_source(lines)
        committed = comparison.committed(partitions)
        if not committed:
            raise MirrorError(
                f"group {source['group.id']} has committed no offset of the partitions in {names}: "
                "nothing can be proven; is it the mirror's group?"
            )
        proofs = [
            comparison.prove(tp, partitions.get(tp), committed.get(tp))
            for tp in sorted(partitions.keys() | committed.keys())
        ]
        return MirrorProof(
            tuple(partition for partition in proofs if partition is not None),
            offsets_without_line(landed, comparison.target_ends),
            claimed_twice(landed),
        )


class _Comparison:
    """Compares the messages of both clusters. Thread: one at a time."""

    def __init__(
        self,
        source: KafkaConsumer,
        target: KafkaConsumer,
        landed: list[Landed],
        clock: Clock,
        advance: Callable[[int], None],
    ) -> None:
        self._source = source
        self._target = target
        self._clock = clock
        self._advance = advance
        targets = {landed_run.target for landed_run in landed}
        self._target_starts = target.beginning_offsets(targets)
        self.target_ends = target.end_offsets(targets)

    def committed(self, named: Mapping[TopicPartition, Lines]) -> dict[TopicPartition, int]:
        """Return the group's committed offsets for all partitions of topics that a line names."""
        wanted = {
            TopicPartition(topic, number)
            for topic in {tp.topic for tp in named}
            for number in self._source.partitions_for_topic(topic)
        }
        found = {tp: self._source.committed(tp) for tp in sorted(wanted | named.keys())}
        return {tp: offset for tp, offset in found.items() if offset is not None}

    def prove(
        self, tp: TopicPartition, lines: Lines | None, committed: int | None
    ) -> MirroredPartition | None:
        """Prove one partition; return None if there is nothing to prove."""
        start = self._source.beginning_offsets([tp])[tp]
        end = self._source.end_offsets([tp])[tp]
        if lines is None:
            # An offset is committed, but no line exists: all messages are missing.
            if committed is None or committed <= start:
                return None
            lines = Lines([ReadFrom(tp, start)])
        until = lines.until if committed is None else committed
        proof = MirroredPartition(tp, lines.start, until)
        # Deleted messages can't be compared; their number is taken from the lines.
        for gone, stop in ((lines.start, min(start, until)), (max(end, lines.start), until)):
            for at in range(gone, stop, _WINDOW):
                proof.unproven += len(lines.locations(at, min(at + _WINDOW, stop)))
        first, stop = max(lines.start, start), min(until, end)
        for at in range(first, stop, _WINDOW):
            self._prove_range(proof, lines, at, min(at + _WINDOW, stop))
        return proof

    def _prove_range(self, proof: MirroredPartition, lines: Lines, start: int, until: int) -> None:
        digests = {
            record.offset: digest_of(record.key, record.value)
            for record in self._read(self._source, proof.source, start, until)
        }
        locations = lines.locations(start, until)
        wanted = {
            location
            for location in chain.from_iterable(locations.values())
            if self._target_starts[location[0]] <= location[1] < self.target_ends[location[0]]
        }
        found: dict[TargetOffset, bytes] = {}
        for target, (first, stop) in ranges_of(wanted, gap=_NEAR):
            for record in self._read(self._target, target, first, stop):
                if (target, record.offset) in wanted:
                    found[target, record.offset] = digest_of(record.key, record.value)
        proof.judge(digests, locations, found, self._target_starts)
        self._advance(len(digests))

    def _read(
        self, consumer: KafkaConsumer, tp: TopicPartition, start: int, until: int
    ) -> Iterator[ConsumerRecord]:
        """Yield the messages of a range in a log."""
        consumer.assign([tp])
        consumer.seek(tp, start)
        deadline_ms = self._clock.now_ms() + _SILENCE_MS
        while (position := consumer.position(tp)) < until:
            for record in consumer.poll(timeout_ms=_POLL_MS).get(tp, ()):
                if record.offset < until:
                    yield record
            now_ms = self._clock.now_ms()
            if consumer.position(tp) > position:
                deadline_ms = now_ms + _SILENCE_MS
            elif now_ms > deadline_ms:
                raise MirrorError(
                    f"{tp} returns nothing from offset {position} on, although it should go to "
                    f"{until}: check its leader"
                )
