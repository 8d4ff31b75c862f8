"""``close()`` in a signal handler at any point, in listeners and in callbacks."""

from collections.abc import Collection
from functools import partial
from typing import Any

import pytest

from tests.support.poll_callers import A, B, ConsumerFactory, joined_consumer, offsets_of
from zkconsumer import ConsumerRebalanceListener, KafkaConsumer, TopicPartition
from zkconsumer.errors import ConsumerClosed
from zkconsumer.model import OffsetAndMetadata


def test_a_signal_handler_closes_a_waiting_consumer_completely(
    make_consumer: ConsumerFactory,
) -> None:
    """The handler may end the process after ``close()``; the poll returns no records."""
    consumer, fakes = joined_consumer(make_consumer)
    assert offsets_of(consumer.poll()) == {A: list(range(10)), B: list(range(10))}
    seen: list[object] = []

    def handler() -> None:
        consumer.close()
        consumer.close()
        seen.extend([consumer._parts.one_caller.closed, dict(fakes.group.committed_offsets)])

    fakes.wakeup.meanwhile.append(handler)
    assert consumer.poll(1_000) == {}
    assert seen == [True, {A: OffsetAndMetadata(10, "", 3), B: OffsetAndMetadata(10, "", 3)}]


def test_a_poll_interrupted_by_close_returns_no_records(make_consumer: ConsumerFactory) -> None:
    """Records already taken are dropped and not committed.

    If the listener raised an exception meanwhile, the caller would never see them.
    """
    consumer, fakes = joined_consumer(make_consumer)
    collect = fakes.engine.collect_as

    def collect_and_close(*args: Any) -> object:
        found = collect(*args)
        consumer.close()
        return found

    fakes.engine.collect_as = collect_and_close  # type: ignore[method-assign,assignment]
    assert consumer.poll() == {}
    assert {committed.offset for committed in fakes.group.committed_offsets.values()} == {0}


def test_a_waiting_iteration_ends_when_closed(make_consumer: ConsumerFactory) -> None:
    """All of its records are committed."""
    consumer, fakes = joined_consumer(make_consumer)
    fakes.wakeup.meanwhile.append(consumer.close)
    assert len(list(consumer)) == 20
    assert {committed.offset for committed in fakes.group.committed_offsets.values()} == {10}


def test_a_handler_without_automatic_commits_commits_nothing(
    make_consumer: ConsumerFactory,
) -> None:
    """Nor does one that closes with ``autocommit=False``."""
    for settings, autocommit in (({"enable_auto_commit": False}, True), ({}, False)):
        consumer, fakes = joined_consumer(make_consumer, **settings)
        consumer.poll()
        fakes.wakeup.meanwhile.append(partial(consumer.close, autocommit=autocommit))
        assert consumer.poll(1_000) == {}
        assert fakes.group.committed_offsets == {}


def test_a_position_lookup_ends_with_an_error_when_closed(make_consumer: ConsumerFactory) -> None:
    """There is no position that could be returned."""
    consumer, fakes = make_consumer("t")
    fakes.group.assign(A)
    fakes.lookup.holds = True
    consumer.poll()
    fakes.wakeup.meanwhile.append(consumer.close)
    with pytest.raises(ConsumerClosed, match="while this call waited"):
        consumer.position(A)
    assert consumer._parts.one_caller.closed


class ClosingListener(ConsumerRebalanceListener):
    """A listener that closes the consumer when it is called."""

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


def test_a_close_in_a_listener_takes_effect_after_its_call(make_consumer: ConsumerFactory) -> None:
    """The rebalance is completed first; in ``close()`` itself another close has no effect."""
    consumer, fakes = make_consumer("t")
    fakes.engine.ends = {A: 10}
    listener = ClosingListener(consumer)
    consumer.subscribe(["t"], listener=listener)
    fakes.group.assign(A)
    assert consumer.poll(1_000) == {}
    assert listener.received == ["assigned", "revoked"]
    assert fakes.group.committed_offsets == {A: OffsetAndMetadata(7, "mine")}
    with pytest.raises(ConsumerClosed):
        consumer.poll()


def test_a_close_in_a_callback_takes_effect_after_its_call(make_consumer: ConsumerFactory) -> None:
    """The callback of a commit closes the consumer within a poll."""
    consumer, fakes = joined_consumer(make_consumer)
    consumer.poll()
    consumer.commit_async(callback=lambda *_: consumer.close())
    fakes.group.due.append(fakes.group.response)
    assert consumer.poll() == {}
    assert consumer._parts.one_caller.closed


def test_an_exception_of_the_listener_during_close_is_raised(
    make_consumer: ConsumerFactory,
) -> None:
    """It is raised by the call that closes, or logged if that call already raises another."""

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
        consumer, fakes = make_consumer("t")
        consumer.subscribe(["t"], listener=Fails(consumer, first))
        fakes.group.assign(A)
        with pytest.raises(error):
            consumer.poll()
        assert consumer._parts.one_caller.closed
