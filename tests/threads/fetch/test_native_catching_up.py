"""The pump with topic ids and epochs, and how it notices the end of the log."""

import pytest

from tests.support.chunks import T0, T1, claim_of
from tests.support.pump_bench import (
    CALLED,
    FIRST_BOUNDED,
    FIRST_WITH_LOG_START,
    PART_BYTES,
    new_queue,
    offsets_of,
    pump_bench,
    slot,
)
from tests.support.queues import needs_native_engine
from tests.support.record_sets import records
from zkconsumer.model import Record
from zkconsumer.records.build import build_message_set
from zkconsumer.wire.codec import encode_request
from zkconsumer.wire.messages.fetch import (
    FETCH,
    LAST_BY_NAME,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)

pytestmark = needs_native_engine

ID = bytes(range(16))
FIRST_WITH_EPOCHS = 9


def set_of(size_bytes: int, offset: int = 0) -> bytes:
    """Return a set of one record that takes so many bytes."""
    overhead = len(build_message_set([Record(offset, None, b"")]))
    return build_message_set([Record(offset, None, bytes(size_bytes - overhead))])


FILLED = PART_BYTES - PART_BYTES // 8
"""The fewest bytes by which a partition counts as one that lags behind."""


# --- versions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(FETCH.first, 14))
def test_requests_and_responses_are_those_of_the_codec(version: int) -> None:
    """Of every version: topics by name or id, with the epoch of the leader and the log's start."""
    queue, claims = new_queue(), [claim_of(T0), claim_of(T1)]
    name = ID if version > LAST_BY_NAME else b"t"
    slots = [slot(claims[0], leader_epoch=7), slot(claims[1], offset=5)]
    expected = FetchRequest(
        max_wait_ms=100,
        min_bytes=1,
        max_bytes=1 << 30,
        topics=(
            FetchTopic(
                topic="t",
                topic_id=ID,
                partitions=(
                    FetchPartition(
                        partition=0, current_leader_epoch=7, fetch_offset=0, max_bytes=PART_BYTES
                    ),
                    FetchPartition(partition=1, fetch_offset=5, max_bytes=PART_BYTES),
                ),
            ),
        ),
    )
    with pump_bench() as bench:
        bench.load([queue], slots, name=name, ends_at_head=True)
        bench.start(version)
        arrived = bench.receive()
        assert arrived.frame == bench.pump.last_request()
        assert arrived.frame == encode_request(
            expected, version=version, correlation_id=1, client_id="c"
        )
        bench.respond({0: build_message_set(records(0, 1)), 1: build_message_set(records(5))})
        end = bench.ended()
        assert end[0] == CALLED
        back = bench.unloaded()
    assert [offsets_of(queue), offsets_of(queue)] == [[0, 1], [5]]
    assert [part.fetch_offset for part in back] == [2, 6]
    assert {claim.log_start for claim in claims} == {3 if version >= FIRST_WITH_LOG_START else -1}
    assert {claim.high_watermark for claim in claims} == {100}


@pytest.mark.parametrize("version", range(FIRST_WITH_EPOCHS, 14))
def test_the_epoch_is_where_the_codec_reads_it(version: int) -> None:
    """The epoch of the records that were fetched last is not sent."""
    with pump_bench() as bench:
        bench.load([new_queue()], [slot(claim_of(), leader_epoch=1 << 20)], name=ID)
        bench.start(version)
        [topic] = bench.receive().request.topics
        [part] = topic.partitions
    assert (part.current_leader_epoch, part.last_fetched_epoch) == (1 << 20, -1)


def test_a_response_with_another_id_has_no_topic_of_ours() -> None:
    """Whatever its partition's number."""
    queue, claim = new_queue(), claim_of()
    with pump_bench() as bench:
        bench.load([queue], [slot(claim)], name=ID)
        bench.start(13)
        bench.receive()
        bench.name = ID[::-1]
        bench.respond({0: build_message_set(records(0))})
        bench.ended()
        [back] = bench.unloaded()
    assert (back.is_left_out, back.fetch_offset, claim.log_start) == (True, 0, -1)
    assert queue.take_chunk() is None


