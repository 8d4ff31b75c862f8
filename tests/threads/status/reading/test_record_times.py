"""The timestamp of the record at an offset."""

from collections.abc import Callable, Iterator

import pytest

from tests.support.markers import build_marker
from tests.support.scripted_broker import ScriptedAction, ScriptedBroker, ScriptedResponse, old
from tests.support.scripted_dialing import ADDRESS, dialer_to
from zkconsumer.clock import SystemClock
from zkconsumer.error_codes import ErrorCode
from zkconsumer.model import Record, TimestampType, TopicPartition
from zkconsumer.records.build import build_message_set
from zkconsumer.records.build_batch import BatchTraits, build_batch
from zkconsumer.records.codecs import Codec
from zkconsumer.records.transactions import Marker
from zkconsumer.status.reading.broker_round import BrokerRound
from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.status.reading.record_times import read_record_times
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.codec import RequestFrame
from zkconsumer.wire.messages.fetch import (
    FetchedPartition,
    FetchedTopic,
    FetchPartition,
    FetchRequest,
    FetchResponse,
)
from zkconsumer.wire.versions import BrokerGeneration

Serve = Callable[[FetchPartition], bytes]


def records(*offsets: int, value: bytes = b"v") -> list[Record]:
    """Make records whose timestamps are ten times their offsets."""
    kind = TimestampType.CREATE_TIME
    return [Record(offset, None, value, 10 * offset, kind) for offset in offsets]


def serving(data: bytes) -> Serve:
    """Make a log that returns the same bytes for every fetch."""
    return lambda _: data


@pytest.fixture
def world() -> Iterator["World"]:
    """A broker with logs, and a reader of timestamps."""
    world = World()
    yield world
    world.brokers.close(5_000)


class World:
    """One broker with the logs of a topic.

    Attributes:
        logs: what it serves of each partition, mostly one entry.
        errors: the error codes of partitions that fail.
        leaves_out: whether entries that don't fit are left out, as from 0.10.1 on.
    """

    def __init__(self) -> None:
        self.logs: dict[int, Serve] = {}
        self.errors: dict[int, ErrorCode] = {}
        self.leaves_out = False
        self.broker = ScriptedBroker(ADDRESS, response=self._respond)
        self.brokers = BrokerRound(dialer_to(self.broker), SystemClock())

    def read(self, wanted: dict[int, int], timeout_ms: int = 5_000) -> dict[int, int]:
        """Return the timestamps at these offsets, by partition."""
        by_tp = {TopicPartition("t", number): offset for number, offset in wanted.items()}
        deadline = Deadline(SystemClock(), timeout_ms)
        leaders = dict.fromkeys(by_tp, ADDRESS)
        found = read_record_times(self.brokers, by_tp, leaders, deadline)
        return {tp.partition: at_ms for tp, at_ms in found.items()}

    def _respond(self, frame: RequestFrame) -> ScriptedResponse | None:
        if not isinstance(frame.request, FetchRequest):
            return None
        return FetchResponse(
            topics=tuple(
                FetchedTopic(
                    topic=topic.topic,
                    partitions=tuple(
                        self._partition(partition, whole=self.leaves_out and not place)
                        for place, partition in enumerate(topic.partitions)
                    ),
                )
                for topic in frame.request.topics
            )
        )

    def _partition(self, requested: FetchPartition, *, whole: bool) -> FetchedPartition:
        error = self.errors.get(requested.partition, ErrorCode.NONE)
        data = b"" if error else self.logs[requested.partition](requested)
        if len(data) > requested.max_bytes and not whole:
            data = b"" if self.leaves_out else data[: requested.max_bytes]
        return FetchedPartition(
            partition=requested.partition,
            error_code=int(error),
            high_watermark=100,
            records=memoryview(data),
        )

    def fetches(self) -> list[list[FetchPartition]]:
        """Return the requested partitions of each fetch."""
        requests = [request_frame.request for request_frame in self.broker.requested(ApiKey.FETCH)]
        return [
            list(request.topics[0].partitions)
            for request in requests
            if isinstance(request, FetchRequest)
        ]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_timestamps_of_all_formats_are_read(world: World, codec: Codec) -> None:
    """Those of 0.11 and 0.10 are, compressed or not; older ones have no timestamps."""
    some = records(4, 5, 6, 7)
    world.logs = {
        0: lambda _: build_batch(some, codec=codec),
        1: lambda _: build_message_set(some, magic=1, codec=codec),
        2: lambda _: build_message_set(some, magic=0, codec=codec),
    }
    assert world.read({0: 5, 1: 6, 2: 5}) == {0: 50, 1: 60}
    assert len(world.broker.requested(ApiKey.FETCH)) == 1


