"""A response that keeps arriving is waited for, as in the original; one that stops is not."""

from dataclasses import replace

import pytest

from tests.support.log_broker import LogBroker
from tests.support.log_readers import SETTINGS, LogReader, offsets_in
from tests.support.waiting import PROMPT_MS, wait_until
from zkconsumer.net import hedging
from zkconsumer.records.engine import Engine

QUICK = replace(SETTINGS, request_timeout_ms=300, max_wait_ms=20, max_partition_bytes=1 << 20)
RECORDS = 60


def slow_broker(piece_bytes: int, pause_ms: int) -> LogBroker:
    """A broker that sends its log of some 7,000 bytes slowly."""
    broker = LogBroker()
    for _ in range(RECORDS):
        broker.logs[0].add([bytes(70)])
    broker.pieces, broker.pause_ms = (piece_bytes,), pause_ms
    return broker


def test_a_response_may_take_longer_than_the_time_out(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes arrive every 60 ms; a repeated request would take just as long."""
    monkeypatch.setattr(hedging, "_LEAST_HEDGE_DELAY_MS", PROMPT_MS)  # no moment is too silent
    quick = replace(QUICK, request_timeout_ms=500)
    with slow_broker(500, 60) as broker, LogReader(broker, engine, settings=quick) as reader:
        reader.add(0)
        assert len(offsets_in(reader)) == RECORDS
        offsets = [request.topics[0].partitions[0].fetch_offset for request in broker.requests]
        assert offsets.count(0) == 1
        assert reader.lost == []


@pytest.mark.parametrize(("piece_bytes", "pause_ms"), [(500, 2_000), (1, 40)])
def test_a_response_that_stops_or_never_ends_is_abandoned(
    engine: Engine, piece_bytes: int, pause_ms: int
) -> None:
    """It is after one time-out without a byte, or after ten if single bytes still come."""
    quick = replace(QUICK, request_timeout_ms=100)
    with (
        slow_broker(piece_bytes, pause_ms) as broker,
        LogReader(broker, engine, settings=quick) as reader,
    ):
        reader.add(0)
        wait_until(lambda: bool(reader.lost), what="the partition given back", timeout_s=20)
