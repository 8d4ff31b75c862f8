"""On real threads: what the unit tests of the same name do not hold."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count

import pytest

from tests.support.interrupting import interrupt_at_check
from tests.support.poll_callers import A, B, Make
from tests.support.poll_fakes import FakeParts
from tests.support.shares import stride
from tests.support.waiting import wait_until
from zkconsumer import KafkaConsumer, TopicPartition
from zkconsumer.errors import ConsumerClosed
from zkconsumer.records.consumer_record import ConsumerRecord

END = 5
SHARES = 3
STEP = stride(48)
"""So many places lie between two that are tried."""
Handed = list[ConsumerRecord]
Read = Callable[[KafkaConsumer, FakeParts, Handed], None]


def by_poll(consumer: KafkaConsumer, fakes: FakeParts, handed: Handed) -> None:
    """Poll after poll; the second one waits."""
    for number in range(5):
        if number == 1:
            fakes.wakeup.meanwhile.append(lambda: None)
        for records in consumer.poll(10, max_records=3).values():
            handed += records


def by_loop(consumer: KafkaConsumer, fakes: FakeParts, handed: Handed) -> None:
    """One loop over all."""
    del fakes
    handed.extend(consumer)


def mixed(consumer: KafkaConsumer, fakes: FakeParts, handed: Handed) -> None:
    """One of each in turns, and the calls between them."""
    del fakes
    for _ in range(3):
        for record in consumer:
            handed.append(record)
            break
        for records in consumer.poll(max_records=2).values():
            handed += records
        for tp in consumer.assignment():
            assert consumer.position(tp) == len(
                [
                    consumer_record
                    for consumer_record in handed
                    if consumer_record.partition == tp[1]
                ]
            )
        consumer.commit()
        consumer.pause(A)
        consumer.resume(A)
        consumer.commit_async()


def by_batch(consumer: KafkaConsumer, fakes: FakeParts, handed: Handed) -> None:
    """Arrow batches; they stand for their records."""
    del fakes
    for _ in range(3):
        batch = consumer.poll_arrow(max_records=3)
        for partition, offset in zip(*(batch[name].to_pylist() for name in _PLACE), strict=True):
            handed.append(_Place(partition, offset))  # type: ignore[arg-type]


_PLACE = ("partition", "offset")


class _Place:
    """Where a record is."""

    def __init__(self, partition: int, offset: int) -> None:
        self.partition, self.offset = partition, offset


POOL = ThreadPoolExecutor(1)


class Stopped(BaseException):
    """What a handler raises behind its ``close()``, as ``sys.exit`` does."""


def partitions_of(handed: Handed) -> dict[TopicPartition, list[int]]:
    """Offsets by partition."""
    found: dict[TopicPartition, list[int]] = {}
    for record in handed:
        found.setdefault(TopicPartition("t", record.partition), []).append(record.offset)
    return found


Strike = Callable[[KafkaConsumer], None]


def goes_on(consumer: KafkaConsumer) -> None:
    """A handler that closes."""
    consumer.close()


def exits(consumer: KafkaConsumer) -> None:
    """One that ends the program behind that."""
    consumer.close()
    raise Stopped


def from_another_thread(consumer: KafkaConsumer) -> None:
    """No handler: another thread closes at this moment, and gets as far as it can."""
    gate = consumer._parts.one_caller
    closing = POOL.submit(consumer.close)
    wait_until(lambda: closing.done() or gate.request is not None, what="the other thread")


def struck(make: Make, read: Read, number: int, strike: Strike) -> bool:
    """Close the consumer at that place of its life, and check what became of it.

    Returns:
        Whether there was such a place.
    """
    consumer, fakes = make("t", consumer_timeout_ms=1, max_poll_records=3)
    fakes.engine.ends = {A: END, B: END}
    fakes.group.give(A, B)
    handed: Handed = []
    struck_here = False

    def handler() -> None:
        nonlocal struck_here
        struck_here = True
        strike(consumer)

    try:
        interrupt_at_check(number, handler, partial(read, consumer, fakes, handed))
    except (ConsumerClosed, Stopped):
        assert struck_here
    if not struck_here:
        return False
    gate = consumer._parts.one_caller
    wait_until(lambda: gate.closed, what="the end")
    assert (gate.closed, gate.request, gate.is_inside, gate.here.depth) == (True, None, False, 0)
    closes = [call for call in fakes.group.calls if call.startswith("close")]
    assert (len(closes), fakes.engine.stopped, fakes.group.owned) == (1, True, frozenset())
    places = partitions_of(handed)
    assert all(offsets == list(range(len(offsets))) for offsets in places.values()), places
    committed = {tp: it.offset for tp, it in fakes.group.committed_offsets.items() if it.offset}
    assert committed == {tp: len(offsets) for tp, offsets in places.items()}, number
    assert list(consumer) == []
    with pytest.raises(ConsumerClosed):
        consumer.poll()
    return True


@pytest.mark.parametrize("strike", [goes_on, exits, from_another_thread])
@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize("read", [by_poll, by_loop, mixed, by_batch])
def test_who_closes_commits_what_was_handed_out(
    make: Make, read: Read, share: int, strike: Strike
) -> None:
    """Exactly that, wherever that strikes: no record too many, none too few, and all ends."""
    if read is by_batch:
        pytest.importorskip("pyarrow")
    tried = 0
    for number in count(share * STEP // SHARES, STEP):
        if not struck(make, read, number, strike):
            break
        tried += 1
    assert tried > 5
