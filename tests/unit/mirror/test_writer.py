"""Batches on their way into the target: what is acknowledged, refused, dropped, tried again."""

import pytest

from tests.support.mirroring import OTHER, SOURCE, Heard, TargetDouble, batch_of
from zkconsumer.errors import MirrorError
from zkconsumer.mirror.landed import Landed
from zkconsumer.mirror.writer import Writer
from zkconsumer.model import TopicPartition

THERE = TopicPartition("copy", 0)
THERE_TOO = TopicPartition("copy", 1)


def writer(
    target: TargetDouble,
    received: Heard,
    *,
    stopping: list[bool] | None = None,
    retries: int | None = None,
    drops: bool = False,
) -> Writer:
    """Make one that does not pause."""
    return Writer(
        target,
        received,
        is_stopping=lambda: bool(stopping),
        pause=lambda: None,
        retries=retries,
        drops=drops,
    )


def test_all_is_written_in_order_and_told() -> None:
    """Everything lands, and the position is behind it, gaps and all."""
    target, received = TargetDouble(), Heard()
    batch = batch_of({SOURCE: {THERE: [3, 4, 7]}}, {SOURCE: 9})
    assert writer(target, received).write(batch)
    assert target.logs == {THERE: [b"v3", b"v4", b"v7"]}
    assert [pair for line in received.lines for pair in line.pairs()] == [(3, 0), (4, 1), (7, 2)]
    assert batch.positions() == {SOURCE: 9}


def test_one_set_of_several_sources_is_a_line_for_each() -> None:
    """What stands together in the target may come from many."""
    batch = batch_of({SOURCE: {THERE: [0, 1]}, OTHER: {THERE: [5]}})
    assert batch.acknowledge(THERE, 100, 3) == [
        Landed(SOURCE, ((0, 2),), THERE, 100),
        Landed(OTHER, ((5, 6),), THERE, 102),
    ]


def test_what_passes_is_tried_again_without_loss_or_change_of_order() -> None:
    """Only what is not acknowledged is sent again."""
    refusals = [b"v1", b"v1", b"v2"]

    def judge(value: bytes) -> str | None:
        if refusals and refusals[0] == value:
            refusals.pop(0)
            return "later: no leader"
        return None

    target, received = TargetDouble(judge), Heard()
    batch = batch_of({SOURCE: {THERE: [0, 1, 2, 3]}})
    assert writer(target, received).write(batch)
    assert target.logs[THERE] == [b"v0", b"v1", b"v2", b"v3"]
    assert target.calls == 4
    assert batch.positions() == {SOURCE: 4}


def test_tries_end_where_they_are_counted() -> None:
    """One and the two more that are allowed."""
    target = TargetDouble(lambda value: "later: never" if value == b"v1" else None)
    batch = batch_of({SOURCE: {THERE: [0, 1]}})
    with pytest.raises(MirrorError, match="offset 1 of clicks-0"):
        writer(target, Heard(), retries=2).write(batch)
    assert target.calls == 3


def test_a_refusal_ends_it_with_the_exact_place() -> None:
    """Nothing behind the message is committed, whatever was acknowledged elsewhere."""
    target = TargetDouble(lambda value: "MESSAGE_TOO_LARGE" if value == b"v2" else None)
    received = Heard()
    batch = batch_of({SOURCE: {THERE: [0, 2, 4], THERE_TOO: [1, 3, 5]}, OTHER: {THERE_TOO: [9]}})
    with pytest.raises(MirrorError, match=r"offset 2 of clicks-0 \(for copy-0\): MESSAGE_TOO_LAR"):
        writer(target, received).write(batch)
    assert batch.positions() == {SOURCE: 2, OTHER: 10}
    assert target.logs[THERE_TOO] == [b"v1", b"v3", b"v5", b"v9"]
    assert sum(line.count for line in received.lines) == 5


def test_dropping_is_told_and_goes_on_behind() -> None:
    """Only the message at fault is left out."""
    target = TargetDouble(lambda value: "too large" if value in (b"v0", b"v2") else None)
    received = Heard()
    batch = batch_of({SOURCE: {THERE: [0, 1, 2, 3]}})
    assert writer(target, received, drops=True).write(batch)
    assert target.logs[THERE] == [b"v1", b"v3"]
    assert [(dropped.offset, reason) for dropped, reason in received.dropped_ones] == [
        (0, "too large"),
        (2, "too large"),
    ]
    assert batch.positions() == {SOURCE: 4}
    assert [pair for line in received.lines for pair in line.pairs()] == [(1, 0), (3, 1)]


def test_only_the_message_at_fault_is_dropped() -> None:
    """Not those of another partition that failed at the same time, for a reason that passes."""
    again = iter(["later: no leader", "later: no leader"])
    target = TargetDouble(
        lambda value: (
            "too large" if value == b"v0" else next(again, None) if value == b"v1" else None
        )
    )
    received = Heard()
    batch = batch_of({SOURCE: {THERE: [0, 2], THERE_TOO: [1, 3]}})
    assert writer(target, received, drops=True).write(batch)
    assert [dropped.offset for dropped, _ in received.dropped_ones] == [0]
    assert target.logs == {THERE: [b"v2"], THERE_TOO: [b"v1", b"v3"]}


def test_what_is_not_about_a_message_drops_none() -> None:
    """Where access is refused, every message would be dropped, one by one."""
    target = TargetDouble(lambda _value: "all: TOPIC_AUTHORIZATION_FAILED")
    received = Heard()
    batch = batch_of({SOURCE: {THERE: [0, 1]}})
    with pytest.raises(MirrorError, match="TOPIC_AUTHORIZATION_FAILED"):
        writer(target, received, drops=True).write(batch)
    assert received.dropped_ones == []
    assert batch.positions() == {SOURCE: 0}


def test_a_failure_that_passes_never_drops() -> None:
    """Without end, but for the order to stop."""
    stopping: list[bool] = []

    def judge(_value: bytes) -> str:
        if target.calls == 30:
            stopping.append(True)
        return "later: all brokers down"

    target = TargetDouble(judge)
    received = Heard()
    batch = batch_of({SOURCE: {THERE: [4]}})
    assert not writer(target, received, stopping=stopping, drops=True).write(batch)
    assert received.dropped_ones == []
    assert batch.positions() == {SOURCE: 4}
