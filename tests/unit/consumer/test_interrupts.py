"""Exceptions of signal handlers, wherever they strike: the caller goes on and misses nothing."""

import traceback
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from tests.support.interrupting import interrupt_at_check
from tests.support.poll_callers import A, B, Make
from tests.support.poll_fakes import FakeParts
from tests.support.shares import stride
from zkconsumer import KafkaConsumer, TopicPartition
from zkconsumer.consumer.arrow_polls import PolledBatches

END = 5
TESTS = str(Path(__file__).parents[2])
UNHEARD = ("def take_over", "self._interrupted = None")
"""Where ``take_over`` has done nothing yet."""
Seen = dict[TopicPartition, list[int]]
Read = Callable[[KafkaConsumer, FakeParts, Seen], None]


def by_poll(consumer: KafkaConsumer, fakes: FakeParts, seen: Seen) -> None:
    """Poll after poll, with automatic commits."""
    for _ in range(6):
        for tp, records in consumer.poll(max_records=3).items():
            seen[tp] += [record.offset for record in records]
        while fakes.group.pending:
            fakes.group.response()


def by_loop(consumer: KafkaConsumer, fakes: FakeParts, seen: Seen) -> None:
    """Loops, over all, and left after the first."""
    del fakes
    for most in (1, 100, 100):
        for taken, record in enumerate(consumer, 1):
            seen[TopicPartition(record.topic, record.partition)].append(record.offset)
            if taken == most:
                break


def mixed(consumer: KafkaConsumer, fakes: FakeParts, seen: Seen) -> None:
    """One of each, in turns."""
    del fakes
    for _ in range(6):
        for record in consumer:
            seen[TopicPartition(record.topic, record.partition)].append(record.offset)
            break
        for tp, records in consumer.poll(max_records=2).items():
            seen[tp] += [record.offset for record in records]


def by_batch(consumer: KafkaConsumer, fakes: FakeParts, seen: Seen) -> None:
    """Arrow batches."""
    del fakes
    for _ in range(6):
        for row in consumer.poll_arrow(max_records=3).to_pylist():
            seen[TopicPartition(row["topic"], row["partition"])].append(row["offset"])


def by_stream(consumer: KafkaConsumer, fakes: FakeParts, seen: Seen) -> None:
    """What a reader of an Arrow C stream draws its batches from."""
    del fakes
    schema = pytest.importorskip("zkconsumer.streams.polled_batches").SCHEMA
    for _ in range(3):
        for batch in PolledBatches(consumer, schema):
            for row in batch.to_pylist():
                seen[TopicPartition(row["topic"], row["partition"])].append(row["offset"])


def strike() -> None:
    """What Ctrl-C does."""
    raise KeyboardInterrupt


def test_an_interrupt_costs_no_topic_of_a_pattern(make: Make) -> None:
    """Who joins late would read late: the next view may be minutes away."""
    for number in count():
        consumer, fakes = make()
        consumer.subscribe(pattern="^web")
        fakes.metadata.learn({"web1": 1})
        fakes.session.saw_view()
        try:
            interrupt_at_check(number, strike, consumer.poll)
        except KeyboardInterrupt:
            consumer.poll()
            assert "subscribe web1 ..." in fakes.group.calls, number
            consumer.close()
        else:
            break


@pytest.mark.parametrize("first", range(3))
@pytest.mark.parametrize("read", [by_poll, by_loop, mixed, by_batch, by_stream])
def test_an_interrupt_costs_no_record(make: Make, read: Read, first: int) -> None:
    """Neither does it hand out one twice, nor keep a consumer from closing."""
    if read is by_batch:
        pytest.importorskip("pyarrow")
    step = stride(24)
    for number in count(first * step // 3, step):
        consumer, fakes = make(
            "t", consumer_timeout_ms=1, max_poll_records=3, auto_commit_interval_ms=0
        )
        fakes.engine.ends = {A: END, B: END}
        fakes.group.give(A, B)
        seen: Seen = defaultdict(list)
        place = None
        try:
            interrupt_at_check(number, strike, partial(read, consumer, fakes, seen))
        except KeyboardInterrupt as interrupt:
            frames = traceback.extract_tb(interrupt.__traceback__)
            inside = [frame for frame in frames if not frame.filename.startswith(TESTS)]
            place = inside[-1]
        if place is None:
            break
        unheard = place.line is not None and place.line.startswith(UNHEARD)
        if "/records/" in place.filename or (place.name == "take_over" and unheard):
            continue  # the caller has got it; or nobody here has heard of the partitions yet
        for _ in range(3):
            read(consumer, fakes, seen)
        assert seen == {A: list(range(END)), B: list(range(END))}, (number, place)
        consumer.close()
        assert {tp: it.offset for tp, it in fakes.group.committed_offsets.items()} == {
            A: END,
            B: END,
        }
