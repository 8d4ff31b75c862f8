"""Ranges read from brokers that misbehave: each record once and in order, or an error."""

from typing import Any

import pytest

from tests.fakes.fake_script import Close, Cut, Fail, Hang, Raw, ScriptedReply
from tests.support.manual_clock import ManualClock
from tests.support.ranges import (
    TP,
    RangeReaderBench,
    damage,
    offset_range,
    offsets,
    range_bench,
    response,
    values,
)
from tests.support.record_sets import gzip_of, wrapper_around
from zkconsumer.cluster.connection_pool import ConnectionPool
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import ConnectionLost, MessageTooLarge, PartitionFailed, TransportError
from zkconsumer.fetch.range_parts import LostRange, RangePart
from zkconsumer.model import Broker, Record
from zkconsumer.net.connection import BrokerConnection
from zkconsumer.net.negotiated import NegotiatedConnection
from zkconsumer.records.build import build_message_set
from zkconsumer.records.codecs import CODECS_OF_MESSAGES, Codec
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse

ENTRY_BYTES = 28
"""The size of a record with a value of two digits."""


@pytest.fixture(params=[True, False], ids=["known", "asked"])
def world(request: pytest.FixtureRequest) -> RangeReaderBench:
    """A broker with 100 records in ``t-0``; it is known to be old, or asked for its versions."""
    world = range_bench(are_old=request.param)
    world.net.cluster.append(TP, values(*range(100)))
    return world


def fetches_of(world: RangeReaderBench) -> list[FetchPartition]:
    """Return what the broker was asked to fetch."""
    requests = [request.request for request in world.net.brokers[0].requests]
    return [
        request.topics[0].partitions[0] for request in requests if isinstance(request, FetchRequest)
    ]


def is_idle(world: RangeReaderBench) -> bool:
    """Return whether an idle connection to the leader can be reused."""
    connection, was_idle = world.connections.take_or_dial(world.leader(), timeout_ms=1_000)
    world.connections.give_back(connection)
    return was_idle


@pytest.mark.parametrize("edges", [(0, 100), (3, 57), (99, 100), (0, 1), (50, 50)])
def test_a_range_is_read_exactly(world: RangeReaderBench, edges: tuple[int, int]) -> None:
    """From its first offset to the last one before its end, whatever else a fetch returns."""
    found = world.reader().read(offset_range(*edges), leader=world.leader())
    assert offsets(found) == list(range(*edges))
    assert world.pauses == []


@pytest.mark.parametrize("codec", CODECS_OF_MESSAGES)
@pytest.mark.parametrize("fetch_bytes", [40, 200, 1 << 20])
def test_sets_are_cut_to_the_range(codec: Codec, fetch_bytes: int) -> None:
    """A compressed set may extend beyond the range at both ends; small fetches grow."""
    world = range_bench()
    for start in range(0, 60, 12):
        world.net.cluster.append(TP, values(*range(start, start + 12)), codec)
    read = world.reader(fetch_bytes=fetch_bytes).read(offset_range(5, 55))
    records = [record for part in read for record in part.records()]  # type: ignore[union-attr]
    assert [(record.offset, record.value) for record in records] == [
        (number, b"%d" % number) for number in range(5, 55)
    ]


def test_the_next_request_is_sent_before_the_response_is_returned(world: RangeReaderBench) -> None:
    """It requests what follows, so that its response is used."""
    found = world.reader(fetch_bytes=10 * ENTRY_BYTES).read(
        offset_range(10, 90), leader=world.leader()
    )
    first = next(found)
    assert first.records()[0].offset == 10  # type: ignore[union-attr]
    fetches = fetches_of(world)
    requested = [fetch.fetch_offset for fetch in fetches]
    assert requested == [10, first.next_offset]  # type: ignore[union-attr]
    rest = offsets(found)
    assert rest == list(range(20, 90))
    # No response was dropped: each offset was requested once.
    fetches = fetches_of(world)
    requested = [fetch.fetch_offset for fetch in fetches]
    assert requested == sorted(set(requested))
    assert is_idle(world)


