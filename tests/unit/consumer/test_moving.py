"""Positions, iteration, batches and closing, with fake components."""

import itertools
from collections.abc import Callable

import pytest

from tests.support.model_engine import EPOCH, value_of
from tests.support.poll_callers import A, B, ConsumerFactory, Listener, joined_consumer, offsets_of
from zkconsumer import (
    ConsumerRecord,
    OffsetAndMetadata,
)
from zkconsumer.errors import (
    ConsumerClosed,
    IllegalState,
    PartitionFailed,
    RequestTimedOut,
)

# --- positions -----------------------------------------------------------------------------------


def test_seek_moves_to_any_offset(make_consumer: ConsumerFactory) -> None:
    """The last of several seeks counts."""
    consumer, _ = joined_consumer(make_consumer)
    consumer.poll()
    consumer.seek(A, 3)
    consumer.seek(A, 8)
    consumer.seek(B, OffsetAndMetadata(9, "", 4))
    assert offsets_of(consumer.poll()) == {A: [8, 9], B: [9]}
    consumer.seek_to_beginning(A)
    assert offsets_of(consumer.poll(max_records=1)) == {A: [0]}
    consumer.seek_to_end()
    assert (consumer.position(A), consumer.position(B)) == (10, 10)


def test_partitions_that_are_not_assigned_are_refused(make_consumer: ConsumerFactory) -> None:
    """The error names the partition."""
    consumer, _ = make_consumer("t")
    calls: list[Callable[[], object]] = [
        lambda: consumer.seek(A, 1),
        lambda: consumer.position(A),
        lambda: consumer.highwater(A),
        lambda: consumer.pause(A),
        lambda: consumer.resume(A),
        lambda: consumer.seek_to_beginning(A),
    ]
    for call in calls:
        with pytest.raises(IllegalState, match="t-0 is not assigned"):
            call()
    with pytest.raises(IllegalState, match="no partition is assigned"):
        consumer.seek_to_end()


def test_a_position_is_waited_for(make_consumer: ConsumerFactory) -> None:
    """A lookup of the position waits as long as the caller allows."""
    consumer, fakes = joined_consumer(make_consumer)
    fakes.engine.slow_resets = True
    consumer.seek_to_end(A)
    fakes.wakeup.meanwhile = [lambda: None, fakes.engine.complete_resets]
    assert consumer.position(A) == 10
    consumer.seek_to_end(A)
    assert consumer.position(A, timeout_ms=50) is None
    with pytest.raises(RequestTimedOut, match="t-0: its position is still unknown after 60000 ms"):
        consumer.position(A)


def test_paused_partitions_keep_their_records(make_consumer: ConsumerFactory) -> None:
    """They keep their buffered records and their position."""
    consumer, _ = joined_consumer(make_consumer)
    consumer.pause(A)
    assert consumer.paused() == {A}
    assert list(consumer.poll()) == [B]
    consumer.resume(A)
    assert consumer.paused() == set()
    assert list(consumer.poll()) == [A]
    assert consumer.highwater(A) == 10


# --- iteration -----------------------------------------------------------------------------------


def test_iteration_returns_single_records_and_ends_with_the_time_out(
    make_consumer: ConsumerFactory,
) -> None:
    """An iteration spans as many polls as it needs."""
    consumer, _ = joined_consumer(make_consumer, consumer_timeout_ms=2_000, max_poll_records=3)
    seen = [(record.partition, record.offset) for record in consumer]
    assert seen == [(0, n) for n in range(10)] + [(1, n) for n in range(10)]
    with pytest.raises(StopIteration):
        next(consumer)


def test_a_position_in_an_iteration_follows_the_current_record(
    make_consumer: ConsumerFactory,
) -> None:
    """Records that were fetched but not returned yet do not count."""
    consumer, fakes = joined_consumer(make_consumer)
    assert next(consumer).offset == 0
    assert next(consumer).offset == 1
    assert consumer.position(A) == 2
    assert consumer.position(B) == 0
    consumer.commit()
    assert fakes.group.committed_offsets == {
        A: OffsetAndMetadata(2, "", EPOCH),
        B: OffsetAndMetadata(0),
    }


