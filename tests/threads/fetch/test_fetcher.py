"""One broker's fetch loop against a fake broker: the same tests for all loops."""

import logging
from dataclasses import replace

import pytest

from tests.fakes.fake_script import Close, Cut, Hang, Raw
from tests.support.chunks import T0, T1, ListSink
from tests.support.fetch_bench import (
    SETTINGS,
    FetchBench,
    bench_loop_class,
    claim_on,
    each_loop,
    new_queue,
    take_values,
    values,
    wait_for,
    waiting_for,
)
from tests.support.plain_connections import serving_fetch
from zkconsumer.clock import SystemClock
from zkconsumer.errors import MessageTooLarge, SaslAuthenticationFailedError
from zkconsumer.fetch.claim import Chunk, PartitionClaim
from zkconsumer.fetch.core.starts import LogEdge
from zkconsumer.fetch.fetcher import PythonFetchLoop
from zkconsumer.model import Broker, Record
from zkconsumer.net.negotiated import NegotiatedConnection
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.versions import VersionRange

__all__ = ["each_loop"]

pytestmark = pytest.mark.usefixtures("each_loop")


def test_messages_arrive_and_later_ones_too() -> None:
    """Nothing comes in between, and each message comes once."""
    with FetchBench() as bench:
        queue = new_queue(10)
        bench.cluster.append(T0, values("a", "b"))
        loop = bench.run(bench.loop())
        loop.add(claim_on(queue), 0)
        assert take_values(queue, 2) == ["a", "b"]
        assert queue.take(0) is None
        bench.cluster.append(T0, values("c"))
        assert take_values(queue, 1) == ["c"]


def test_stopping_before_starting_is_harmless() -> None:
    """The loop ends as soon as it runs, and gives its partitions back."""
    with FetchBench() as bench:
        loop = bench.loop()
        loop.add(claim_on(new_queue(1)), 7)
        loop.stop()
        loop.run()
        assert bench.lost_at() == {T0: 7}
        assert bench.brokers[0].requests == []


def test_one_request_serves_all_partitions_of_the_broker() -> None:
    """Two partitions need one connection, and one fetch at a time."""
    with FetchBench() as bench:
        queue = new_queue(10)
        bench.cluster.append(T0, values("a"))
        bench.cluster.append(T1, values("b"))
        loop = bench.loop()
        loop.add(claim_on(queue, T0), 0)
        loop.add(claim_on(queue, T1), 0)
        assert loop.partition_count() == 2
        bench.run(loop)
        assert sorted(take_values(queue, 2)) == ["a", "b"]
        assert loop.partition_count() == 2
        (request, *_) = bench.brokers[0].requests
        assert request.client_id == "bench"


def test_a_partition_without_an_offset_starts_by_the_reset_policy() -> None:
    """With "smallest" ListOffsets comes first, then everything from the log start offset."""
    with FetchBench() as bench:
        queue = new_queue(10)
        bench.cluster.append(T0, values("a"))
        claim = claim_on(queue, committed=None)
        bench.run(bench.loop()).add(claim, None)
        assert take_values(queue, 1) == ["a"]
        assert claim.consumed_offset == 0
        assert bench.requested(ApiKey.LIST_OFFSETS) == 1


def test_list_offsets_is_sent_in_its_oldest_version() -> None:
    """It is whatever the broker serves, and when it is hedged, since only that form is read."""
    of_fetch = serving_fetch(0)
    newer = {**of_fetch.common, ApiKey.LIST_OFFSETS: VersionRange(0, 5)}
    with FetchBench(versions=replace(of_fetch, common=newer)) as bench:
        bench.brokers[0].script(ApiKey.LIST_OFFSETS, Hang())
        queue = new_queue(10)
        bench.cluster.append(T0, values("a"))
        bench.run(bench.loop()).add(claim_on(queue, committed=None), None)
        assert take_values(queue, 1) == ["a"]
        requests = list(bench.brokers[0].requests)
        listed = [request for request in requests if request.api_key is ApiKey.LIST_OFFSETS]
        assert [request.version for request in listed] == [0, 0]
        assert bench.lost == []