def test_a_missing_record_counts_as_the_next(world: World) -> None:
    """It was compacted away, or is a marker, after which another fetch is needed."""

    def transactions(requested: FetchPartition) -> bytes:
        if requested.fetch_offset <= 6:
            return build_marker(Marker.COMMIT, 6, timestamp=60, traits=BatchTraits(producer_id=1))
        return build_batch(records(7))

    world.logs = {0: lambda _: build_batch(records(4, 9)), 1: transactions}
    assert world.read({0: 5, 1: 6}) == {0: 90, 1: 70}


def test_a_large_batch_is_fetched_with_its_full_size(world: World) -> None:
    """Its truncated beginning says how large it is."""
    large = build_batch(records(4, 5, value=b"v" * 100_000))
    world.logs = {0: lambda _: large, 1: lambda _: build_batch(records(4))}
    assert world.read({0: 5, 1: 4}) == {0: 50, 1: 40}
    sizes = [fetch[0].max_bytes for fetch in world.fetches()]
    assert sizes == [4 * 1024, len(large)]


def test_unknown_timestamps_are_left_out(world: World) -> None:
    """An error, the end of a log or garbage does not affect the other partitions."""
    world.logs = {
        1: lambda _: b"",
        2: lambda _: b"\0" * 100,
        3: lambda _: build_batch(records(3)),
    }
    world.errors = {0: ErrorCode.OFFSET_OUT_OF_RANGE}
    assert world.read({0: 1, 1: 1, 2: 1, 3: 3}) == {3: 30}


def test_brokers_without_timestamps_get_no_fetch(world: World) -> None:
    """Their records have no timestamps."""
    world.broker.serves = old(BrokerGeneration.V0_9)
    world.broker.generation = BrokerGeneration.V0_9
    assert world.read({0: 1}) == {}
    assert world.broker.requested(ApiKey.FETCH) == []


def test_a_broker_that_hangs_costs_the_time_out_only(world: World) -> None:
    """Its timestamps are left out."""
    world.broker.response = lambda frame: (
        ScriptedAction.SILENCE if frame.api_key is ApiKey.FETCH else None
    )
    assert world.read({0: 1}, timeout_ms=200) == {}


def test_large_responses_are_split(world: World) -> None:
    """None of them is too large for our memory."""
    large = build_batch(records(4, value=b"v" * 1_500_000))
    world.logs = {number: lambda _: large for number in range(7)}
    assert world.read(dict.fromkeys(range(7), 4)) == dict.fromkeys(range(7), 40)
    counts = [len(fetch) for fetch in world.fetches()]
    assert counts == [7, 2, 2, 2, 1]


def test_partitions_that_a_broker_leaves_out_are_fetched_again(world: World) -> None:
    """Of those that did not fit beside the first, larger ones are fetched one by one."""
    world.leaves_out = True
    sizes = (5_000, 5_000, 20_000, 50_000, 50_000)
    world.logs = {
        number: serving(build_batch(records(4, value=b"v" * size)))
        for number, size in enumerate(sizes)
    }
    assert world.read(dict.fromkeys(range(5), 4)) == dict.fromkeys(range(5), 40)
    requested = [[partition.partition for partition in part] for part in world.fetches()]
    assert requested == [[0, 1, 2, 3, 4], [1, 2, 3, 4], [3], [4]]


def test_the_end_of_a_log_is_not_fetched_again(world: World) -> None:
    """A single partition without records was not left out."""
    world.logs = {0: lambda _: b""}
    assert world.read({0: 100}) == {}
    assert len(world.fetches()) == 1