def test_an_iteration_can_be_left_and_resumed(make_consumer: ConsumerFactory) -> None:
    """Another loop or a poll continues after the last record."""
    consumer, _ = joined_consumer(make_consumer)
    assert [record.offset for record in itertools.islice(consumer, 3)] == [0, 1, 2]
    assert next(consumer).offset == 3
    assert [record.offset for record in itertools.islice(consumer, 2)] == [4, 5]
    assert offsets_of(consumer.poll(max_records=5)) == {A: [6, 7, 8, 9], B: [0]}
    assert next(consumer).offset == 1


def test_a_seek_or_pause_in_a_loop_takes_effect_at_once(make_consumer: ConsumerFactory) -> None:
    """It affects only its own partition."""
    consumer, _ = joined_consumer(make_consumer)
    seen: list[tuple[int, int]] = []
    for record in consumer:
        seen.append((record.partition, record.offset))
        if seen == [(0, 0)]:
            consumer.pause(A)
        elif seen[-1] == (1, 1):
            consumer.seek(B, 8)
            consumer.resume(A)
        elif seen[-1] == (0, 9):
            break
    assert seen == [(0, 0), (1, 0), (1, 1), *((0, n) for n in range(1, 10))]
    assert [next(consumer).offset, next(consumer).offset] == [8, 9]


def test_a_rebalance_in_a_loop_commits_the_returned_records(make_consumer: ConsumerFactory) -> None:
    """Records that were not returned yet are left to the new owner."""
    consumer, fakes = joined_consumer(make_consumer, max_poll_records=20)
    assert next(consumer).offset == 0
    fakes.group.revoke(A)
    consumer.pause(A)  # so that the loop has to poll
    consumer.pause(B)
    consumer.poll()
    assert fakes.group.committed_offsets == {A: OffsetAndMetadata(1, "", EPOCH)}
    consumer.resume(B)
    assert [next(consumer).partition, next(consumer).partition] == [1, 1]


def test_a_loop_looks_again_and_again_whether_its_partition_is_ours(
    make_consumer: ConsumerFactory,
) -> None:
    """The caller's work on one record may take longer than a session."""
    consumer, fakes = joined_consumer(make_consumer, consumer_timeout_ms=100)
    for record in consumer:
        if record.offset == 2:
            fakes.group.is_certain = False
            fakes.clock.advance(60_000)
        assert record.offset <= 2
    fakes.group.is_certain = True
    assert next(consumer).offset == 3


def test_a_failure_in_a_loop_is_raised_and_the_next_loop_continues(
    make_consumer: ConsumerFactory,
) -> None:
    """The next loop continues after the last record."""
    consumer, fakes = joined_consumer(make_consumer, consumer_timeout_ms=10)
    fakes.engine.errors = [PartitionFailed(A, 10, "corrupt")]
    seen: list[ConsumerRecord] = []
    with pytest.raises(PartitionFailed):
        seen.extend(consumer)
    assert consumer.position(B) == 10
    assert list(consumer) == []


def test_a_loop_ends_when_the_consumer_is_closed_in_it(make_consumer: ConsumerFactory) -> None:
    """The loop ends as in kafka-python, with the current record committed."""
    consumer, fakes = joined_consumer(make_consumer)
    for record in consumer:
        assert record.offset <= 1
        if record.offset == 1:
            consumer.close()
    assert fakes.group.committed_offsets[A] == OffsetAndMetadata(2, "", EPOCH)


# --- Arrow ---------------------------------------------------------------------------------------


