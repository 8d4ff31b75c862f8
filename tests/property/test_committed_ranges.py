"""Offset ranges of logs with transactions: committed records come once, and no others."""

from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.manual_clock import ManualClock
from tests.support.poll_logs import ModelLog
from tests.support.range_logs import Answer, LogClient, LogConnection, changed
from tests.support.ranges import offset_range
from tests.support.shares import examples
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import ConnectionLost
from zkconsumer.fetch.range_parts import LostRange, RangePart
from zkconsumer.fetch.range_reader import RangeReader
from zkconsumer.fetch.range_settings import RangeSettings
from zkconsumer.records.codecs import Codec
from zkconsumer.records.transactions import IsolationLevel, Marker
from zkconsumer.wire.messages.fetch import LAST_BY_NAME, FetchResponse

CODECS = [Codec.NONE, Codec.GZIP, Codec.LZ4]
TIMEOUT_MS = 1_000
MOVED = changed(error_code=ErrorCode.NOT_LEADER_FOR_PARTITION, records=memoryview(b""))


def lost(_: FetchResponse) -> FetchResponse:
    """Fail as a connection that ends."""
    raise ConnectionLost("gone")


@st.composite
def logs(draw: st.DrawFn) -> ModelLog:
    """Draw a log of two transactional producers and one without transactions."""
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


@settings(deadline=None, max_examples=examples(300))
@given(
    logs(),
    st.sampled_from([LAST_BY_NAME, LAST_BY_NAME + 1]),
    st.sampled_from(IsolationLevel),
    st.tuples(st.one_of(st.integers(1, 600), st.just(1 << 16)), st.sampled_from([1, 100, 1 << 20])),
    st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted),
    st.lists(st.sampled_from([None, None, lost, MOVED])),
)
def test_committed_records_come_once_and_an_open_transaction_is_no_gap(
    log: ModelLog,
    version: int,
    isolation: IsolationLevel,
    sizes: tuple[int, int],
    shares: list[float],
    script: list[Answer | None],
) -> None:
    """This holds for any fetch size, any range, and failures of any requests."""
    start, stop = (round(share * log.end) for share in shares)
    committed = isolation is IsolationLevel.READ_COMMITTED
    wanted = RangeSettings(
        fetch_bytes=sizes[0],
        part_bytes=sizes[1],
        timeout_ms=TIMEOUT_MS,
        fail_on_data_loss=False,
        isolation=isolation,
    )
    clock = ManualClock()
    client = LogClient(LogConnection(log, version, committed=committed, script=script))
    reader = RangeReader(cast("Any", client), settings=wanted, clock=clock, pause=clock.advance)
    parts = list(reader.read(offset_range(start, stop)))
    missing = [lost_range for lost_range in parts if isinstance(lost_range, LostRange)]
    found = [
        (record.offset, record.value)
        for part in parts
        if isinstance(part, RangePart)
        for record in part.records()
    ]
    end = min(stop, log.last_stable) if committed else stop
    assert found == log.visible(start, end, committed=committed)
    assert bool(missing) == (end < stop and start < stop)
    assert all(lost_range.from_offset >= min(max(start, end), stop) for lost_range in missing)
