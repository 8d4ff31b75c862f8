"""Offset ranges of any log, however they are fetched: each record comes once, or is lost."""

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.fake_script import Close, Cut, Fail, ScriptedReply, Step
from tests.support.ranges import (
    DECODERS,
    TP,
    RangeReaderBench,
    damage,
    offset_range,
    range_bench,
    response,
)
from tests.support.shares import examples
from zkconsumer.fetch.range_parts import LostRange, RangePart, parts_of
from zkconsumer.model import Record
from zkconsumer.records.build import build_message_set
from zkconsumer.records.codecs import Codec
from zkconsumer.wire.api import ApiKey

CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY]
STEPS: list[Step] = [Close(), Cut(7), Cut(90), Fail(6), Fail(5), Fail(1)]


@dataclass(slots=True)
class ReplicatedLog:
    """A partition on two fake brokers, and the records that it must have."""

    world: RangeReaderBench = field(default_factory=lambda: range_bench(broker_count=2))
    held: dict[int, bytes] = field(default_factory=dict)
    sets: list[bytes] = field(default_factory=list)
    is_damaged: bool = False

    @property
    def end(self) -> int:
        """The offset of the next record."""
        return self.world.net.cluster.log(TP).end_offset

    def add(self, steps: list[int], sizes: list[int], codec: Codec) -> None:
        """Append a set; ``steps`` are the distances of its offsets, as compaction leaves them."""
        offset, records = self.end - 1, []
        for step, size in zip(steps, sizes, strict=False):
            offset += step
            value = b"%d " % offset + bytes(size)
            self.held[offset] = value
            records.append(Record(offset, None, value))
        sets = [records] if codec is not Codec.NONE else [[record] for record in records]
        log = self.world.net.cluster.log(TP)
        for chosen in sets:
            entry = build_message_set(chosen, codec=codec)
            self.sets.append(entry)
            log.append_raw(entry, chosen[-1].offset + 1 - log.end_offset)
        self.world.net.cluster.changed()


@st.composite
def logs(draw: st.DrawFn) -> ReplicatedLog:
    """Draw a log of some sets."""
    log = ReplicatedLog()
    for _ in range(draw(st.integers(1, 6))):
        count = draw(st.integers(1, 8))
        log.add(
            draw(st.lists(st.integers(1, 4), min_size=count, max_size=count)),
            draw(st.lists(st.integers(0, 60), min_size=count, max_size=count)),
            draw(st.sampled_from(CODECS)),
        )
    return log


Event = Callable[[ReplicatedLog], None]


@st.composite
def events(draw: st.DrawFn) -> Event:
    """Draw an event between two parts."""
    kind = draw(st.sampled_from(["nothing", "expire", "move", "grow", "fail", "fail", "damage"]))
    share = draw(st.floats(0, 1))
    step = draw(st.sampled_from(STEPS))

    def happen(log: ReplicatedLog) -> None:
        cluster, brokers = log.world.net.cluster, log.world.net.brokers
        leader = log.world.leader().id
        if kind == "expire":
            gone = int(share * log.end)
            if gone > cluster.log(TP).start_offset:
                cluster.log(TP).delete_before(gone)
        elif kind == "move":
            cluster.move_leader(TP, 1 - leader)
        elif kind == "grow":
            log.add([1, 1], [5, 5], Codec.NONE)
        elif kind == "damage":
            # Damage it once: after a second time the damage would be believed.
            sets = [] if log.is_damaged else log.sets
            log.is_damaged = True
            at = int(share * len(sets))
            data = b"".join(
                damage(record_set) if place == at else record_set
                for place, record_set in enumerate(sets)
            )
            if data:
                brokers[leader].script(
                    ApiKey.FETCH, ScriptedReply(response(data, high_watermark=log.end))
                )
        elif kind == "fail":
            brokers[leader].script(ApiKey.FETCH, step)

    return happen


@settings(deadline=None, max_examples=examples(300))
@given(
    logs(),
    st.integers(30, 400),
    st.integers(20, 2_000),
    st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted),
    st.lists(events(), max_size=6),
)
def test_each_record_comes_once_or_is_reported_lost(
    log: ReplicatedLog,
    fetch_bytes: int,
    part_bytes: int,
    shares: list[float],
    happenings: list[Event],
) -> None:
    """Records come in order with their values; only deleted ones are reported lost."""
    start, end = (int(share * log.end) for share in shares)
    reader = log.world.reader(
        part_bytes=part_bytes, fetch_bytes=fetch_bytes, fail_on_data_loss=False, retries=20
    )
    at, waiting = start, list(happenings)
    seen: dict[int, bytes | None] = {}
    lost: list[LostRange] = []
    if waiting:
        waiting.pop()(log)
    for part in reader.read(offset_range(start, end)):
        if isinstance(part, RangePart):
            for record in part.records():
                assert at <= record.offset < end
                seen[record.offset] = record.value
                at = record.offset + 1
            assert at <= part.next_offset <= end
        else:
            assert at <= part.from_offset < part.until_offset <= end
            lost.append(part)
            at = part.until_offset
        if waiting:
            waiting.pop()(log)
    first_left = log.world.net.cluster.log(TP).start_offset
    assert all(lost_range.until_offset <= first_left for lost_range in lost)
    gone = {
        offset
        for lost_range in lost
        for offset in range(lost_range.from_offset, lost_range.until_offset)
    }
    expected = {offset: value for offset, value in log.held.items() if start <= offset < end}
    assert {offset: value for offset, value in expected.items() if offset not in gone} == seen


@settings(deadline=None, max_examples=examples(200))
@given(logs(), st.integers(0, 60), st.integers(0, 60), st.integers(1, 300))
def test_parts_end_at_the_range_and_respect_their_limit(
    log: ReplicatedLog, start: int, length: int, part_bytes: int
) -> None:
    """Both engines give the same records; a part of several rows is within its limit."""
    end = min(start + length, log.end)
    data = memoryview(log.world.net.cluster.log(TP).read(start, 1 << 20))
    found = []
    for decoder in DECODERS:
        fetched = decoder(data, fetch_offset=start, max_decompressed_bytes=1 << 20)
        parts = list(parts_of(fetched, end, part_bytes))
        for part in parts:
            assert len(part) == 1 or size_of(part) <= part_bytes
        behind = [part.next_offset for part in parts]
        firsts = [part.records()[0].offset for part in parts]
        assert behind == [*firsts[1:], end][: len(behind)]
        found.append([(record.offset, record.value) for part in parts for record in part.records()])
    expected = [(time_ms, value) for time_ms, value in log.held.items() if start <= time_ms < end]
    assert found == [expected] * len(DECODERS)


def size_of(part: RangePart) -> int:
    """Return the part's size as it would be in the log."""
    return sum(26 + len(record.key or b"") + len(record.value or b"") for record in part.records())
