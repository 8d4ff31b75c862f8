"""Exceptions raised by signal handlers at any point: the caller loses no records."""

import traceback
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from tests.support.interrupting import interrupt_at_check
from tests.support.poll_callers import A, B, ConsumerFactory
from tests.support.poll_fakes import FakeParts
from tests.support.shares import sampling_step
from zkconsumer import KafkaConsumer, TopicPartition
from zkconsumer.consumer.arrow_polls import PolledBatches

END = 5
TESTS = str(Path(__file__).parents[2])
NOT_STARTED = ("def take_over", "self._interrupted = None")
"""Lines of ``take_over`` at which it has done nothing yet."""
Seen = dict[TopicPartition, list[int]]
Read = Callable[[KafkaConsumer, FakeParts, Seen], None]


def by_poll(consumer: KafkaConsumer, fakes: FakeParts, seen: Seen) -> None:
    """Read by polls, with automatic commits."""
    for _ in range(6):
        for tp, records in consumer.poll(max_records=3).items():
            seen[tp] += [record.offset for record in records]
        while fakes.group.pending:
            fakes.group.response()


def by_loop(consumer: KafkaConsumer, fakes: FakeParts, seen: Seen) -> None:
    """Read by loops that are left after one record, or run to the end."""
    del fakes
    for most in (1, 100, 100):
        for taken, record in enumerate(consumer, 1):
            seen[TopicPartition(record.topic, record.partition)].append(record.offset)
            if taken == most:
                break


def mixed(consumer: KafkaConsumer, fakes: FakeParts, seen: Seen) -> None:
    """Read by iterations and polls in turn."""
    del fakes
    for _ in range(6):
        for record in consumer:
            seen[TopicPartition(record.topic, record.partition)].append(record.offset)
            break
        for tp, records in consumer.poll(max_records=2).items():
            seen[tp] += [record.offset for record in records]


def by_batch(consumer: KafkaConsumer, fakes: FakeParts, seen: Seen) -> None:
    """Read Arrow batches."""
    del fakes
    for _ in range(6):
        for row in consumer.poll_arrow(max_records=3).to_pylist():
            seen[TopicPartition(row["topic"], row["partition"])].append(row["offset"])


def by_stream(consumer: KafkaConsumer, fakes: FakeParts, seen: Seen) -> None:
    """Read the batches that an Arrow C stream is made of."""
    del fakes
    schema = pytest.importorskip("zkconsumer.streams.polled_batches").SCHEMA
    for _ in range(3):
        for batch in PolledBatches(consumer, schema):
            for row in batch.to_pylist():
                seen[TopicPartition(row["topic"], row["partition"])].append(row["offset"])


def raise_interrupt() -> None:
    """Raise what Ctrl-C raises."""
    raise KeyboardInterrupt


def test_an_interrupt_loses_no_topic_of_a_pattern(make_consumer: ConsumerFactory) -> None:
    """A topic that is missed would be read late, since the next view may be minutes away."""
    for number in count():
        consumer, fakes = make_consumer()
        consumer.subscribe(pattern="^web")
        fakes.metadata.learn({"web1": 1})
        fakes.session.saw_view()
        try:
            interrupt_at_check(number, raise_interrupt, consumer.poll)
        except KeyboardInterrupt:
            consumer.poll()
            assert "subscribe web1 ..." in fakes.group.calls, number
            consumer.close()
        else:
            break


@pytest.mark.parametrize("first", range(3))
@pytest.mark.parametrize("read", [by_poll, by_loop, mixed, by_batch, by_stream])
def test_an_interrupt_loses_no_record(
    make_consumer: ConsumerFactory, read: Read, first: int
) -> None:
    """No record is delivered twice either, and the consumer can be closed."""
    if read is by_batch:
        pytest.importorskip("pyarrow")
    step = sampling_step(24)
    for number in count(first * step // 3, step):
        consumer, fakes = make_consumer(
            "t", consumer_timeout_ms=1, max_poll_records=3, auto_commit_interval_ms=0
        )
        fakes.engine.ends = {A: END, B: END}
        fakes.group.assign(A, B)
        seen: Seen = defaultdict(list)
        location = None
        try:
            interrupt_at_check(number, raise_interrupt, partial(read, consumer, fakes, seen))
        except KeyboardInterrupt as interrupt:
            frames = traceback.extract_tb(interrupt.__traceback__)
            inside = [frame for frame in frames if not frame.filename.startswith(TESTS)]
            location = inside[-1]
        if location is None:
            break
        not_started = location.line is not None and location.line.startswith(NOT_STARTED)
        if "/records/" in location.filename or (location.name == "take_over" and not_started):
            continue  # the caller has the record, or the partitions are not known here yet
        for _ in range(3):
            read(consumer, fakes, seen)
        assert seen == {A: list(range(END)), B: list(range(END))}, (number, location)
        consumer.close()
        assert {
            tp: committed.offset for tp, committed in fakes.group.committed_offsets.items()
        } == {
            A: END,
            B: END,
        }