def test_a_small_range_is_fetched_with_a_small_request(world: RangeReaderBench) -> None:
    """The size per record is an estimate at first."""
    list(world.reader(fetch_bytes=1 << 22).read(offset_range(0, 10)))
    sizes = [partition.max_bytes for partition in fetches_of(world)]
    assert sizes == [64 * 1024 + 10 * 1024 * 5 // 4]


def test_a_connection_with_a_request_in_flight_is_not_reused(world: RangeReaderBench) -> None:
    """If reading stops early, it is closed instead of being given back."""
    reader = world.reader(fetch_bytes=10 * ENTRY_BYTES)
    found = reader.read(offset_range(0, 90), leader=world.leader())
    next(found)
    found.close()
    assert not is_idle(world)
    assert offsets(reader.read(offset_range(0, 90), leader=world.leader())) == list(range(90))


@pytest.mark.parametrize("step", [Close(), Cut(3), Cut(60), Raw(b"HTTP/1.1 400"), Fail(6), Fail(3)])
@pytest.mark.parametrize("count", [0, 1, 4])
def test_temporary_failures_are_retried_without_duplicates(
    world: RangeReaderBench, step: Close, count: int
) -> None:
    """After any request: a lost connection, a partial or empty response, a moved leader."""
    broker = world.net.brokers[0]
    found = world.reader(fetch_bytes=10 * ENTRY_BYTES).read(
        offset_range(0, 90), leader=world.leader()
    )
    read = [next(found) for _ in range(count)]
    broker.script(ApiKey.FETCH, step)
    assert offsets([*read, *found]) == list(range(90))


def test_a_leader_that_moved_is_found() -> None:
    """No record is lost or repeated, and the metadata request names no topic."""
    world = range_bench(broker_count=2)
    world.net.cluster.append(TP, values(*range(100)))
    found = world.reader(fetch_bytes=10 * ENTRY_BYTES).read(offset_range(0, 90))
    read = [next(found), next(found)]
    world.net.cluster.move_leader(TP, 1)
    read += found
    assert offsets(read) == list(range(90))
    requested = [
        request.request.topics  # type: ignore[attr-defined]
        for broker in (world.net.brokers[0], world.net.brokers[1])
        for request in broker.requests
        if request.api_key is ApiKey.METADATA
    ]
    assert set(requested) == {()}


def test_a_dead_broker_is_replaced_by_the_new_leader() -> None:
    """Records that it had sent are returned once."""
    world = range_bench(broker_count=2)
    world.net.cluster.append(TP, values(*range(100)))
    found = world.reader(fetch_bytes=10 * ENTRY_BYTES).read(offset_range(0, 90))
    read = [next(found)]
    world.net.brokers[0].stop()
    world.net.cluster.move_leader(TP, 1)
    assert offsets([*read, *found]) == list(range(90))


def test_an_idle_connection_that_broke_is_no_failure(world: RangeReaderBench) -> None:
    """Brokers close idle connections; a new one is opened without a pause."""
    reader = world.reader()
    assert len(offsets(reader.read(offset_range(0, 9), leader=world.leader()))) == 9
    world.net.brokers[0].stop()
    world.net.brokers[0].start()
    assert len(offsets(reader.read(offset_range(0, 9), leader=world.leader()))) == 9
    assert world.pauses == []


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_stopped_pool_ends_a_range_at_once(world: RangeReaderBench, is_kept: bool) -> None:
    """Also on a reused connection, whose end is usually no failure."""
    reader = world.reader(fetch_bytes=10 * ENTRY_BYTES)
    if is_kept:
        assert len(offsets(reader.read(offset_range(0, 9), leader=world.leader()))) == 9
    found = reader.read(offset_range(0, 90), leader=world.leader())
    first = next(found)
    world.connections.stop()
    with pytest.raises(PartitionFailed) as raised:
        list(found)
    assert raised.value.offset == first.next_offset  # type: ignore[union-attr]
    assert world.pauses == []


def test_failures_while_connecting_count_as_attempts(
    world: RangeReaderBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that was reused before does not excuse a failure to connect."""
    reader = world.reader(ManualClock(), fetch_bytes=10 * ENTRY_BYTES, poll_timeout_ms=0)
    assert len(offsets(reader.read(offset_range(0, 9), leader=world.leader()))) == 9
    found = reader.read(offset_range(0, 90), leader=world.leader())
    next(found)

    def closed(_: object, broker: Broker, **__: object) -> NegotiatedConnection:
        raise ConnectionLost(f"{broker}: closed on our token")

    monkeypatch.setattr(ConnectionPool, "take_or_dial", closed)
    world.net.brokers[0].script(ApiKey.FETCH, *[Close()] * 3)
    with pytest.raises(PartitionFailed, match="3 attempts failed"):
        list(found)
    assert world.pauses == [1, 2]


@pytest.mark.parametrize("is_there", [True, False])
def test_the_last_failure_is_the_cause(world: RangeReaderBench, is_there: bool) -> None:
    """Both of a leader that does not respond and of brokers that do not name one."""
    leader = world.leader() if is_there else None
    if is_there:
        world.net.brokers[0].script(ApiKey.FETCH, *[Close()] * 6)
    else:
        world.net.brokers[0].stop()
    reader = world.reader(ManualClock(), poll_timeout_ms=0)
    with pytest.raises(PartitionFailed, match="3 attempts failed") as raised:
        list(reader.read(offset_range(0, 90), leader=leader))
    assert isinstance(raised.value.__cause__, TransportError)
    assert str(raised.value).endswith(f"the last one: {raised.value.__cause__}")


def test_silence_counts_on_a_reused_connection(world: RangeReaderBench) -> None:
    """Only its being closed is no failure; otherwise each reused one would be waited for."""
    reader = world.reader(timeout_ms=30)
    assert len(offsets(reader.read(offset_range(0, 9), leader=world.leader()))) == 9
    world.net.brokers[0].script(ApiKey.FETCH, Hang())
    assert len(offsets(reader.read(offset_range(0, 9), leader=world.leader()))) == 9
    assert world.pauses == [1]


def test_without_a_leader_reading_ends_after_the_last_attempt(world: RangeReaderBench) -> None:
    """Pauses grow, and the error names the partition, the offset and the reason."""
    world.net.cluster.move_leader(TP, None)
    clock = ManualClock()
    clock.step_ms = 20
    with pytest.raises(
        PartitionFailed, match=r"t-0 stopped at offset 7: 4 attempts failed .* it has no leader"
    ):
        list(world.reader(clock).read(offset_range(7, 9)))
    assert world.pauses == [1, 2, 4]


def test_a_broker_that_hangs_is_disconnected(world: RangeReaderBench) -> None:
    """After the time-out the next connection works."""
    world.net.brokers[0].script(ApiKey.FETCH, Hang())
    found = world.reader(timeout_ms=30).read(offset_range(0, 9), leader=world.leader())
    assert offsets(found) == list(range(9))
    assert world.pauses == [1]


def test_a_lost_answer_is_asked_for_again_over_a_second_connection(world: RangeReaderBench) -> None:
    """A hedged request repeats it soon, without counting a failure or waiting for the time-out."""
    found = world.reader(fetch_bytes=10 * ENTRY_BYTES).read(
        offset_range(0, 90), leader=world.leader()
    )
    read = [next(found)]
    world.net.brokers[0].script(ApiKey.FETCH, Hang())
    assert offsets([*read, *found]) == list(range(90))
    assert world.pauses == []
    assert len(fetches_of(world)) == 10


def test_a_message_beyond_the_limit_is_an_error(world: RangeReaderBench) -> None:
    """The messages before it are returned."""
    world.net.cluster.append(TP, [Record(-1, None, bytes(5_000))])
    found = world.reader(fetch_bytes=300, growth_max_bytes=4_000).read(offset_range(95, 101))
    read: list[RangePart | LostRange] = []
    with pytest.raises(MessageTooLarge, match="t-0 offset 100 takes 5026 bytes"):
        read.extend(found)
    assert offsets(read) == list(range(95, 100))


def test_a_large_message_makes_the_fetch_grow(world: RangeReaderBench) -> None:
    """Later messages are requested in the usual size again."""
    world.net.cluster.append(TP, [Record(-1, None, bytes(5_000)), *values(*range(101, 150))])
    found = world.reader(fetch_bytes=300).read(offset_range(90, 150))
    assert offsets(found) == list(range(90, 150))
    fetches = fetches_of(world)
    assert [fetch.max_bytes for fetch in fetches if fetch.fetch_offset == 100] == [5_026]
    assert fetches[-1].max_bytes == 300


def test_a_corrupt_entry_stops_the_range_at_its_offset(world: RangeReaderBench) -> None:
    """It is fetched twice first; sound records before it are returned."""
    entry = build_message_set([Record(100, None, b"x")])
    world.net.cluster.append_raw(TP, damage(entry))
    world.net.cluster.append(TP, values(*range(101, 120)))
    found = world.reader().read(offset_range(90, 120))
    read: list[RangePart | LostRange] = []
    with pytest.raises(PartitionFailed, match=r"t-0 stopped at offset 100: .*CRC") as raised:
        read.extend(found)
    assert offsets(read) == list(range(90, 100))
    assert raised.value.offset == 100
    assert len(offsets(world.reader().read(offset_range(90, 100)))) == 10


def test_a_response_damaged_in_transit_is_requested_again(world: RangeReaderBench) -> None:
    """Damage that is seen once proves nothing."""
    damaged = damage(world.net.cluster.log(TP).read(0, 1 << 20))
    world.net.brokers[0].script(ApiKey.FETCH, ScriptedReply(response(damaged)))
    assert offsets(world.reader().read(offset_range(0, 100))) == list(range(100))


def test_an_early_request_sent_because_of_damage_is_dropped(world: RangeReaderBench) -> None:
    """The headers looked sound, so the next request was already sent."""
    whole = world.net.cluster.log(TP).read(0, 1 << 20)
    sound, rest = whole[: 27 * 5], whole[27 * 5 : 27 * 10]
    damaged = sound + damage(rest[:27]) + rest[27:]
    world.net.brokers[0].script(ApiKey.FETCH, ScriptedReply(response(damaged)))
    assert offsets(world.reader().read(offset_range(0, 100))) == list(range(100))


def test_sound_records_of_a_damaged_set_are_returned() -> None:
    """The checksum of the wrapper may be right, but each inner record has its own."""
    world = range_bench()
    inner = [build_message_set([Record(offset, None, b"v")]) for offset in range(4)]
    wrapper = wrapper_around(3, gzip_of(inner[0] + inner[1] + damage(inner[2]) + inner[3]))
    world.net.cluster.append_raw(TP, wrapper, 4)
    found = world.reader().read(offset_range(0, 4))
    read: list[RangePart | LostRange] = []
    with pytest.raises(PartitionFailed, match="t-0 stopped at offset 2"):
        read.extend(found)
    assert offsets(read) == [0, 1]
    assert offsets(world.reader().read(offset_range(0, 2))) == [0, 1]


def test_attempts_count_from_the_last_progress(world: RangeReaderBench) -> None:
    """A long range survives more failures than there are attempts."""
    found = world.reader(fetch_bytes=300, retries=1, poll_timeout_ms=0).read(
        offset_range(0, 90), leader=world.leader()
    )
    read = []
    for count, part in enumerate(found):
        read.append(part)
        if count % 3:  # one response is in flight already, so that two failures are never in a row
            continue
        world.net.brokers[0].script(ApiKey.FETCH, Close())
    assert offsets(read) == list(range(90))
    assert set(world.pauses) == {1}


def test_a_response_about_other_partitions_is_ignored(world: RangeReaderBench) -> None:
    """The request is repeated."""
    world.net.brokers[0].script(
        ApiKey.FETCH,
        ScriptedReply(response(b"", partition=1)),
        ScriptedReply(FetchResponse(topics=())),
    )
    assert offsets(world.reader().read(offset_range(0, 100))) == list(range(100))
    assert world.pauses == [1, 2]


def test_a_refusal_of_the_broker_is_final(world: RangeReaderBench) -> None:
    """An authorization error is raised without a retry."""
    world.net.brokers[0].script(ApiKey.FETCH, Fail(ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    with pytest.raises(PartitionFailed, match="t-0 stopped at offset 0: the broker refuses"):
        list(world.reader().read(offset_range(0, 100)))


def test_every_request_has_a_time_out_for_sending(
    world: RangeReaderBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Early requests have one, too, since a broker may not read from its socket."""
    given: list[int] = []
    begin = BrokerConnection.begin

    def recording(connection: Any, request: Any, *, timeout_ms: int, **others: Any) -> Any:
        if isinstance(request, FetchRequest):  # a metadata request has the remaining time
            given.append(timeout_ms)
        return begin(connection, request, timeout_ms=timeout_ms, **others)

    monkeypatch.setattr(BrokerConnection, "begin", recording)
    reader = world.reader(fetch_bytes=10 * ENTRY_BYTES, timeout_ms=4_321)
    assert offsets(reader.read(offset_range(0, 90))) == list(range(90))
    assert len(given) >= 9
    wait_ms = world.settings.max_wait_ms
    assert set(given) <= {4_321, 4_321 + wait_ms}


def test_every_connection_has_a_time_out_for_connecting(
    world: RangeReaderBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is that of a request; the second, hedged connection has what is left of it."""
    given: list[int] = []
    take_or_dial = ConnectionPool.take_or_dial

    def recording(
        pool: ConnectionPool, broker: Broker, *, timeout_ms: int
    ) -> tuple[NegotiatedConnection, bool]:
        given.append(timeout_ms)
        return take_or_dial(pool, broker, timeout_ms=timeout_ms)

    monkeypatch.setattr(ConnectionPool, "take_or_dial", recording)
    world.net.brokers[0].script(ApiKey.FETCH, Hang())
    reader = world.reader(timeout_ms=4_321)
    assert offsets(reader.read(offset_range(0, 90), leader=world.leader())) == list(range(90))
    first, second = given
    assert first == 4_321
    assert 0 < second < first
