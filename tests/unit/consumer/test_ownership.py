"""Rebalances and commits, with fake components."""

from collections.abc import Collection

import pytest

from tests.support.model_engine import EPOCH
from tests.support.poll_callers import A, B, ConsumerFactory, Listener, joined_consumer, offsets_of
from zkconsumer import (
    ConsumerRebalanceListener,
    OffsetAndMetadata,
    TopicPartition,
)
from zkconsumer.errors import (
    CommitFailed,
    ConfigError,
    IllegalState,
    OffsetCommitFailed,
)
from zkconsumer.membership.protocol import RevocationKind

# --- rebalances ----------------------------------------------------------------------------------


def test_delivered_records_are_committed_before_a_revocation(
    make_consumer: ConsumerFactory,
) -> None:
    """Only revoked partitions are committed; the listener is called while they are ours."""
    consumer, fakes = joined_consumer(make_consumer)
    listener = Listener(consumer)
    consumer.subscribe(["t"], listener=listener)
    consumer.poll(max_records=3)
    fakes.group.revoke(A)
    assert list(consumer.poll()) == [B]
    assert fakes.group.committed_offsets == {A: OffsetAndMetadata(3, "", EPOCH)}
    fakes.group.assign(A)
    consumer.poll()
    assert offsets_of(consumer.poll()) == {A: [3, 4, 5, 6, 7, 8, 9]}
    assert listener.received == [("revoked", [A]), ("assigned", [A])]


def test_of_lost_partitions_nothing_is_committed(make_consumer: ConsumerFactory) -> None:
    """The listener is told that they are lost, not revoked."""
    consumer, fakes = joined_consumer(make_consumer)
    listener = Listener(consumer)
    consumer.subscribe(["t"], listener=listener)
    consumer.poll()
    fakes.group.revoke(A, B, why=RevocationKind.LOST)
    assert consumer.poll() == {}
    assert fakes.group.calls.count("commit") == 0
    assert listener.received == [("lost", [A, B])]
    assert consumer.assignment() == set()


def test_a_failing_commit_does_not_prevent_a_rebalance(
    make_consumer: ConsumerFactory, caplog: pytest.LogCaptureFixture
) -> None:
    """The failure is logged and passed to the callback."""
    received: list[object] = []
    consumer, fakes = joined_consumer(
        make_consumer, default_offset_commit_callback=lambda _, error: received.append(error)
    )
    consumer.poll()
    error = CommitFailed("over")
    fakes.group.commit_errors = [error]
    fakes.group.revoke(A, B)
    consumer.poll()
    assert consumer.assignment() == set()
    assert received == [error]
    assert "automatic commit refused" in caplog.text


def test_poll_raises_the_listener_s_exception_after_the_rebalance(
    make_consumer: ConsumerFactory,
) -> None:
    """The rebalance is completed all the same."""
    consumer, fakes = joined_consumer(make_consumer)
    listener = Listener(consumer)
    consumer.subscribe(["t"], listener=listener)
    listener.raises = ValueError("mine")
    fakes.group.revoke(A)
    with pytest.raises(ValueError, match="mine"):
        consumer.poll()
    assert consumer.assignment() == {B}
    listener.raises = None
    assert list(consumer.poll()) == [B]


def test_a_listener_may_seek_and_commit(make_consumer: ConsumerFactory) -> None:
    """A listener that stores offsets itself sets the positions."""
    consumer, fakes = make_consumer()

    class Store(ConsumerRebalanceListener):
        def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
            for tp in assigned:
                consumer.seek(tp, 8)
            consumer.pause(B)

        def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
            consumer.commit({tp: OffsetAndMetadata(5, "mine") for tp in revoked})

    fakes.engine.ends = {A: 10, B: 10}
    consumer.subscribe(["t"], listener=Store())
    fakes.group.assign(A, B)
    assert offsets_of(consumer.poll()) == {A: [8, 9]}
    consumer.unsubscribe()
    assert fakes.group.committed_offsets[A] == OffsetAndMetadata(5, "mine")


@pytest.mark.parametrize(
    "first_unsubscribes", [False, True], ids=["at once", "after a nested call"]
)
def test_a_listener_can_not_subscribe_while_the_consumer_unsubscribes(
    make_consumer: ConsumerFactory, first_unsubscribes: bool
) -> None:
    """The group would have a member whose consumer reads nothing; later it may.

    An ``unsubscribe`` within the call ends earlier, and clears nothing that is chosen after it.
    """
    consumer, fakes = make_consumer()

    class Eager(ConsumerRebalanceListener):
        def on_partitions_revoked(self, _revoked: Collection[TopicPartition]) -> None:
            if first_unsubscribes:
                consumer.unsubscribe()
            consumer.subscribe(["u"])

    consumer.subscribe(["t"], listener=Eager())
    fakes.group.assign(A)
    consumer.poll()
    with pytest.raises(IllegalState, match="subscribe when it has returned"):
        consumer.unsubscribe()
    assert consumer.subscription() is None
    assert fakes.group.calls[-1].startswith("unsubscribe")
    consumer.subscribe(["u"])
    assert fakes.group.topics == {"u"}


def test_a_listener_without_on_partitions_lost_works(make_consumer: ConsumerFactory) -> None:
    """It is told of lost partitions as revoked ones."""
    received: list[object] = []

    class ForeignListener:
        def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
            received.append(("revoked", revoked))

        def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
            received.append(("assigned", assigned))

    consumer, fakes = make_consumer()
    consumer.subscribe(["t"], listener=ForeignListener())
    fakes.group.assign(A)
    consumer.poll()
    fakes.group.revoke(A, why=RevocationKind.LOST)
    consumer.poll()
    assert received == [("assigned", {A}), ("revoked", {A})]


