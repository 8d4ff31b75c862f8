"""What programs for kafka-python do with a consumer: override, wrap, use commit futures."""

import pytest

from tests.support.poll_callers import A, B, ConsumerFactory, joined_consumer
from zkconsumer import KafkaConsumer, OffsetAndMetadata, RebalanceInProgress
from zkconsumer.consumer.walk import PureRecordIterator
from zkconsumer.records.consumer_record import ConsumerRecord
from zkconsumer.records.engine import ENGINE, Engine


def test_a_consumer_is_its_own_iterator(make_consumer: ConsumerFactory) -> None:
    """It can be iterated again after its end."""
    consumer, fakes = joined_consumer(make_consumer, consumer_timeout_ms=20)
    assert iter(consumer) is consumer
    assert len(list(consumer)) == 20
    with pytest.raises(StopIteration):
        next(consumer)
    fakes.engine.ends = {A: 12, B: 10}
    assert [record.offset for record in consumer] == [10, 11]


def test_an_overridden_next_sees_every_record(
    make_consumer: ConsumerFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for any Python iterator, loops call the subclass's ``__next__``."""
    consumer, _ = joined_consumer(make_consumer, consumer_timeout_ms=20)
    seen: list[int] = []

    class RecordingConsumer(KafkaConsumer):
        def __next__(self) -> ConsumerRecord:
            record = super().__next__()
            seen.append(record.offset)
            return record

    monkeypatch.setattr(consumer, "__class__", RecordingConsumer)
    assert [record.offset for record in consumer] == seen
    assert len(seen) == 20


def test_a_wrapped_class_method_sees_every_record_until_unwrapped(
    make_consumer: ConsumerFactory,
) -> None:
    """Instrumentation wraps the class after consumers were created."""
    consumer, fakes = joined_consumer(make_consumer, consumer_timeout_ms=20)
    before = KafkaConsumer.__next__
    seen: list[int] = []

    def wrapped(self: KafkaConsumer) -> ConsumerRecord:
        record = before(self)
        seen.append(record.offset)
        return record

    KafkaConsumer.__next__ = wrapped  # type: ignore[method-assign, assignment]
    try:
        assert len(list(consumer)) == len(seen) == 20
        with pytest.raises(StopIteration):
            next(consumer)
    finally:
        KafkaConsumer.__next__ = before  # type: ignore[method-assign]
    fakes.engine.ends = {A: 15, B: 10}
    assert len(list(consumer)) == 5
    assert len(seen) == 20


def test_next_is_implemented_by_the_engine() -> None:
    """It is in C if there is a native core."""
    assert issubclass(KafkaConsumer, PureRecordIterator) == (ENGINE is Engine.PURE)


@pytest.mark.parametrize("error", [None, RebalanceInProgress("later"), ValueError("no")])
def test_a_future_holds_the_outcome_of_a_commit(
    make_consumer: ConsumerFactory, error: Exception | None
) -> None:
    """Callbacks run once, even if added later; their exceptions are logged."""
    consumer, fakes = joined_consumer(make_consumer)
    reported: list[object] = []
    future = consumer.commit_async({A: OffsetAndMetadata(3)}, lambda *both: reported.append(both))
    assert future.add_callback(reported.append).add_errback(reported.append) is future
    future.add_both(lambda _: 1 / 0)
    assert (future.is_done, future.succeeded(), future.failed()) == (False, False, False)
    assert (future.value, future.exception, reported) == (None, None, [])
    fakes.group.response(error)
    offsets = {A: OffsetAndMetadata(3)}
    outcome = offsets if error is None else error
    assert reported == [outcome, (offsets, error)]
    assert (future.is_done, future.succeeded(), future.failed()) == (
        True,
        error is None,
        error is not None,
    )
    assert (future.value, future.exception) == ((offsets, None) if error is None else (None, error))
    assert future.retriable() == isinstance(error, RebalanceInProgress)
    future.add_both(
        reported.append,
    )
    assert reported[2:] == [outcome]


def test_waiting_for_a_commit_needs_no_poll(
    make_consumer: ConsumerFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading the future runs due callbacks; an empty commit is done at once."""
    consumer, fakes = joined_consumer(make_consumer)
    future = consumer.commit_async({A: OffsetAndMetadata(3)})
    monkeypatch.setattr(fakes.group, "run_callbacks", fakes.group.response)
    assert future.is_done
    assert consumer.commit_async({}).succeeded()
