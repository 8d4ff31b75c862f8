"""Batches written to the target: acknowledged, refused, dropped, retried."""

import pytest

from tests.support.mirroring import OTHER, SOURCE, RecordingLedger, TargetDouble, batch_of
from zkconsumer.errors import MirrorError
from zkconsumer.mirror.landed import Landed
from zkconsumer.mirror.writer import Writer
from zkconsumer.model import TopicPartition

COPY_0 = TopicPartition("copy", 0)
COPY_1 = TopicPartition("copy", 1)


def writer(
    target: TargetDouble,
    received: RecordingLedger,
    *,
    stopping: list[bool] | None = None,
    retries: int | None = None,
    drops: bool = False,
) -> Writer:
    """Return a writer without pauses."""
    return Writer(
        target.write,
        received,
        is_stopping=lambda: bool(stopping),
        pause=lambda: None,
        retries=retries,
        drops=drops,
    )


def test_all_is_written_in_order_and_reported() -> None:
    """Everything is written, and the position is after it, gaps included."""
    target, received = TargetDouble(), RecordingLedger()
    batch = batch_of({SOURCE: {COPY_0: [3, 4, 7]}}, {SOURCE: 9})
    assert writer(target, received).write(batch)
    assert target.logs == {COPY_0: [b"v3", b"v4", b"v7"]}
    assert [pair for line in received.lines for pair in line.pairs()] == [(3, 0), (4, 1), (7, 2)]
    assert batch.positions() == {SOURCE: 9}


def test_a_record_set_of_several_sources_has_a_line_for_each() -> None:
    """A record set in the target may have messages of several source partitions."""
    batch = batch_of({SOURCE: {COPY_0: [0, 1]}, OTHER: {COPY_0: [5]}})
    assert batch.acknowledge(COPY_0, 100, 3) == [
        Landed(SOURCE, ((0, 2),), COPY_0, 100),
        Landed(OTHER, ((5, 6),), COPY_0, 102),
    ]


def test_a_retriable_failure_is_retried_without_loss_or_reordering() -> None:
    """Only messages that were not acknowledged are sent again."""
    refusals = [b"v1", b"v1", b"v2"]

    def judge(value: bytes) -> str | None:
        if refusals and refusals[0] == value:
            refusals.pop(0)
            return "later: no leader"
        return None

    target, received = TargetDouble(judge), RecordingLedger()
    batch = batch_of({SOURCE: {COPY_0: [0, 1, 2, 3]}})
    assert writer(target, received).write(batch)
    assert target.logs[COPY_0] == [b"v0", b"v1", b"v2", b"v3"]
    assert target.calls == 4
    assert batch.positions() == {SOURCE: 4}


def test_retries_are_limited_if_configured() -> None:
    """There is one attempt, and as many as ``retries`` after it."""
    target = TargetDouble(lambda value: "later: never" if value == b"v1" else None)
    batch = batch_of({SOURCE: {COPY_0: [0, 1]}})
    with pytest.raises(MirrorError, match="offset 1 of clicks-0"):
        writer(target, RecordingLedger(), retries=2).write(batch)
    assert target.calls == 3


def test_the_error_of_a_refusal_has_the_exact_offset() -> None:
    """Nothing after the message is committed, whatever was acknowledged in other partitions."""
    target = TargetDouble(lambda value: "MESSAGE_TOO_LARGE" if value == b"v2" else None)
    received = RecordingLedger()
    batch = batch_of({SOURCE: {COPY_0: [0, 2, 4], COPY_1: [1, 3, 5]}, OTHER: {COPY_1: [9]}})
    with pytest.raises(MirrorError, match=r"offset 2 of clicks-0 \(for copy-0\): MESSAGE_TOO_LAR"):
        writer(target, received).write(batch)
    assert batch.positions() == {SOURCE: 2, OTHER: 10}
    assert target.logs[COPY_1] == [b"v1", b"v3", b"v5", b"v9"]
    assert sum(line.count for line in received.lines) == 5


def test_a_refused_message_is_dropped_and_the_next_ones_are_written() -> None:
    """Only the message at fault is left out, and it is reported."""
    target = TargetDouble(lambda value: "too large" if value in (b"v0", b"v2") else None)
    received = RecordingLedger()
    batch = batch_of({SOURCE: {COPY_0: [0, 1, 2, 3]}})
    assert writer(target, received, drops=True).write(batch)
    assert target.logs[COPY_0] == [b"v1", b"v3"]
    assert [(offset, reason) for _, offset, reason in received.dropped_ones] == [
        (0, "too large"),
        (2, "too large"),
    ]
    assert set(received.targets_of_dropped) == {COPY_0}
    assert batch.positions() == {SOURCE: 4}
    assert [pair for line in received.lines for pair in line.pairs()] == [(1, 0), (3, 1)]


def test_only_the_message_at_fault_is_dropped() -> None:
    """A retriable failure of another partition at the same time drops nothing."""
    again = iter(["later: no leader", "later: no leader"])
    target = TargetDouble(
        lambda value: (
            "too large" if value == b"v0" else next(again, None) if value == b"v1" else None
        )
    )
    received = RecordingLedger()
    batch = batch_of({SOURCE: {COPY_0: [0, 2], COPY_1: [1, 3]}})
    assert writer(target, received, drops=True).write(batch)
    assert [offset for _, offset, _ in received.dropped_ones] == [0]
    assert target.logs == {COPY_0: [b"v2"], COPY_1: [b"v1", b"v3"]}


def test_a_failure_of_the_whole_topic_drops_no_message() -> None:
    """If access is refused, every message would be dropped, one by one."""
    target = TargetDouble(lambda _value: "all: TOPIC_AUTHORIZATION_FAILED")
    received = RecordingLedger()
    batch = batch_of({SOURCE: {COPY_0: [0, 1]}})
    with pytest.raises(MirrorError, match="TOPIC_AUTHORIZATION_FAILED"):
        writer(target, received, drops=True).write(batch)
    assert received.dropped_ones == []
    assert batch.positions() == {SOURCE: 0}


def test_a_retriable_failure_never_drops_a_message() -> None:
    """It is retried without end, until the mirror is stopped."""
    stopping: list[bool] = []

    def judge(_value: bytes) -> str:
        if target.calls == 30:
            stopping.append(True)
        return "later: all brokers down"

    target = TargetDouble(judge)
    received = RecordingLedger()
    batch = batch_of({SOURCE: {COPY_0: [4]}})
    assert not writer(target, received, stopping=stopping, drops=True).write(batch)
    assert received.dropped_ones == []
    assert batch.positions() == {SOURCE: 4}