def test_a_listener_with_coroutines_is_refused(make_consumer: ConsumerFactory) -> None:
    """Its methods would never be awaited."""

    class Later:
        async def on_partitions_revoked(self, revoked: object) -> None:
            """Never run."""

        async def on_partitions_assigned(self, assigned: object) -> None:
            """Never run."""

    consumer, _ = make_consumer()
    with pytest.raises(ConfigError, match="coroutine"):
        consumer.subscribe(["t"], listener=Later())
    assert consumer.subscription() is None


# --- commits -------------------------------------------------------------------------------------


def test_polls_commit_by_themselves_what_earlier_ones_handed_out(
    make_consumer: ConsumerFactory, caplog: pytest.LogCaptureFixture
) -> None:
    """Polls commit what earlier ones returned, every ``auto_commit_interval_ms``, one at a time."""
    consumer, fakes = joined_consumer(make_consumer, auto_commit_interval_ms=1_000)
    consumer.poll(max_records=4)
    assert fakes.group.pending == []
    fakes.clock.advance(1_000)
    consumer.poll(max_records=4)
    [(offsets, _)] = fakes.group.pending
    assert offsets == {A: OffsetAndMetadata(4, "", EPOCH), B: OffsetAndMetadata(0)}
    fakes.clock.advance(5_000)
    consumer.poll()
    assert len(fakes.group.pending) == 1
    fakes.group.response(CommitFailed("x"))
    fakes.clock.advance(100)  # sooner than usual after a failure
    consumer.poll()
    assert len(fakes.group.pending) == 1
    fakes.group.response(CommitFailed("x"))
    assert caplog.text.count("automatic commit refused") == 1  # the same failure is logged once
    fakes.clock.advance(200)
    consumer.poll()
    fakes.group.response()
    consumer.poll()
    assert fakes.group.pending == []


def test_without_auto_commit_nothing_is_committed_on_its_own(
    make_consumer: ConsumerFactory,
) -> None:
    """Neither after the interval, in a rebalance nor when closing."""
    consumer, fakes = joined_consumer(
        make_consumer, enable_auto_commit=False, auto_commit_interval_ms=0
    )
    consumer.poll()
    fakes.group.revoke(A)
    consumer.poll()
    consumer.close()
    assert fakes.group.committed_offsets == {}
    assert fakes.group.pending == []


def test_commit_writes_the_positions_or_the_given_offsets(make_consumer: ConsumerFactory) -> None:
    """``committed`` returns what was written."""
    consumer, fakes = joined_consumer(make_consumer)
    consumer.poll(max_records=2)
    consumer.commit()
    assert consumer.committed(A) == 2
    assert consumer.committed(A, metadata=True) == OffsetAndMetadata(2, "", EPOCH)
    consumer.commit({A: OffsetAndMetadata(1, "m")})
    assert consumer.committed(A, metadata=True) == OffsetAndMetadata(1, "m")
    assert consumer.committed(TopicPartition("t", 9)) is None
    fakes.group.commit_errors = [CommitFailed("over")]
    with pytest.raises(CommitFailed):
        consumer.commit()


def test_commit_async_calls_back_later(make_consumer: ConsumerFactory) -> None:
    """The commit's own callback is called, or else the default one."""
    received: list[tuple[str, object, object]] = []
    consumer, fakes = joined_consumer(
        make_consumer,
        default_offset_commit_callback=lambda *arguments: received.append(("default", *arguments)),
    )
    consumer.poll(max_records=1)
    consumer.commit_async()
    consumer.commit_async(
        {A: OffsetAndMetadata(7)}, lambda *arguments: received.append(("own", *arguments))
    )
    error = CommitFailed("x")
    fakes.group.response()
    fakes.group.response(error)
    both = {A: OffsetAndMetadata(1, "", EPOCH), B: OffsetAndMetadata(0)}
    assert received == [("default", both, None), ("own", {A: OffsetAndMetadata(7)}, error)]


def test_records_of_a_lost_partition_are_dropped(make_consumer: ConsumerFactory) -> None:
    """When it is assigned again, it is read from the committed offset."""
    consumer, fakes = joined_consumer(make_consumer, enable_auto_commit=False)
    assert next(consumer).offset == 0
    fakes.group.revoke(A, why=RevocationKind.LOST)
    fakes.group.assign(A)
    fakes.group.committed_offsets[A] = OffsetAndMetadata(7)
    consumer.pause(B)
    consumer.poll()
    assert offsets_of(consumer.poll()) == {A: [7, 8, 9]}


def test_close_respects_its_time_out_with_assigned_partitions(
    make_consumer: ConsumerFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The final commit counts as well, though there is no group to leave."""
    consumer, fakes = make_consumer()
    fakes.engine.ends = {A: 10}
    consumer.assign([A])
    consumer.poll()
    assert consumer.poll()
    allowed: list[int] = []

    def hang(_offsets: object, *, timeout_ms: int) -> None:
        allowed.append(timeout_ms)
        fakes.clock.advance(timeout_ms)
        raise OffsetCommitFailed("g", {A: "nobody answers"})

    monkeypatch.setattr(fakes.group, "commit", hang)
    began_ms = fakes.clock.now_ms()
    consumer.close(timeout_ms=1_000)
    assert allowed == [750]
    assert fakes.group.calls[-1] == "close 0"
    assert fakes.clock.now_ms() - began_ms <= 1_000
