"""Closing a consumer at any point of any call: exactly what was delivered is committed."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count

import pytest

from tests.support.interrupting import interrupt_at_check
from tests.support.poll_callers import A, B, ConsumerFactory
from tests.support.poll_fakes import FakeParts
from tests.support.shares import sampling_step
from tests.support.waiting import wait_until
from zkconsumer import KafkaConsumer, TopicPartition
from zkconsumer.errors import ConsumerClosed
from zkconsumer.records.consumer_record import ConsumerRecord

END = 5
SHARES = 3
STEP = sampling_step(48)
"""The distance between two points that are tested."""
Delivered = list[ConsumerRecord]
Read = Callable[[KafkaConsumer, FakeParts, Delivered], None]


def by_poll(consumer: KafkaConsumer, fakes: FakeParts, delivered: Delivered) -> None:
    """Poll several times; the second poll waits."""
    for number in range(5):
        if number == 1:
            fakes.wakeup.meanwhile.append(lambda: None)
        for records in consumer.poll(10, max_records=3).values():
            delivered += records


def by_loop(consumer: KafkaConsumer, fakes: FakeParts, delivered: Delivered) -> None:
    """Iterate over all records."""
    del fakes
    delivered.extend(consumer)


def mixed(consumer: KafkaConsumer, fakes: FakeParts, delivered: Delivered) -> None:
    """Iterate, poll, and call other methods in between."""
    del fakes
    for _ in range(3):
        for record in consumer:
            delivered.append(record)
            break
        for records in consumer.poll(max_records=2).values():
            delivered += records
        for tp in consumer.assignment():
            assert consumer.position(tp) == len(
                [
                    consumer_record
                    for consumer_record in delivered
                    if consumer_record.partition == tp[1]
                ]
            )
        consumer.commit()
        consumer.pause(A)
        consumer.resume(A)
        consumer.commit_async()


def by_batch(consumer: KafkaConsumer, fakes: FakeParts, delivered: Delivered) -> None:
    """Poll Arrow batches, and note the partitions and offsets of their rows."""
    del fakes
    for _ in range(3):
        batch = consumer.poll_arrow(max_records=3)
        for partition, offset in zip(*(batch[name].to_pylist() for name in _PLACE), strict=True):
            delivered.append(_Place(partition, offset))  # type: ignore[arg-type]


_PLACE = ("partition", "offset")


class _Place:
    """The partition and offset of a record."""

    def __init__(self, partition: int, offset: int) -> None:
        self.partition, self.offset = partition, offset


POOL = ThreadPoolExecutor(1)


class Stopped(BaseException):
    """What a handler raises after its ``close()``, as ``sys.exit`` does."""


def offsets_by_partition(delivered: Delivered) -> dict[TopicPartition, list[int]]:
    """Return the delivered offsets of each partition."""
    found: dict[TopicPartition, list[int]] = {}
    for record in delivered:
        found.setdefault(TopicPartition("t", record.partition), []).append(record.offset)
    return found


Closing = Callable[[KafkaConsumer], None]


def goes_on(consumer: KafkaConsumer) -> None:
    """Close in a signal handler, and go on."""
    consumer.close()


def exits(consumer: KafkaConsumer) -> None:
    """Close in a signal handler, and raise as ``sys.exit`` does."""
    consumer.close()
    raise Stopped


def from_another_thread(consumer: KafkaConsumer) -> None:
    """Close in another thread at this point, and wait until it is done or blocked."""
    gate = consumer._parts.one_caller
    closing = POOL.submit(consumer.close)
    wait_until(lambda: closing.done() or gate.request is not None, what="the other thread")


def close_at(make_consumer: ConsumerFactory, read: Read, number: int, closing: Closing) -> bool:
    """Close the consumer at the given point of its life, and check the outcome.

    Returns:
        Whether there was such a point.
    """
    consumer, fakes = make_consumer("t", consumer_timeout_ms=1, max_poll_records=3)
    fakes.engine.ends = {A: END, B: END}
    fakes.group.assign(A, B)
    delivered: Delivered = []
    was_interrupted = False

    def handler() -> None:
        nonlocal was_interrupted
        was_interrupted = True
        closing(consumer)

    try:
        interrupt_at_check(number, handler, partial(read, consumer, fakes, delivered))
    except (ConsumerClosed, Stopped):
        assert was_interrupted
    if not was_interrupted:
        return False
    gate = consumer._parts.one_caller
    wait_until(lambda: gate.closed, what="the end")
    assert (gate.closed, gate.request, gate.is_inside, gate.here.depth) == (True, None, False, 0)
    closes = [call for call in fakes.group.calls if call.startswith("close")]
    assert (len(closes), fakes.engine.stopped, fakes.group.owned) == (1, True, frozenset())
    by_partition = offsets_by_partition(delivered)
    assert all(offsets == list(range(len(offsets))) for offsets in by_partition.values()), (
        by_partition
    )
    committed = {tp: it.offset for tp, it in fakes.group.committed_offsets.items() if it.offset}
    assert committed == {tp: len(offsets) for tp, offsets in by_partition.items()}, number
    assert list(consumer) == []
    with pytest.raises(ConsumerClosed):
        consumer.poll()
    return True


@pytest.mark.parametrize("closing", [goes_on, exits, from_another_thread])
@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize("read", [by_poll, by_loop, mixed, by_batch])
def test_closing_commits_exactly_what_was_delivered(
    make_consumer: ConsumerFactory, read: Read, share: int, closing: Closing
) -> None:
    """Wherever it comes in, no record too many and none too few is committed."""
    if read is by_batch:
        pytest.importorskip("pyarrow")
    tried = 0
    for number in count(share * STEP // SHARES, STEP):
        if not close_at(make_consumer, read, number, closing):
            break
        tried += 1
    assert tried > 5