def test_poll_arrow_returns_one_batch(make_consumer: ConsumerFactory) -> None:
    """Records are grouped by partition; those that an iteration held come first."""
    consumer, _ = joined_consumer(make_consumer)
    assert next(consumer).offset == 0
    first = consumer.poll_arrow(max_records=11)
    assert first.column("offset").to_pylist() == [*range(1, 10), 0, 1]
    assert first.column("partition").to_pylist() == [0] * 9 + [1] * 2
    assert set(first.column("topic").to_pylist()) == {"t"}
    assert first.column("value")[0].as_py() == value_of(A, 1)
    assert first.column("headers").null_count == 11
    assert consumer.poll_arrow().num_rows == 8
    empty = consumer.poll_arrow(timeout_ms=5)
    assert (empty.num_rows, empty.schema) == (0, first.schema)
    assert consumer.position(B) == 10


# --- closing -------------------------------------------------------------------------------------


def test_close_commits_leaves_and_stops(make_consumer: ConsumerFactory) -> None:
    """``close`` commits, leaves the group and stops fetching; a second one does nothing."""
    consumer, fakes = joined_consumer(make_consumer)
    listener = Listener(consumer)
    consumer.subscribe(["t"], listener=listener)
    consumer.poll()
    consumer.close(timeout_ms=8_000)
    consumer.close()
    assert [call for call in fakes.group.calls if call.startswith("close")] == ["close 7000"]
    assert fakes.group.committed_offsets[A] == OffsetAndMetadata(10, "", EPOCH)
    assert listener.received == [("revoked", [A, B])]
    assert fakes.engine.stopped
    for call in (consumer.poll, consumer.commit, consumer.topics):
        with pytest.raises(ConsumerClosed, match="was closed"):
            call()
    assert list(consumer) == []


def test_a_block_that_fails_does_not_commit(make_consumer: ConsumerFactory) -> None:
    """It is unknown whether the current record was processed."""
    consumer, fakes = joined_consumer(make_consumer)
    consumer.poll()
    fakes.engine.errors = [PartitionFailed(A, 10, "corrupt")]
    with pytest.raises(PartitionFailed), consumer:
        consumer.poll()
    assert fakes.group.committed_offsets == {}
    assert fakes.engine.stopped


def test_a_failing_listener_does_not_prevent_closing(make_consumer: ConsumerFactory) -> None:
    """Its exception is raised at the end."""
    consumer, fakes = joined_consumer(make_consumer)
    listener = Listener(consumer)
    listener.raises = ValueError("mine")
    consumer.subscribe(["t"], listener=listener)
    with pytest.raises(ValueError, match="mine"):
        consumer.close()
    assert fakes.engine.stopped
    consumer.close()


def test_a_rebalance_can_be_requested(make_consumer: ConsumerFactory) -> None:
    """Without a subscription there is no group to rebalance, which the error says."""
    consumer, fakes = joined_consumer(make_consumer)
    consumer.enforce_rebalance()
    assert fakes.group.calls[-1] == "rejoin"
    consumer.unsubscribe()
    with pytest.raises(IllegalState, match="subscribe"):
        consumer.enforce_rebalance()


def test_group_metadata_names_the_member(make_consumer: ConsumerFactory) -> None:
    """It has the fields that transactional producers need (KIP-447)."""
    consumer, fakes = joined_consumer(make_consumer)
    found = consumer.group_metadata()
    assert found._fields[:4] == ("group_id", "generation_id", "member_id", "group_instance_id")
    assert found[:4] == ("g", 7, fakes.group.member_id, None)


def test_metrics_have_the_names_of_kafka_python(make_consumer: ConsumerFactory) -> None:
    """Metrics are grouped and named as in kafka-python."""
    consumer, _ = joined_consumer(make_consumer)
    consumer.poll(max_records=3)
    found = consumer.metrics()
    coordinator = {"assigned-partitions": 2, "generation": 7, "join-total": 1}
    assert coordinator.items() <= found["consumer-coordinator-metrics"].items()
    assert found["consumer-fetch-manager-metrics"]["records-lag-max"] == 10
    assert found["consumer-fetch-manager-metrics.t-0"] == {
        "records-lag": 7,
        "position": 3,
        "high-watermark": 10,
        "log-start": 0,
    }
