"""The state of one range: what is asked for ahead, and what settings make no sense."""

import pickle
from typing import Any

import pytest

from tests.support.poll_logs import ModelLog
from tests.support.ranges import DECODERS, TP, bench, offsets, range_, response, values
from zkconsumer.errors import DataLost
from zkconsumer.fetch import ranges
from zkconsumer.fetch.range_parts import (
    PieceDecoder,
    RangePart,
    RangePiece,
    decode_native,
    decode_pure,
)
from zkconsumer.fetch.range_settings import RangeSettings
from zkconsumer.fetch.ranges import RangeCursor, ResponseKind
from zkconsumer.records.codecs import CODECS_OF_MESSAGES, Codec
from zkconsumer.records.engine import ENGINE, WHY, Engine
from zkconsumer.records.transactions import IsolationLevel, Marker
from zkconsumer.wire.messages.fetch import FetchedPartition, FetchPartition

needs_native = pytest.mark.skipif(ENGINE is not Engine.NATIVE, reason=WHY)


@needs_native
@pytest.mark.parametrize("codec", CODECS_OF_MESSAGES)
@pytest.mark.parametrize("cut", [0, 1, 20, 40])
def test_what_is_asked_ahead_is_what_would_be_asked_behind(codec: Codec, cut: int) -> None:
    """So its answer is used: the same offset, the same size, whatever is cut off at the end."""
    world = bench()
    for start in range(0, 40, 4):
        world.net.cluster.append(TP, values(*range(start, start + 4)), codec)
    log = world.net.cluster.log(TP).read(0, 1 << 20)
    cursor = RangeCursor(range_(0, 60), RangeSettings(part_bytes=200), decoder=decode_native)
    first = cursor.request()
    assert first is not None
    found = cursor.receive(first, response(log[: len(log) - cut]).topics[0].partitions[0], 0)
    assert found is ResponseKind.ARRIVED
    ahead = cursor.next_request()
    while cursor.has_packed():
        cursor.unpack()
    assert ahead is not None
    assert ahead == cursor.request()


@needs_native
def test_the_next_request_leaves_before_anything_is_decoded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the native engine, which looks at the headers in no time."""
    world = bench()
    world.net.cluster.append(TP, values(*range(100)))
    requests = world.net.brokers[0].requests
    seen = []

    def spy(*arguments: Any) -> RangePiece:
        seen.append(len(requests))
        return decode_native(*arguments)

    monkeypatch.setattr(ranges, "decode_native", spy)
    found = world.reader(spy, fetch_bytes=300).read(range_(0, 50), leader=world.leader())
    assert offsets(found) == list(range(50))
    assert seen[:3] == [2, 3, 4]


def test_the_engine_in_python_does_not_look_ahead() -> None:
    """It takes it no less time than decoding."""
    cursor = RangeCursor(range_(0, 60), RangeSettings(), decoder=decode_pure)
    assert cursor.next_request() is None


@pytest.mark.parametrize("decoder", DECODERS)
def test_parts_are_bounded_however_much_an_answer_unpacks_to(decoder: PieceDecoder) -> None:
    """A megabyte of nothing takes a kilobyte in the log."""
    world = bench()
    for _ in range(3):
        blank = [one._replace(value=bytes(10_000)) for one in values(*range(100))]
        world.net.cluster.append(TP, blank, Codec.GZIP)
    parts = list(world.reader(decoder, part_bytes=1 << 20).read(range_(0, 300)))
    assert offsets(parts) == list(range(300))
    assert len(parts) >= 3
    # No more than the bound, and no set is begun behind it.
    assert max(len(part) for part in parts if isinstance(part, RangePart)) <= 200


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
@pytest.mark.parametrize("decoder", DECODERS)
def test_the_smallest_parts_still_get_on(decoder: PieceDecoder, codec: Codec) -> None:
    """A piece that holds less than the header of an entry would never end."""
    world = bench()
    for start in range(0, 20, 4):
        world.net.cluster.append(TP, values(*range(start, start + 4)), codec)
    parts = list(world.reader(decoder, part_bytes=1).read(range_(3, 18)))
    assert offsets(parts) == list(range(3, 18))


@pytest.mark.parametrize(
    "changes",
    [
        {"fetch_bytes": 0},
        {"growth_max_bytes": 0},
        {"timeout_ms": 0},
        {"max_decompressed_bytes": 0},
        {"part_bytes": 0},
        {"max_wait_ms": -1},
        {"retries": -1},
        {"retry_interval_ms": -1},
        {"poll_timeout_ms": -1},
    ],
)
def test_settings_that_make_no_sense_are_refused(changes: dict[str, int]) -> None:
    """Naming the field."""
    (name,) = changes
    with pytest.raises(ValueError, match=name):
        RangeSettings(**changes)  # type: ignore[arg-type]  # of ints only


def test_settings_and_losses_cross_from_process_to_process() -> None:
    """With all they say."""
    settings = RangeSettings(client_id="c", fetch_bytes=5)
    assert pickle.loads(pickle.dumps(settings)) == settings
    lost = pickle.loads(pickle.dumps(DataLost(TP, 3, 9, "the log begins at 9")))
    assert (lost.topic_partition, lost.from_offset, lost.until_offset) == (TP, 3, 9)
    assert str(lost) == str(DataLost(TP, 3, 9, "the log begins at 9"))


@pytest.mark.parametrize("part_bytes", [1, 1 << 20])
@pytest.mark.parametrize("decoder", DECODERS)
def test_an_answer_in_many_pieces_knows_which_transactions_were_aborted(
    decoder: PieceDecoder, part_bytes: int
) -> None:
    """One that was over in the first piece is not begun again in the second."""
    log = ModelLog(magic=2, leader=0)
    for marker in (Marker.ABORT, Marker.COMMIT, Marker.ABORT, Marker.COMMIT):
        for _ in range(2):
            log.append(3, codec=Codec.GZIP, producer=7)
        log.finish(7, marker)
    settings = RangeSettings(part_bytes=part_bytes, isolation=IsolationLevel.READ_COMMITTED)
    cursor = RangeCursor(range_(0, log.end), settings, decoder=decoder)
    request = cursor.request()
    assert request is not None
    wanted = FetchPartition(partition=0, fetch_offset=0, max_bytes=1 << 20)
    data = log.read(wanted, 12, 1 << 20, committed=True)
    fetched = FetchedPartition(
        partition=0,
        error_code=0,
        high_watermark=log.end,
        last_stable_offset=log.last_stable,
        aborted_transactions=log.aborted_in(0, data),
        records=memoryview(data),
    )
    assert cursor.receive(request, fetched, 0) is ResponseKind.ARRIVED
    pieces = 0
    found: list[int] = []
    while cursor.has_packed():
        found += offsets(cursor.unpack())
        pieces += 1
    assert found == [offset for offset, _ in log.visible(0, log.end, committed=True)]
    assert cursor.request() is None
    assert (pieces > 1) == (part_bytes == 1)
