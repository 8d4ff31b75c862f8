"""The queue of a producer loses and reorders nothing, and no partition waits too long."""

from collections import Counter, defaultdict
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.model import Record, TopicPartition
from zkconsumer.produce.send_queue import QueueLimits, SendQueue

TPS = (TopicPartition("t", 0), TopicPartition("t", 1))
LIMITS = QueueLimits(batch_size=100, linger_ms=50, buffer_memory=1_000, delivery_timeout_ms=10_000)

steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 1), st.integers(1, 120)),
        st.tuples(st.just("take"), st.just(0), st.just(0)),
        st.tuples(st.just("settle"), st.integers(0, 1), st.integers(0, 5)),
        st.tuples(st.just("hurry"), st.just(0), st.just(0)),
        st.tuples(st.just("pass"), st.just(0), st.integers(0, 60)),
    ),
    max_size=60,
)


def add(queue: SendQueue, tp: TopicPartition, name: bytes, *, size: int = 10, at: int = 0) -> bool:
    """Queue a record with a unique value, which also stands for its future."""
    return queue.add(tp, Record(0, None, name), size=size, now_ms=at, future=name)


@given(steps)
def test_records_of_a_partition_are_settled_once_and_in_their_order(
    script: list[tuple[str, int, int]],
) -> None:
    """They are in any sequence of takes, flushes and expiries, and bytes are counted."""
    queue = SendQueue(LIMITS)
    sent: dict[TopicPartition, list[bytes]] = defaultdict(list)
    settled: dict[TopicPartition, list[bytes]] = defaultdict(list)
    in_flight: Counter[TopicPartition] = Counter()
    sizes: dict[bytes, int] = {}
    now_ms = 0
    for step, partition, amount in script:
        tp = TPS[partition]
        match step:
            case "add":
                name = b"%d" % len(sizes)
                sizes[name] = amount
                sent[tp].append(name)
                add(queue, tp, name, size=amount, at=now_ms)
            case "take":
                is_due = queue.due_ms(now_ms) == 0
                taken = queue.take(now_ms)
                in_flight.update({tp: len(rows) for tp, rows in taken.items()})
                assert taken or not is_due or in_flight.total()
                assert queue.due_ms(now_ms) is None or not is_due or in_flight.total()
            case "settle":
                found = [record.future for record in queue.settle(tp, amount)]
                assert len(found) == min(amount, in_flight[tp])
                in_flight[tp] -= len(found)
                settled[tp] += found
            case "hurry":
                queue.hurry()
                left = {queued_record.future for queued_record in queue.everything()}
                assert left == {*sent[TPS[0]], *sent[TPS[1]]} - {
                    *settled[TPS[0]],
                    *settled[TPS[1]],
                }
            case _:
                now_ms += amount
        for tp in TPS:
            assert settled[tp] == sent[tp][: len(settled[tp])]
        left_names = {name for tp in TPS for name in sent[tp][len(settled[tp]) :]}
        assert queue.used_bytes == sum(sizes[name] for name in left_names)
    queue.clear()
    assert (queue.used_bytes, queue.everything(), queue.due_ms(now_ms)) == (0, [], None)


def test_a_partition_is_due_when_its_batch_is_full_or_has_lingered() -> None:
    """The other partition goes on lingering."""
    queue = SendQueue(LIMITS)
    assert queue.due_ms(0) is None
    assert add(queue, TPS[0], b"a")
    assert not add(queue, TPS[0], b"b", at=10)
    add(queue, TPS[1], b"c", at=30)
    assert queue.due_ms(30) == 20
    assert queue.take(30) == {}
    assert list(queue.take(50)) == [TPS[0]]
    assert add(queue, TPS[1], b"d", size=100, at=50)
    assert queue.due_ms(50) == 0


def test_flushed_records_are_due_and_later_ones_are_not() -> None:
    """A flush covers only records that were sent before it."""
    queue = SendQueue(LIMITS)
    add(queue, TPS[0], b"a")
    assert queue.hurry()
    assert not queue.hurry()
    add(queue, TPS[1], b"b")
    assert list(queue.take(0)) == [TPS[0]]


def test_a_single_record_fits_whatever_its_size() -> None:
    """Otherwise it could never be sent; a second one waits."""
    queue = SendQueue(LIMITS)
    assert queue.has_capacity(5_000)
    add(queue, TPS[0], b"a", size=900)
    assert queue.has_capacity(100)
    assert not queue.has_capacity(101)


def test_the_number_of_batches_in_flight_is_limited() -> None:
    """Records that wait keep their order after them."""
    queue = SendQueue(LIMITS)
    for number in range(30):
        add(queue, TPS[0], b"%d" % number, size=100)
    assert len(queue.take(0)[TPS[0]]) == 10
    assert queue.take(0) == {}
    queue.settle(TPS[0], 4)
    assert [row.value for row in queue.take(0)[TPS[0]] if isinstance(row, Record)] == [
        b"10", b"11", b"12", b"13"
    ]  # fmt: skip


def test_batches_of_one_record_are_in_flight_together() -> None:
    """Records larger than a batch, as all are with a ``batch_size`` of 0, need not wait."""
    for batch_size in (0, 100):
        queue = SendQueue(replace(LIMITS, batch_size=batch_size))
        for number in range(30):
            add(queue, TPS[0], b"%d" % number, size=300)
        assert len(queue.take(0)[TPS[0]]) == 10
        queue.settle(TPS[0], 3)
        assert len(queue.take(0)[TPS[0]]) == 3


def test_records_that_wait_too_long_expire() -> None:
    """Those in flight do not, as they may be written; the writer is told not to retry them."""
    queue = SendQueue(LIMITS)
    add(queue, TPS[0], b"a")
    queue.hurry()
    queue.take(0)
    add(queue, TPS[0], b"b", at=1)
    assert queue.may_retry(TPS[0], 9_999)
    assert not queue.may_retry(TPS[0], 10_000)
    assert queue.expire(10_000) == {}
    assert [queued_record.future for queued_record in queue.expire(10_001)[TPS[0]]] == [b"b"]
    assert [queued_record.future for queued_record in queue.settle(TPS[0], 2)] == [b"a"]
    assert not queue.may_retry(TPS[1], 0)
