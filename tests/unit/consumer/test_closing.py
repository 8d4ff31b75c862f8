"""``close()`` in a signal handler, wherever it strikes, and by listeners and callbacks."""

from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from typing import Any

import pytest

from tests.support.interrupting import interrupt_at_check
from tests.support.poll_callers import A, B, Make, joined, offsets_of
from tests.support.poll_fakes import FakeParts
from tests.support.waiting import wait_until
from zkconsumer import ConsumerRebalanceListener, KafkaConsumer, TopicPartition
from zkconsumer.errors import ConsumerClosed
from zkconsumer.model import OffsetAndMetadata
from zkconsumer.records.consumer_record import ConsumerRecord

END = 5
SHARES = 3
STEP = 12
"""So many places lie between two that are tried; with 1 all are."""
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
            assert consumer.position(tp) == len([one for one in handed if one.partition == tp[1]])
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


def test_a_handler_amid_a_wait_has_closed_when_its_close_returns(make: Make) -> None:
    """So that it may end the process there and then; the poll gives nothing."""
    consumer, fakes = joined(make)
    assert offsets_of(consumer.poll()) == {A: list(range(10)), B: list(range(10))}
    seen: list[object] = []

    def handler() -> None:
        consumer.close()
        consumer.close()
        seen.extend([consumer._parts.one_caller.closed, dict(fakes.group.committed_offsets)])

    fakes.wakeup.meanwhile.append(handler)
    assert consumer.poll(1_000) == {}
    assert seen == [True, {A: OffsetAndMetadata(10, "", 3), B: OffsetAndMetadata(10, "", 3)}]


def test_a_poll_that_had_taken_records_gives_none_of_them(make: Make) -> None:
    """Else what the listener raises meanwhile would take them along, and they are committed."""
    consumer, fakes = joined(make)
    collect = fakes.engine.collect_as

    def struck_behind(*args: Any) -> object:
        found = collect(*args)
        consumer.close()
        return found

    fakes.engine.collect_as = struck_behind  # type: ignore[method-assign,assignment]
    assert consumer.poll() == {}
    assert {it.offset for it in fakes.group.committed_offsets.values()} == {0}


def test_an_iteration_that_waits_ends(make: Make) -> None:
    """With all its records committed."""
    consumer, fakes = joined(make)
    fakes.wakeup.meanwhile.append(consumer.close)
    assert len(list(consumer)) == 20
    assert {it.offset for it in fakes.group.committed_offsets.values()} == {10}


def test_a_handler_without_automatic_commits_commits_nothing(make: Make) -> None:
    """Nor one that says so."""
    for settings, autocommit in (({"enable_auto_commit": False}, True), ({}, False)):
        consumer, fakes = joined(make, **settings)
        consumer.poll()
        fakes.wakeup.meanwhile.append(partial(consumer.close, autocommit=autocommit))
        assert consumer.poll(1_000) == {}
        assert fakes.group.committed_offsets == {}


def test_a_position_that_is_waited_for_is_broken_off(make: Make) -> None:
    """There is nothing that could be given."""
    consumer, fakes = make("t")
    fakes.group.give(A)
    fakes.lookup.holds = True
    consumer.poll()
    fakes.wakeup.meanwhile.append(consumer.close)
    with pytest.raises(ConsumerClosed, match="while this call waited"):
        consumer.position(A)
    assert consumer._parts.one_caller.closed


class Closes(ConsumerRebalanceListener):
    """Closes the consumer when it hears of something."""

    def __init__(self, consumer: KafkaConsumer) -> None:
        self.consumer = consumer
        self.received: list[str] = []

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """See ``ConsumerRebalanceListener``."""
        self.received.append("assigned")
        self.consumer.close()
        assert self.consumer.assignment() == set(assigned)

    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """See ``ConsumerRebalanceListener``."""
        del revoked
        self.received.append("revoked")
        self.consumer.close()
        self.consumer.commit({A: OffsetAndMetadata(7, "mine")})


def test_a_listener_that_closes_has_it_done_when_its_call_is_over(make: Make) -> None:
    """The rebalance goes through before; in ``close()`` itself it changes nothing."""
    consumer, fakes = make("t")
    fakes.engine.ends = {A: 10}
    listener = Closes(consumer)
    consumer.subscribe(["t"], listener=listener)
    fakes.group.give(A)
    assert consumer.poll(1_000) == {}
    assert listener.received == ["assigned", "revoked"]
    assert fakes.group.committed_offsets == {A: OffsetAndMetadata(7, "mine")}
    with pytest.raises(ConsumerClosed):
        consumer.poll()


def test_a_callback_that_closes_has_it_done_when_its_call_is_over(make: Make) -> None:
    """It is called out of a commit here."""
    consumer, fakes = joined(make)
    consumer.poll()
    consumer.commit_async(callback=lambda *_: consumer.close())
    fakes.group.due.append(fakes.group.response)
    assert consumer.poll() == {}
    assert consumer._parts.one_caller.closed


def test_what_the_listener_raises_amid_a_close_comes_out_of_the_call(make: Make) -> None:
    """Of the one that closes; where that raises already, it is logged."""

    class Fails(ConsumerRebalanceListener):
        def __init__(self, consumer: KafkaConsumer, first: Exception | None) -> None:
            self.consumer, self.first = consumer, first

        def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
            del assigned
            self.consumer.close()
            if self.first is not None:
                raise self.first

        def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
            raise ValueError(f"mine, of {revoked}")

    for first, error in ((None, ValueError), (KeyError("first"), KeyError)):
        consumer, fakes = make("t")
        consumer.subscribe(["t"], listener=Fails(consumer, first))
        fakes.group.give(A)
        with pytest.raises(error):
            consumer.poll()
        assert consumer._parts.one_caller.closed
