"""How much of a range is requested and when, its parts, and invalid settings."""

import pickle
from typing import Any, cast

import pytest

from tests.support.poll_logs import ModelLog
from tests.support.range_logs import LogClient, LogConnection
from tests.support.ranges import TP, RangeReaderBench, offset_range, offsets, range_bench, values
from zkconsumer.errors import DataLost
from zkconsumer.fetch.core import fetch_connection
from zkconsumer.fetch.core.completed import Unpacked, unpack
from zkconsumer.fetch.range_parts import RangePart
from zkconsumer.fetch.range_reader import RangeReader
from zkconsumer.fetch.range_settings import RangeSettings
from zkconsumer.fetch.ranges import RangeBounds
from zkconsumer.records.codecs import CODECS_OF_MESSAGES, Codec
from zkconsumer.records.engine import ENGINE, WHY, Engine
from zkconsumer.records.transactions import IsolationLevel
from zkconsumer.wire.messages.fetch import FetchRequest

needs_native = pytest.mark.skipif(ENGINE is not Engine.NATIVE, reason=WHY)


def fetched_offsets(world: RangeReaderBench) -> list[int]:
    """Return the offsets at which the broker was asked to fetch."""
    requests = [request.request for request in world.net.brokers[0].requests]
    return [
        request.topics[0].partitions[0].fetch_offset
        for request in requests
        if isinstance(request, FetchRequest)
    ]


@pytest.mark.parametrize("codec", CODECS_OF_MESSAGES)
@pytest.mark.parametrize("fetch_bytes", [150, 300, 1 << 20])
def test_early_requests_are_never_repeated(codec: Codec, fetch_bytes: int) -> None:
    """No offset is requested twice, whatever is truncated at the end of a response."""
    world = range_bench()
    for start in range(0, 40, 4):
        world.net.cluster.append(TP, values(*range(start, start + 4)), codec)
    found = world.reader(fetch_bytes=fetch_bytes).read(offset_range(0, 40), leader=world.leader())
    assert offsets(found) == list(range(40))
    requested = fetched_offsets(world)
    assert requested == sorted(set(requested))


@needs_native
def test_the_next_request_is_sent_before_a_response_is_unpacked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The native engine reads the headers first."""
    world = range_bench()
    world.net.cluster.append(TP, values(*range(100)))
    requests = world.net.brokers[0].requests
    seen = []

    def spy(*arguments: Any) -> Unpacked:
        seen.append(len(requests))
        return unpack(*arguments)

    monkeypatch.setattr(fetch_connection, "unpack", spy)
    found = world.reader(fetch_bytes=300).read(offset_range(0, 50), leader=world.leader())
    assert offsets(found) == list(range(50))
    assert seen[:3] == [2, 3, 4]


@pytest.mark.parametrize("isolation", IsolationLevel)
@pytest.mark.parametrize("part_bytes", [1 << 12, 1 << 16, 1 << 20])
def test_nothing_is_fetched_twice_whatever_its_decompressed_size(
    isolation: IsolationLevel, part_bytes: int
) -> None:
    """Records beyond the size of a part stay packed until it is their turn."""
    log = ModelLog(magic=2, leader=0)
    for _ in range(40):
        log.append(10, codec=Codec.GZIP, size=2_000)
    connection = LogConnection(log, committed=isolation is IsolationLevel.READ_COMMITTED)
    settings = RangeSettings(fetch_bytes=1 << 11, part_bytes=part_bytes, isolation=isolation)
    reader = RangeReader(cast("Any", LogClient(connection)), settings=settings)
    assert offsets(reader.read(offset_range(0, log.end))) == list(range(400))
    came_bytes = sum(request[2] for request in connection.asked)
    assert came_bytes <= 1.2 * sum(len(batch.data) for batch in log.batches)


def test_the_last_request_of_a_range_covers_only_the_rest() -> None:
    """It is sized by what earlier offsets took, with a margin; after the range it is 0."""
    bounds = RangeBounds(offset_range(0, 1_000), RangeSettings())
    bounds.learn(0, 900, 9_000)
    assert bounds.size_at(900) == 64 * 1024 + 1_250
    assert bounds.size_at(1_000) == bounds.size_at(1_001) == 0


def test_parts_are_bounded_whatever_a_response_decompresses_to() -> None:
    """A megabyte of zeros takes a kilobyte in the log."""
    world = range_bench()
    for _ in range(3):
        blank = [record._replace(value=bytes(10_000)) for record in values(*range(100))]
        world.net.cluster.append(TP, blank, Codec.GZIP)
    parts = list(world.reader(part_bytes=1 << 20).read(offset_range(0, 300)))
    assert offsets(parts) == list(range(300))
    assert len(parts) >= 3
    # At most the limit, plus the set that was begun below it.
    assert max(len(part) for part in parts if isinstance(part, RangePart)) <= 200


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_the_smallest_parts_still_make_progress(codec: Codec) -> None:
    """A piece smaller than the header of an entry would never end."""
    world = range_bench()
    for start in range(0, 20, 4):
        world.net.cluster.append(TP, values(*range(start, start + 4)), codec)
    parts = list(world.reader(part_bytes=1).read(offset_range(3, 18)))
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
def test_invalid_settings_are_refused(changes: dict[str, int]) -> None:
    """The error names the field."""
    (name,) = changes
    with pytest.raises(ValueError, match=name):
        RangeSettings(**changes)  # type: ignore[arg-type]  # of ints only


def test_settings_and_losses_can_be_pickled() -> None:
    """All of their values survive."""
    settings = RangeSettings(client_id="c", fetch_bytes=5)
    assert pickle.loads(pickle.dumps(settings)) == settings
    lost = pickle.loads(pickle.dumps(DataLost(TP, 3, 9, "the log begins at 9")))
    assert (lost.topic_partition, lost.from_offset, lost.until_offset) == (TP, 3, 9)
    assert str(lost) == str(DataLost(TP, 3, 9, "the log begins at 9"))
