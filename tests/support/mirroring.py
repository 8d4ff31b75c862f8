"""Messages to mirror, and a target that accepts or refuses them as a test decides."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from zkconsumer.errors import WriteFailed
from zkconsumer.mirror.batch import MirrorBatch
from zkconsumer.mirror.landed import Landed
from zkconsumer.mirror.offset_ledger import OffsetLedger
from zkconsumer.model import Record, TopicPartition
from zkconsumer.produce.outgoing_sets import OutgoingRecords
from zkconsumer.produce.pending import WrittenSet
from zkconsumer.records.build import build_message_set
from zkconsumer.records.codecs import Codec
from zkconsumer.records.consumer_record import ConsumerRecord, RecordOrigin, consumer_record
from zkconsumer.records.decode import decode_record_set
from zkconsumer.records.engine import decode_fetched
from zkconsumer.records.slices import RecordSlice

SOURCE = TopicPartition("clicks", 0)
OTHER = TopicPartition("clicks", 1)


def messages(source: TopicPartition, *offsets: int) -> list[ConsumerRecord]:
    """Return a message for each offset, whose value contains the offset."""
    origin = RecordOrigin(source)
    return [
        consumer_record(origin, (offset, b"k%d" % (offset % 5), b"v%d" % offset, -1, -1), (), -1)
        for offset in offsets
    ]


def slice_of(*offsets: int) -> RecordSlice:
    """Return the same messages as a fetched slice."""
    plain = [Record(offset, b"k%d" % (offset % 5), b"v%d" % offset) for offset in offsets]
    fetched = decode_fetched(
        build_message_set(plain), fetch_offset=offsets[0], max_decompressed_bytes=1 << 20
    )
    return fetched.take(len(offsets))


def values_of(records: OutgoingRecords) -> Iterator[bytes]:
    """Yield the values of records to write, in order."""
    left = records.copy()
    while len(left):
        data = left.cut(1 << 20).build(version=0, codec=Codec.NONE, now_ms=0)
        decoded = decode_record_set(data, fetch_offset=0, max_decompressed_bytes=1 << 20)
        yield from (record.value or b"" for record in decoded.records)


def batch_of(
    places: Mapping[TopicPartition, Mapping[TopicPartition, Sequence[int]]],
    behind: Mapping[TopicPartition, int] | None = None,
) -> MirrorBatch:
    """Return a batch from offsets by source partition, and within that by target partition."""
    batch = MirrorBatch()
    for source, of_source in places.items():
        offsets = sorted(offset for some in of_source.values() for offset in some)
        indexes = {
            target: [offsets.index(offset) for offset in some] for target, some in of_source.items()
        }
        end = offsets[-1] + 1 if behind is None else behind[source]
        batch.add(source, messages(source, *offsets), indexes, next_offset=end)
    return batch


class RecordingLedger(OffsetLedger):
    """Records which messages landed, and which were dropped."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[Landed] = []
        self.dropped_ones: list[tuple[TopicPartition, int, str]] = []
        self.targets_of_dropped: list[TopicPartition] = []

    def on_landed(self, landed: Sequence[Landed]) -> None:
        """See ``OffsetLedger``."""
        super().on_landed(landed)
        self.lines += landed

    def on_dropped(
        self, source: TopicPartition, offset: int, target: TopicPartition, reason: str
    ) -> None:
        """See ``OffsetLedger``."""
        super().on_dropped(source, offset, target, reason)
        self.dropped_ones.append((source, offset, reason))
        self.targets_of_dropped.append(target)


Verdict = str | None
"""Why a message is refused; None if it is accepted.

A reason that starts with ``later`` is temporary; one with ``all`` concerns the whole request.
"""


class TargetDouble:
    """Stores messages in order, one by one, in place of a ``BatchProducer``.

    Args:
        judge: decides whether a value is accepted; called at each attempt.

    Attributes:
        logs: the stored values by partition.
        calls: the number of writes.
    """

    def __init__(self, judge: Callable[[bytes], Verdict] = lambda _value: None) -> None:
        self._judge = judge
        self.logs: dict[TopicPartition, list[bytes]] = {}
        self.calls = 0

    def end_tries(self) -> None:
        """See ``BatchProducer``; this one does not retry."""

    def write(self, records: Mapping[TopicPartition, OutgoingRecords]) -> tuple[WrittenSet, ...]:
        """See ``BatchProducer``."""
        self.calls += 1
        failed: dict[TopicPartition, str] = {}
        unwritten: dict[TopicPartition, int] = {}
        written: dict[TopicPartition, list[tuple[int, int]]] = {}
        for target, of_target in records.items():
            log = self.logs.setdefault(target, [])
            for done, value in enumerate(values_of(of_target)):
                reason = self._judge(value)
                if reason is not None:
                    failed[target], unwritten[target] = reason, len(of_target) - done
                    break
                written.setdefault(target, []).append((len(log), 1))
                log.append(value)
        if failed:
            raise WriteFailed(
                failed,
                unwritten=unwritten,
                written_count=sum(map(len, written.values())),
                written=written,
                may_pass=all(reason.startswith("later") for reason in failed.values()),
                refused=[
                    target
                    for target, reason in failed.items()
                    if not reason.startswith(("later", "all"))
                ],
            )
        return tuple(
            WrittenSet(topic_partition=target, base_offset=base, count=count)
            for target, sets in written.items()
            for base, count in sets
        )
