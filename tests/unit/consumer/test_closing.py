"""``close()`` in a signal handler, wherever it strikes, and by listeners and callbacks."""

from collections.abc import Collection
from functools import partial
from typing import Any

import pytest

from tests.support.poll_callers import A, B, Make, joined, offsets_of
from zkconsumer import ConsumerRebalanceListener, KafkaConsumer, TopicPartition
from zkconsumer.errors import ConsumerClosed
from zkconsumer.model import OffsetAndMetadata


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
    assert {committed.offset for committed in fakes.group.committed_offsets.values()} == {0}


def test_an_iteration_that_waits_ends(make: Make) -> None:
    """With all its records committed."""
    consumer, fakes = joined(make)
    fakes.wakeup.meanwhile.append(consumer.close)
    assert len(list(consumer)) == 20
    assert {committed.offset for committed in fakes.group.committed_offsets.values()} == {10}


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
