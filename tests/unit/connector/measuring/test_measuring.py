"""A connector's numbers: events it observes, and state that it reads on demand."""

import pytest

from tests.support.chunks import T0, T1, chunk_of, claim_of, ignore
from tests.support.manual_clock import ManualClock
from zkconsumer.connector.measuring.measuring import MeasuredStream, Measuring
from zkconsumer.connector.measuring.numbers import (
    REBALANCE_BOUNDS_MS,
    PartitionNumbers,
    QueueNumbers,
)
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.model import Broker
from zkconsumer.observe import Fetched, MemberName, RebalanceFinished
from zkconsumer.streams.chunk_queue import ChunkQueue

NAME = MemberName("g", "g_1")


class ScriptedStream:
    """A stream that reports the counts that the test sets."""

    def __init__(self, **counts: int) -> None:
        self.counts = counts

    def delivered_counts(self) -> dict[str, int]:
        """See ``MeasuredStream``."""
        return self.counts


def measuring(clock: ManualClock) -> Measuring:
    """Build a ``Measuring`` that watches nothing yet."""
    return Measuring(NAME, client_id="c", clock=clock, random=lambda: 0.5)


def fetched(broker_id: int = 1) -> Fetched:
    """Build the event of one fetch from this broker."""
    return Fetched(broker_id=broker_id, partitions=1, size_bytes=10, records=1, duration_ms=5)


def test_the_numbers_name_group_consumer_and_client() -> None:
    """The numbers carry the group, the consumer id and the client id."""
    numbers = measuring(ManualClock()).read()
    assert (numbers.group_id, numbers.consumer_id, numbers.client_id) == ("g", "g_1", "c")


def test_messages_of_all_streams_add_up_by_topic() -> None:
    """Counts of all streams are summed by topic, and a total never decreases."""
    clock = ManualClock()
    ours, first, second = measuring(clock), ScriptedStream(t=3), ScriptedStream(t=4, u=1)
    for number, stream in enumerate((first, second)):
        ours.add_stream(MeasuredStream(None, number, ChunkQueue(1), stream.delivered_counts))
    numbers = ours.read()
    assert {topic: rates.events for topic, rates in numbers.messages_of.items()} == {"t": 7, "u": 1}
    first.counts = {"t": 1}
    assert ours.read().messages.events == 8
    first.counts = {"t": 5}
    assert ours.read().messages.events == 10


def test_message_rates_are_updated_without_readers() -> None:
    """Fetch events update the rates once a second, even if nobody reads them."""
    clock = ManualClock()
    ours, stream = measuring(clock), ScriptedStream(t=0)
    ours.add_stream(MeasuredStream("t", 0, ChunkQueue(1), stream.delivered_counts))
    for _ in range(60):
        clock.advance(1_000)
        stream.counts = {"t": stream.counts["t"] + 100}
        ours.observe(NAME, fetched())
    assert ours.read().messages_of["t"].one_minute == pytest.approx(100, rel=0.05)


def test_brokers_that_are_no_longer_fetched_from_are_dropped() -> None:
    """The minimum rate is that of the slowest current broker, 0 if one never responded."""
    clock = ManualClock()
    ours = measuring(clock)
    first, second = Broker(1, "a", 1), Broker(2, "b", 2)
    fetchers = [first, second]
    ours.watch(tuple, lambda: tuple(fetchers))
    for _ in range(600):
        clock.advance(100)
        ours.observe(NAME, fetched(1))
    numbers = ours.read()
    assert list(numbers.fetched_from) == fetchers
    assert numbers.least_fetch_rate == 0.0
    fetchers.remove(second)
    assert ours.read().least_fetch_rate == pytest.approx(10, rel=0.05)
    fetchers.clear()
    assert (ours.read().fetched_from, ours.read().least_fetch_rate) == ({}, 0.0)
    assert ours.read().fetched.fetches.events == 600


def test_partitions_and_queues_are_read_on_demand() -> None:
    """A wildcard's queue names the topics whose chunks it has received."""
    queue, idle = ChunkQueue(5), ChunkQueue(5)
    claim = claim_of(T0, committed=3, sink=queue)
    claim.high_watermark = 10
    fresh: PartitionClaim = claim_of(T1, sink=queue)
    ours = measuring(ManualClock())
    ours.watch(lambda: [claim, fresh], tuple)
    for number, chunk_queue in enumerate((queue, idle)):
        ours.add_stream(MeasuredStream(None, number, chunk_queue, dict))
    chunk = chunk_of(claim, [3])
    assert queue.offer(chunk, ignore)
    numbers = ours.read()
    assert numbers.partitions == {
        T0: PartitionNumbers(3, 3, 10),
        T1: PartitionNumbers(None, None, None),
    }
    claim.delivered_offset = 4
    assert ours.read().max_lag == 6
    assert (numbers.partitions[T0].lag, numbers.partitions[T1].lag) == (7, None)
    assert numbers.max_lag == 7
    assert numbers.queues == (
        QueueNumbers("", ("t",), 0, 1, chunk.size_bytes),
        QueueNumbers("", (), 1, 0, 0),
    )


def test_rebalance_durations_form_a_histogram() -> None:
    """Each histogram bound counts all rebalances that took no longer."""
    ours = measuring(ManualClock())
    ours.observe(NAME, RebalanceFinished(cause="join", duration_ms=101, changed=True, owned={}))
    within = ours.read().rebalances_within
    assert within == tuple(int(bound >= 101) for bound in REBALANCE_BOUNDS_MS)
    assert 0 < sum(within) < len(within)
