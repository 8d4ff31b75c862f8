"""When a micro-batch starts, and how many offsets it may read."""

from zkconsumer.model import TopicPartition
from zkconsumer.spark.admission import BatchAdmission

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
START = {T0: 10, T1: 20}
LATEST = {T0: 110, T1: 120}


def test_without_limits_everything_is_read() -> None:
    """Without limits a batch reads everything up to the logs' ends."""
    admission = BatchAdmission()
    assert admission.next_end(START, LATEST, {}, now_ms=0) == LATEST


def test_a_batch_is_bounded() -> None:
    """The limit of a batch is divided between partitions by how much each has."""
    admission = BatchAdmission(max_offsets=10)
    assert admission.next_end(START, LATEST, {}, now_ms=0) == {T0: 15, T1: 25}


def test_new_partitions_count_from_where_they_begin() -> None:
    """A new partition counts from where it begins: not from 0, and not from its end."""
    admission = BatchAdmission(max_offsets=10)
    assert admission.next_end({T0: 10}, LATEST, {T1: 20}, now_ms=0) == {T0: 15, T1: 25}


def test_expired_offsets_do_not_count() -> None:
    """Expired offsets count neither for the maximum nor for the minimum, and no end moves back."""
    admission = BatchAdmission(max_offsets=10)
    assert admission.next_end(START, LATEST, {T0: 100}, now_ms=0) == {T0: 101, T1: 29}
    assert admission.next_end(START, LATEST, {T0: 5}, now_ms=0) == {T0: 15, T1: 25}
    admission = BatchAdmission(min_offsets=50, max_delay_ms=1000)
    admission.next_end(START, START, {}, now_ms=0)
    grown = {T0: 1010, T1: 20}
    assert admission.next_end(START, grown, {T0: 961}, now_ms=1) == START
    assert admission.next_end(START, grown, {T0: 960}, now_ms=2) == grown


def test_the_first_batch_is_not_delayed() -> None:
    """The first batch is not delayed, as the time of the one before is unknown."""
    admission = BatchAdmission(min_offsets=10**6, max_delay_ms=1000)
    assert admission.next_end(START, LATEST, {}, now_ms=5) == LATEST


def test_a_batch_waits_for_enough() -> None:
    """A batch waits for the minimum of offsets, but no longer than the maximum delay."""
    admission = BatchAdmission(min_offsets=8, max_delay_ms=1000)
    admission.next_end(START, LATEST, {}, now_ms=0)
    few = {T0: 114, T1: 123}
    assert admission.next_end(LATEST, few, {}, now_ms=500) == LATEST
    assert admission.next_end(LATEST, few, {}, now_ms=999) == LATEST
    assert admission.next_end(LATEST, few, {}, now_ms=1000) == few
    enough = {T0: 118, T1: 127}
    assert admission.next_end(few, enough, {}, now_ms=1001) == enough


def test_new_partitions_count_for_the_minimum() -> None:
    """New partitions count for the minimum from where they begin."""
    admission = BatchAdmission(min_offsets=50, max_delay_ms=1000)
    admission.next_end({T0: 10}, {T0: 10}, {}, now_ms=0)
    assert admission.next_end({T0: 10}, {T0: 10, T1: 169}, {T1: 120}, now_ms=1) == {T0: 10}
    full = {T0: 10, T1: 170}
    assert admission.next_end({T0: 10}, full, {T1: 120}, now_ms=2) == full


def test_a_partition_that_went_back_is_no_negative_amount() -> None:
    """A partition that went back counts as nothing, and hides nothing to read in another one."""
    admission = BatchAdmission(min_offsets=50, max_delay_ms=1000)
    admission.next_end(START, START, {}, now_ms=0)
    ends = {T0: 0, T1: 70}
    assert admission.next_end(START, ends, {}, now_ms=1) == ends


def test_both_limits_hold_together() -> None:
    """A batch waits for the minimum, and then reads no more than the maximum."""
    admission = BatchAdmission(min_offsets=8, max_offsets=10, max_delay_ms=1000)
    admission.next_end(START, START, {}, now_ms=0)
    assert admission.next_end(START, {T0: 12, T1: 22}, {}, now_ms=1) == START
    assert admission.next_end(START, LATEST, {}, now_ms=2) == {T0: 15, T1: 25}


def test_available_now_ends_at_the_ends_that_it_saw_first() -> None:
    """``availableNow`` ends at the logs' ends as they were first seen, and waits for nothing.

    What is written later, new partitions included, is left to the next query.
    """
    admission = BatchAdmission(min_offsets=10**6, max_offsets=150, max_delay_ms=10**6)
    admission.prepare_available_now()
    first = admission.next_end(START, LATEST, {}, now_ms=0)
    assert first == {T0: 85, T1: 95}
    grown = {T0: 1000, T1: 1000, TopicPartition("t", 2): 5}
    assert admission.next_end(first, grown, {}, now_ms=1) == LATEST
    assert admission.next_end(LATEST, grown, {}, now_ms=2) == LATEST