@pytest.mark.parametrize("name", [b"t", ID[1:], ID + b"0"])
def test_a_version_with_ids_refuses_names(name: bytes) -> None:
    """Names of 16 bytes can't be told from ids."""
    with pump_bench() as bench:
        bench.load([new_queue()], [slot(claim_of())], name=name)
        with pytest.raises(ValueError, match="ids of all topics"):
            bench.run(13)
        with pytest.raises(ValueError, match="14"):
            bench.run(14)


# --- catching up ---------------------------------------------------------------------------------


def test_a_slot_is_unloaded_as_it_was_loaded() -> None:
    """Until a response came."""
    with pump_bench() as bench:
        slots = [slot(claim_of(T0), is_behind=True), slot(claim_of(T1))]
        bench.load([new_queue()], slots, ends_at_head=True)
        back = bench.unloaded()
    assert [part.is_behind for part in back] == [True, False]


def test_the_run_ends_once_no_partition_fills_its_request() -> None:
    """A partition that fills seven eighths is behind; one byte less, and it has caught up."""
    queue = new_queue()
    with pump_bench() as bench:
        bench.load([queue], [slot(claim_of(T0)), slot(claim_of(T1))], ends_at_head=True)
        bench.start()
        assert bench.asked() == {0: 0, 1: 0}
        bench.respond({0: set_of(FILLED), 1: set_of(FILLED - 1)})
        assert bench.asked() == {0: 1, 1: 1}
        bench.respond({0: set_of(FILLED - 1, 1), 1: set_of(FILLED, 1)})
        assert bench.asked() == {0: 2, 1: 2}
        bench.respond({0: b"", 1: set_of(FILLED - 1, 2)})
        kind, _, is_for_us, *_ = bench.ended()
        assert (kind, is_for_us) == (CALLED, True)
        bench.pump.clear_call()
        assert bench.run()[2], "it is over until the next load"
        back = bench.unloaded()
        bench.load([queue], [slot(claim_of(), is_behind=True)], ends_at_head=True)
        bench.start()
        assert bench.asked() == {0: 0}
    assert [(part.fetch_offset, part.is_behind) for part in back] == [(2, False), (3, False)]
    assert [offsets_of(queue) for _ in range(5)] == [[0], [0], [1], [1], [2]]


def test_a_partition_that_was_loaded_as_behind_is_until_it_is_known() -> None:
    """A pause, which tells nothing of any partition, ends no run of one that is behind."""
    with pump_bench() as bench:
        bench.load([new_queue()], [slot(claim_of(), is_behind=True)], ends_at_head=True)
        bench.start(1)
        bench.receive()
        bench.send(pause())
        assert bench.asked() == {0: 0}
        bench.respond({0: b""})
        assert bench.ended()[0] == CALLED
        [back] = bench.unloaded()
    assert not back.is_behind


def pause() -> FetchResponse:
    """Return the response of a broker that only throttles."""
    return FetchResponse(throttle_time_ms=1, topics=())


def test_without_the_wish_the_end_of_the_log_ends_nothing() -> None:
    """As before: the pump asks again, and the flag is there all the same."""
    with pump_bench() as bench:
        bench.load([new_queue()], [slot(claim_of(), is_behind=True)])
        bench.start()
        for _ in range(3):
            assert bench.asked() == {0: 0}
            bench.respond({0: b""})
        bench.receive()
        bench.pump.call()
        bench.respond({0: set_of(FILLED)})
        bench.ended()
        [back] = bench.unloaded()
    assert back.is_behind