@pytest.mark.parametrize(
    ("reset", "edge", "value"),
    [(LogEdge.EARLIEST, "smallest", "a"), (LogEdge.LATEST, "largest", "b")],
)
def test_an_offset_out_of_range_is_reset_and_logged(
    reset: LogEdge, edge: str, value: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A warning names partition, offset and where it continues; messages come from there."""
    with FetchBench() as bench, caplog.at_level(logging.WARNING):
        queue = new_queue(10)
        bench.cluster.append(T0, values("a"))
        loop = bench.run(bench.loop(settings=replace(SETTINGS, reset=reset)))
        loop.add(claim_on(queue, committed=10_000), 10_000)
        wait_for(lambda: caplog.records, "the warning")
        bench.cluster.append(T0, values("b"))
        assert take_values(queue, 1) == [value]
    (message,) = [record.getMessage() for record in caplog.records]
    assert "t-0: offset 10000 is out of range" in message
    assert message.endswith(f"continuing at its {edge} offset")


def test_a_jump_is_queued_first_though_the_queue_is_full() -> None:
    """It is as soon as there is capacity, even if no message follows."""
    with FetchBench() as bench:
        queue = new_queue(1)
        claim = claim_on(queue, committed=0)
        assert queue.offer(Chunk(claim, 0, 7, (), 0), lambda: None)
        loop = bench.run(bench.loop())
        loop.add(claim, 0, jumps=True)
        wait_for(lambda: waiting_for(queue), "the jump to wait")
        for until in (7, 0):
            chunk = queue.take(5_000)
            assert isinstance(chunk, Chunk)
            assert (chunk.fetch_offset, chunk.next_offset) == (0, until)
            queue.release(chunk)


# --- connections ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "trouble", [Close(), Cut(10), Raw(b"\x00\x00\x00\x02no"), Raw(b"\xff" * 8)]
)
def test_a_first_failure_opens_a_new_connection(trouble: Close | Cut | Raw) -> None:
    """The broker closed it, broke off or sent garbage: no partition is given back."""
    with FetchBench() as bench:
        queue = new_queue(10)
        bench.cluster.append(T0, values("a"))
        bench.brokers[0].script(ApiKey.FETCH, trouble)
        bench.run(bench.loop()).add(claim_on(queue), 0)
        assert take_values(queue, 1) == ["a"]
        assert bench.lost == []


def test_a_connection_lost_between_two_responses_loses_and_repeats_nothing() -> None:
    """The fetch position is unchanged."""
    with FetchBench() as bench:
        queue = new_queue(100)
        bench.cluster.append(T0, values("a"))
        bench.run(bench.loop()).add(claim_on(queue), 0)
        delivered = take_values(queue, 1)
        bench.brokers[0].script(ApiKey.FETCH, Close())
        bench.cluster.append(T0, values("b", "c"))
        delivered += take_values(queue, 2)
        assert delivered == ["a", "b", "c"]
        assert bench.lost == []


def test_a_second_failure_in_a_row_gives_all_partitions_back() -> None:
    """Each is with its position; the loop goes on without them."""
    with FetchBench() as bench:
        queue = new_queue(10)
        bench.brokers[0].script(ApiKey.FETCH, Close(), Close())
        loop = bench.loop()
        loop.add(claim_on(queue, T0), 0)
        loop.add(claim_on(queue, T1), 0)
        bench.run(loop)
        wait_for(lambda: len(bench.lost) == 2, "both partitions to come back")
        assert bench.lost_at() == {T0: 0, T1: 0}
        assert loop.partition_count() == 0
        assert bench.requested(ApiKey.FETCH) == 2
        bench.cluster.append(T0, values("a"))
        loop.add(claim_on(queue, T0), 0)
        assert take_values(queue, 1) == ["a"]


def test_a_broker_that_is_down_gives_all_partitions_back() -> None:
    """Two attempts to connect have failed."""
    with FetchBench() as bench:
        bench.brokers[0].stop()
        bench.run(bench.loop()).add(claim_on(new_queue(1)), 5)
        wait_for(lambda: bench.lost, "the partition to come back")
        assert bench.lost_at() == {T0: 5}


def test_an_error_for_one_partition_gives_only_that_one_back() -> None:
    """Its leader is another broker; the other partition's messages come."""
    with FetchBench(broker_count=2) as bench:
        queue = new_queue(10)
        for tp in (T0, T1):
            bench.cluster.move_leader(tp, 0)
            bench.cluster.append(tp, values(f"{tp}"))
        bench.cluster.move_leader(T0, 1)
        loop = bench.loop()
        loop.add(claim_on(queue, T0), 0)
        loop.add(claim_on(queue, T1), 0)
        bench.run(loop)
        assert take_values(queue, 1) == ["t-1"]
        wait_for(lambda: bench.lost, "the partition to come back")
        assert bench.lost_at() == {T0: 0}
        assert "NOT_LEADER_FOR_PARTITION" in bench.lost[0].reason


# --- stopping ------------------------------------------------------------------------------------


def test_stopping_does_not_wait_for_a_broker_that_hangs() -> None:
    """Its connection is closed, and the thread gives its partitions back without any time-out."""
    with FetchBench() as bench:
        bench.brokers[0].script(ApiKey.FETCH, Hang())
        loop = bench.run(bench.loop())
        loop.add(claim_on(new_queue(1)), 5)
        wait_for(lambda: bench.requested(ApiKey.FETCH), "the fetch that hangs")
        assert bench.scope.close(1_500) == []
        assert bench.lost_at() == {T0: 5}
        assert (bench.requested(ApiKey.FETCH), bench.opened) == (1, 1)


def test_stopping_while_it_connects_sends_no_request() -> None:
    """The connection is opened at that very moment, and nothing is sent over it."""
    with FetchBench() as bench:
        bench.brokers[0].script(ApiKey.FETCH, Hang())
        loops: list[PythonFetchLoop] = []

        def dial_and_stop(broker: Broker, *, timeout_ms: int | None = None) -> NegotiatedConnection:
            loops[0].stop()
            return bench.dialer.dial(broker, timeout_ms=timeout_ms)

        loops.append(
            bench_loop_class()(
                bench.brokers[0].address,
                bench.lost.extend,
                settings=SETTINGS,
                dial=dial_and_stop,
            )
        )
        loops[0].add(claim_on(new_queue(1)), 5)
        loops[0].run()
        assert bench.requested(ApiKey.FETCH) == 0
        assert bench.lost_at() == {T0: 5}


def test_a_failed_authentication_is_not_retried() -> None:
    """A retry would not help, and the leader finder must know."""
    with FetchBench() as bench:
        dialled: list[Broker] = []

        def refuse(broker: Broker, *, timeout_ms: int | None = None) -> NegotiatedConnection:
            dialled.append(broker)
            raise SaslAuthenticationFailedError(f"{broker}: wrong password ({timeout_ms})")

        loop = bench_loop_class()(
            bench.brokers[0].address,
            bench.lost.extend,
            settings=SETTINGS,
            dial=refuse,
        )
        loop.add(claim_on(new_queue(1)), 5)
        bench.run(loop)
        wait_for(lambda: bench.lost, "the partition to be given back")
        assert bench.lost_at() == {T0: 5}
        assert "wrong password" in bench.lost[0].reason
        assert len(dialled) == 1


def test_stopping_wakes_a_loop_that_has_nothing_to_do() -> None:
    """It waits for partitions, and ends at once."""
    with FetchBench() as bench:
        bench.run(bench.loop())
        assert bench.scope.close(1_500) == []


def test_stopping_wakes_a_loop_that_waits_for_capacity() -> None:
    """Its chunk is not in the queue, so the next fetcher must continue in front of it."""
    with FetchBench() as bench:
        queue = new_queue(1)
        bench.cluster.append(T0, values("a"))
        loop = bench.run(bench.loop())
        loop.add(claim_on(queue), 0)
        wait_for(lambda: queue.chunk_count() == 1, "the first chunk")
        bench.cluster.append(T0, values("b"))
        wait_for(lambda: waiting_for(queue) == 1, "the second chunk to wait")
        assert bench.scope.close(1_500) == []
        assert bench.lost_at() == {T0: 1}


class BrokenSink(ListSink):
    """A sink with a bug."""

    def offer(self, chunk: Chunk, on_capacity: object) -> bool:
        """Fail with an error that is none of ours."""
        raise ZeroDivisionError((chunk, on_capacity))


def test_a_loop_that_dies_gives_its_partitions_back_first() -> None:
    """Its owner gets the unexpected error, and other loops can read the partitions."""
    with FetchBench() as bench:
        bench.may_die = True
        received: list[BaseException] = []
        bench.cluster.append(T0, values("a"))
        loop = bench.loop()
        loop.add(PartitionClaim(T0, BrokenSink(), 0), 0)
        loop.add(claim_on(new_queue(1), T1), 3)
        bench.scope.spawn("loop", loop.run, stop=loop.stop, on_error=received.append)
        wait_for(lambda: received, "the death of the loop")
        assert isinstance(received[0], ZeroDivisionError)
        assert set(bench.lost_at()) == {T0, T1}


def test_a_partition_added_to_a_loop_that_ended_is_given_back() -> None:
    """The leader finder may not know that the thread died: the partition must not be lost."""
    with FetchBench() as bench:
        loop = bench.loop()
        loop.stop()
        loop.run()
        loop.add(claim_on(new_queue(1)), 7)
        assert bench.lost_at() == {T0: 7}


# --- full queues ---------------------------------------------------------------------------------


def test_a_full_queue_blocks_its_own_partition_only() -> None:
    """The other one is fetched meanwhile; the first continues once there is capacity."""
    with FetchBench() as bench:
        full, free = new_queue(1), new_queue(100)
        loop = bench.run(bench.loop())
        bench.cluster.append(T0, values("a"))
        loop.add(claim_on(full, T0), 0)
        wait_for(lambda: full.chunk_count() == 1, "the queue to be full")
        bench.cluster.append(T0, values("b"))
        wait_for(lambda: waiting_for(full) == 1, "the second chunk to wait")
        bench.cluster.append(T0, values("c"))
        loop.add(claim_on(free, T1), 0)
        for text in ("x", "y"):
            bench.cluster.append(T1, values(text))
            assert take_values(free, 1) == [text]
        assert waiting_for(full) == 1
        assert take_values(full, 3) == ["a", "b", "c"]


def test_capacity_is_used_at_once_though_other_partitions_are_idle() -> None:
    """The fetcher must not wait at the broker for messages of an idle partition."""
    settings = replace(
        SETTINGS, max_wait_ms=3_000, request_timeout_ms=5_000, max_partition_bytes=200
    )
    clock = SystemClock()
    with FetchBench() as bench:
        queue = new_queue(1)
        loop = bench.loop(settings=settings)
        bench.cluster.append(T0, [Record(-1, None, bytes(100)) for _ in range(10)])
        loop.add(claim_on(queue, T0), 0)
        loop.add(claim_on(queue, T1), 0)
        start_ms = clock.now_ms()
        bench.run(loop)
        assert len(take_values(queue, 10)) == 10
        assert clock.now_ms() - start_ms < 1_500


def test_an_idle_loop_with_a_chunk_that_waits_does_not_spin() -> None:
    """The configured wait lies between two fetches of the other partitions."""
    settings = replace(SETTINGS, max_wait_ms=60_000, request_timeout_ms=5_000)
    with FetchBench() as bench:
        full = new_queue(1)
        bench.cluster.append(T0, values("a"))
        loop = bench.run(bench.loop(settings=settings))
        loop.add(claim_on(full, T0), 0)
        wait_for(lambda: full.chunk_count() == 1, "the queue to be full")
        bench.cluster.append(T0, values("b"))
        wait_for(lambda: waiting_for(full) == 1, "the second chunk to wait")
        loop.add(claim_on(new_queue(1), T1), 0)
        wait_for(lambda: bench.fetches_of(T1), "a look at the other partition")
        before = bench.requested(ApiKey.FETCH)
        loop.wake()
        wait_for(lambda: bench.requested(ApiKey.FETCH) > before, "a look after the wake")
        assert bench.requested(ApiKey.FETCH) == before + 1


def test_a_loop_whose_partitions_all_wait_sends_no_request() -> None:
    """None is needed until a stream has made capacity."""
    with FetchBench() as bench:
        queue = new_queue(1)
        loop = bench.run(bench.loop())
        bench.cluster.append(T0, values("a"))
        loop.add(claim_on(queue), 0)
        wait_for(lambda: queue.chunk_count() == 1, "the queue to be full")
        bench.cluster.append(T0, values("b"))
        wait_for(lambda: waiting_for(queue) == 1, "the second chunk to wait")
        before = bench.requested(ApiKey.FETCH)
        for _ in range(5):
            loop.wake()
        assert bench.requested(ApiKey.FETCH) == before
        assert take_values(queue, 2) == ["a", "b"]


def test_giving_up_a_partition_whose_chunk_waits_frees_the_loop() -> None:
    """Its chunk is dropped, and the same partition can be read from another offset."""
    with FetchBench() as bench:
        queue = new_queue(1)
        loop = bench.run(bench.loop())
        bench.cluster.append(T0, values("a"))
        old = claim_on(queue)
        loop.add(old, 0)
        wait_for(lambda: queue.chunk_count() == 1, "the queue to be full")
        bench.cluster.append(T0, values("b"))
        wait_for(lambda: waiting_for(queue) == 1, "the second chunk to wait")
        old.active = False
        queue.discard_inactive()
        loop.wake()
        wait_for(lambda: loop.partition_count() == 0, "the partition to be let go")
        loop.add(claim_on(queue), 1)
        new = queue.take(5_000)
        while isinstance(new, Chunk) and not new.claim.active:
            new = queue.take(5_000)  # a native queue has dropped it already
        assert isinstance(new, Chunk)
        assert [record.value for record in new.records] == [b"b"]


def test_a_message_larger_than_the_fetch_size_arrives() -> None:
    """The fetch of its partition grows, up to the maximum; a larger message is poison."""
    with FetchBench() as bench:
        queue = new_queue(10)
        bench.cluster.append(T0, [Record(-1, None, bytes(40_000)), Record(-1, None, bytes(60_000))])
        bench.run(bench.loop()).add(claim_on(queue), 0)
        first, second = queue.take(5_000), queue.take(5_000)
        assert isinstance(first, Chunk)
        assert [len(record.value or b"") for record in first.records] == [40_000]
        assert isinstance(second, Chunk)
        assert second.poison is not None
        assert isinstance(second.poison.error, MessageTooLarge)
        assert second.poison.error.limit_bytes == SETTINGS.growth_max_bytes
