"""Messages to mirror, and a target that takes or refuses them as it is told."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from zkconsumer.errors import WriteFailed
from zkconsumer.mirror.batch import Dropped, MirrorBatch
from zkconsumer.mirror.landed import Landed
from zkconsumer.model import Record, TopicPartition
from zkconsumer.produce.outgoing_sets import OutgoingRecords
from zkconsumer.produce.pending import WrittenSet
from zkconsumer.records.build import build_message_set
from zkconsumer.records.codecs import Codec
from zkconsumer.records.consumer_record import ConsumerRecord, RecordOrigin, consumer_record
from zkconsumer.records.decode import decode_record_set
from zkconsumer.records.fetched import decode_fetched
from zkconsumer.records.slices import RecordSlice

SOURCE = TopicPartition("clicks", 0)
OTHER = TopicPartition("clicks", 1)


def messages(source: TopicPartition, *offsets: int) -> list[ConsumerRecord]:
    """A message for each offset, whose value tells the offset."""
    origin = RecordOrigin(source)
    return [
        consumer_record(origin, (offset, b"k%d" % (offset % 5), b"v%d" % offset, -1, -1), (), -1)
        for offset in offsets
    ]


def slice_of(*offsets: int) -> RecordSlice:
    """The same messages as they are fetched."""
    plain = [Record(offset, b"k%d" % (offset % 5), b"v%d" % offset) for offset in offsets]
    fetched = decode_fetched(
        build_message_set(plain), fetch_offset=offsets[0], max_decompressed_bytes=1 << 20
    )
    return fetched.take(len(offsets))


def values_of(records: OutgoingRecords) -> Iterator[bytes]:
    """The values of what is to be written, in order."""
    left = records.copy()
    while len(left):
        data = left.cut(1 << 20).build(version=0, codec=Codec.NONE, now_ms=0)
        found = decode_record_set(data, fetch_offset=0, max_decompressed_bytes=1 << 20)
        yield from (record.value or b"" for record in found.records)


def batch_of(
    places: Mapping[TopicPartition, Mapping[TopicPartition, Sequence[int]]],
    behind: Mapping[TopicPartition, int] | None = None,
) -> MirrorBatch:
    """A batch: by source, and there by target, the offsets of messages that go there."""
    batch = MirrorBatch()
    for source, of_source in places.items():
        offsets = sorted(offset for some in of_source.values() for offset in some)
        indexes = {
            target: [offsets.index(offset) for offset in some] for target, some in of_source.items()
        }
        end = offsets[-1] + 1 if behind is None else behind[source]
        batch.add(source, messages(source, *offsets), indexes, behind=end)
    return batch


class Heard:
    """Notes what becomes of messages."""

    def __init__(self) -> None:
        self.lines: list[Landed] = []
        self.dropped_ones: list[tuple[Dropped, str]] = []

    def on_landed(self, landed: Sequence[Landed]) -> None:
        """See ``writer.Heard``."""
        self.lines += landed

    def on_dropped(self, dropped: Dropped, reason: str) -> None:
        """See ``writer.Heard``."""
        self.dropped_ones.append((dropped, reason))


Verdict = str | None
"""Why a message is not taken, None where it is.

A reason that begins with ``later`` passes; one with ``all`` is not about the message.
"""


class TargetDouble:
    """Keeps what it is given, message by message, in order, as a ``BatchProducer`` would.

    Args:
        judge: says of a value whether it is taken; asked anew at each try.

    Attributes:
        logs: the values of each partition.
        calls: how often it was asked to write.
    """

    def __init__(self, judge: Callable[[bytes], Verdict] = lambda _value: None) -> None:
        self._judge = judge
        self.logs: dict[TopicPartition, list[bytes]] = {}
        self.calls = 0

    def end_tries(self) -> None:
        """See ``BatchProducer``; this one tries nothing again."""

    def write(self, records: Mapping[TopicPartition, OutgoingRecords]) -> tuple[WrittenSet, ...]:
        """See ``Sender``."""
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