@pytest.mark.parametrize("version", [FIRST_BOUNDED - 1, FIRST_BOUNDED])
def test_a_partition_that_was_passed_over_is_behind(version: int) -> None:
    """It has records, but the response was full; old brokers have no such responses."""
    with pump_bench() as bench:
        bench.load([new_queue()], [slot(claim_of(T0)), slot(claim_of(T1))], ends_at_head=True)
        bench.start(version)
        assert bench.asked() == {0: 0, 1: 0}
        bench.respond({0: build_message_set(records(0)), 1: b""})
        if version >= FIRST_BOUNDED:
            assert bench.asked() == {1: 0, 0: 1}
            bench.respond({1: b"", 0: b""}, log_end=0)
        assert bench.ended()[0] == CALLED
        back = bench.unloaded()
    assert not any(part.is_behind for part in back)


def test_a_claim_that_was_given_up_delays_no_end() -> None:
    """However far behind its partition is."""
    given_up = claim_of(T0)
    with pump_bench() as bench:
        slots = [slot(given_up, is_behind=True), slot(claim_of(T1), is_behind=True)]
        bench.load([new_queue()], slots, ends_at_head=True)
        bench.start()
        bench.receive()
        given_up.active = False
        bench.respond({0: set_of(FILLED), 1: build_message_set(records(0))})
        assert bench.ended()[0] == CALLED
        back = bench.unloaded()
    assert [part.is_behind for part in back] == [True, False]


def test_a_run_ends_once_all_that_are_behind_were_given_up() -> None:
    """Their queue is full, so that nothing is in flight; nobody calls the pump."""
    claim = claim_of(T0)
    with pump_bench() as bench:
        bench.load([new_queue(1)], [slot(claim, is_behind=True)], name=ID, ends_at_head=True)
        bench.start(13)
        for offset in (0, 1):
            assert bench.asked() == {0: offset}
            bench.respond({0: set_of(FILLED, offset)})
        claim.active = False
        assert bench.ended()[0] == CALLED


def test_an_early_set_tells_as_much_as_any_other() -> None:
    """It came while the set before it still waited for the queue, and is dropped with the run."""
    queue, claims = new_queue(1), [claim_of(T0), claim_of(T1)]
    with pump_bench() as bench:
        slots = [slot(claim) for claim in claims]
        bench.load([queue], slots, name=ID, ends_at_head=True)
        bench.start(13)
        assert bench.asked() == {0: 0, 1: 0}
        bench.respond({0: set_of(FILLED), 1: set_of(FILLED)}, log_start=0)
        assert bench.asked() == {0: 1, 1: 1}
        more = build_message_set(records(1))
        bench.respond({0: more, 1: more}, log_start=1)
        assert bench.ended()[0] == CALLED
        back = bench.unloaded()
    assert [part.is_behind for part in back] == [False, False]
    assert [claim.log_start for claim in claims] == [1, 1]
    assert [part.fetch_offset for part in back] == [1, 0]
    assert [part.packed and part.packed[1] for part in back] == [1, 0]
    assert offsets_of(queue) == [0]


# --- counts --------------------------------------------------------------------------------------


def test_counts_are_those_of_whole_requests_and_responses() -> None:
    """The longest and the largest are no sums; all begin anew with each look."""
    queue = new_queue()
    with pump_bench() as bench:
        bench.load([queue], [slot(claim_of())])
        bench.start()
        sent = received = 0
        for size, offset in ((FILLED, 0), (100, 1)):
            sent += len(bench.receive().frame)
            received += len(bench.respond({0: set_of(size, offset)}))
        sent += len(bench.receive().frame)
        bench.pump.call()
        received += len(bench.respond({0: b""}))
        bench.ended()
        counts, after = bench.counts(), bench.counts()
    assert counts[:4] == (3, 3, FILLED + 100, 2)
    assert (counts.sent_bytes, counts.received_bytes) == (sent, received)
    assert counts.largest_bytes == FILLED
    assert 0 <= counts.longest_ms <= counts.duration_ms
    assert set(after) == {0}
