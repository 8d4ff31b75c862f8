"""Ranges of logs with transactions: what is committed comes once, and nothing that is not."""

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.poll_logs import ModelLog
from tests.support.ranges import DECODERS, range_
from zkconsumer.fetch.range_parts import PieceDecoder
from zkconsumer.fetch.range_settings import RangeSettings
from zkconsumer.fetch.ranges import RangeCursor, RangeRequest, ResponseKind
from zkconsumer.records.codecs import Codec
from zkconsumer.records.transactions import IsolationLevel, Marker
from zkconsumer.wire.messages.fetch import FetchedPartition, FetchPartition

CODECS = [Codec.NONE, Codec.GZIP, Codec.LZ4]
TIMEOUT_MS = 1_000


@st.composite
def logs(draw: st.DrawFn) -> ModelLog:
    """A log that two transactional producers and one without transactions wrote to."""
    log = ModelLog(magic=draw(st.sampled_from([2, 2, 2, 1])), leader=0)
    for _ in range(draw(st.integers(1, 20))):
        producer = draw(st.integers(-1, 1)) if log.magic == 2 else -1
        if producer in log.open and draw(st.booleans()):
            log.finish(producer, draw(st.sampled_from([Marker.ABORT, Marker.COMMIT])))
        else:
            log.append(
                draw(st.integers(1, 5)),
                codec=draw(st.sampled_from(CODECS[: log.magic + 1])),
                gap=draw(st.sampled_from([0, 0, 3])),
                producer=producer,
                size=draw(st.integers(0, 80)),
            )
    return log


@dataclass(slots=True)
class Reading:
    """A range on its way, with a leader that answers from a log."""

    log: ModelLog
    cursor: RangeCursor
    committed: bool
    found: list[tuple[int, bytes | None]] = field(default_factory=list)
    now_ms: int = 0

    def run(self) -> int | None:
        """Read to the end; gives the offset from which on the rest was lost."""
        while (request := self.cursor.request()) is not None:
            self.now_ms += TIMEOUT_MS // 4
            outcome = self.cursor.receive(request, self._respond(request), self.now_ms)
            assert outcome in {ResponseKind.ARRIVED, ResponseKind.EMPTY}
            while self.cursor.has_packed():
                for part in self.cursor.unpack():
                    self.found += [(one.offset, one.value) for one in part.records()]
            lost = self.cursor.give_up_absent(self.now_ms)
            if lost is not None:
                assert lost.until_offset == self.cursor.wanted.until_offset
                return lost.from_offset
        return None

    def _respond(self, request: RangeRequest) -> FetchedPartition:
        wanted = FetchPartition(
            partition=0, fetch_offset=request.offset, max_bytes=request.max_bytes
        )
        data = self.log.read(wanted, 12, 1 << 20, committed=self.committed)
        return FetchedPartition(
            partition=0,
            error_code=0,
            high_watermark=self.log.end,
            last_stable_offset=self.log.last_stable,
            aborted_transactions=self.log.aborted_in(request.offset, data)
            if self.committed
            else None,
            records=memoryview(data),
        )


@settings(deadline=None, max_examples=300)
@given(
    logs(),
    st.sampled_from(DECODERS),
    st.sampled_from(IsolationLevel),
    st.one_of(st.integers(1, 600), st.just(1 << 16)),
    st.sampled_from([1, 100, 1 << 20]),
    st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted),
)
def test_what_is_committed_comes_once_and_an_open_transaction_is_no_gap(
    log: ModelLog,
    decoder: PieceDecoder,
    isolation: IsolationLevel,
    fetch_bytes: int,
    part_bytes: int,
    shares: list[float],
) -> None:
    """Whatever an answer holds, and wherever the range begins: in the middle of one, too."""
    start, stop = (round(share * log.end) for share in shares)
    committed = isolation is IsolationLevel.READ_COMMITTED
    wanted = RangeSettings(
        fetch_bytes=fetch_bytes,
        part_bytes=part_bytes,
        timeout_ms=TIMEOUT_MS,
        fail_on_data_loss=False,
        isolation=isolation,
    )
    cursor = RangeCursor(range_(start, stop), wanted, decoder=decoder)
    reading = Reading(log, cursor, committed)
    lost_from = reading.run()
    end = min(stop, log.last_stable) if committed else stop
    assert reading.found == log.visible(start, end, committed=committed)
    assert (lost_from is not None) == (end < stop and start < stop)
    assert lost_from is None or lost_from >= min(max(start, end), stop)
