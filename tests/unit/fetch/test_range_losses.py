"""Ranges that the log does not have in full: gaps, losses, and what only looks like one."""

from collections.abc import Callable

import pytest

from tests.fakes.fake_script import Close, Fail, ScriptedReply
from tests.support.manual_clock import ManualClock
from tests.support.ranges import (
    TP,
    RangeReaderBench,
    offset_range,
    offsets,
    range_bench,
    response,
    values,
)
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import DataLost
from zkconsumer.fetch.range_parts import LostRange, RangePart
from zkconsumer.model import Record
from zkconsumer.records.build import build_message_set
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages.list_offsets import ListedPartition, ListedTopic, ListOffsetsResponse
from zkconsumer.wire.messages.metadata import MetadataResponse

ENTRY_BYTES = 28
"""The size of a record with a value of two digits."""


@pytest.fixture(params=[True, False], ids=["known", "asked"])
def world(request: pytest.FixtureRequest) -> RangeReaderBench:
    """A broker with 100 records in ``t-0``."""
    world = range_bench(are_old=request.param)
    world.net.cluster.append(TP, values(*range(100)))
    return world


def keep(world: RangeReaderBench, *offsets_kept: int, end: int) -> None:
    """Make a log as compaction leaves it: only these offsets, with the former end."""
    log = world.net.cluster.log(TP)
    for offset in offsets_kept:
        entry = build_message_set([Record(offset, b"k", b"v")])
        log.append_raw(entry, offset + 1 - log.end_offset)
    log.end_offset = end


def test_an_expired_head_is_an_error_with_the_exact_range(world: RangeReaderBench) -> None:
    """No records are returned after a loss that was not allowed."""
    world.net.cluster.log(TP).delete_before(50)
    with pytest.raises(
        DataLost, match=r"t-0: the offsets \[3, 50\).*begins at offset 50"
    ) as raised:
        list(world.reader().read(offset_range(3, 80)))
    assert (raised.value.topic_partition, raised.value.from_offset, raised.value.until_offset) == (
        TP,
        3,
        50,
    )


@pytest.mark.parametrize(("end", "lost_until"), [(80, 50), (40, 40)])
def test_an_expired_head_is_reported_and_skipped_if_allowed(
    world: RangeReaderBench, end: int, lost_until: int
) -> None:
    """The rest of the range follows."""
    world.net.cluster.log(TP).delete_before(50)
    lost, *rest = world.reader(fail_on_data_loss=False).read(offset_range(3, end))
    assert isinstance(lost, LostRange)
    assert lost.range_ == offset_range(3, lost_until)
    assert offsets(rest) == list(range(50, end))


def test_records_that_expire_while_they_are_read_are_lost(world: RangeReaderBench) -> None:
    """Records that had arrived are returned; the loss starts after them."""
    found = world.reader(fetch_bytes=10 * ENTRY_BYTES, fail_on_data_loss=False).read(
        offset_range(0, 90), leader=world.leader()
    )
    first = next(found)
    # The next response is in flight already, with ten more records.
    world.net.cluster.log(TP).delete_before(60)
    rest = list(found)
    lost = [lost_range for lost_range in rest if isinstance(lost_range, LostRange)]
    assert [lost_range.range_ for lost_range in lost] == [offset_range(20, 60)]
    parts = [range_part for range_part in [first, *rest] if isinstance(range_part, RangePart)]
    assert offsets(parts) == [*range(20), *range(60, 90)]


@pytest.mark.parametrize("start", [90, 100, 150])
def test_offsets_beyond_the_end_of_the_log_are_lost_after_the_time_out(
    world: RangeReaderBench, start: int
) -> None:
    """The high watermark of a new leader may lag, so it is waited for."""
    clock = ManualClock()
    clock.step_ms = 500
    found = world.reader(clock, fail_on_data_loss=False).read(offset_range(start, 200))
    *parts, lost = found
    assert offsets(parts) == list(range(start, 100))
    assert isinstance(lost, LostRange)
    assert lost.range_ == offset_range(max(start, 100), 200)
    assert "ends at offset 100" in lost.reason
    with pytest.raises(DataLost, match=r"ends at offset 100"):
        list(world.reader(clock).read(offset_range(start, 200)))


def test_records_that_arrive_late_are_not_lost(world: RangeReaderBench) -> None:
    """The high watermark catches up while it is waited for."""
    reader = world.reader()
    found = reader.read(offset_range(90, 110), leader=world.leader())
    first = next(found)
    world.net.cluster.append(TP, values(*range(100, 110)))
    assert offsets([first, *found]) == list(range(90, 110))


@pytest.mark.parametrize("step", [Close(), Fail(ErrorCode.NOT_LEADER_FOR_PARTITION)])
def test_a_new_leader_has_as_much_time_as_the_last_one(
    world: RangeReaderBench, step: Close
) -> None:
    """It has to learn the high watermark; the time without a leader does not count."""
    clock = ManualClock()
    clock.step_ms = 1_000
    short = ScriptedReply(response(b"", high_watermark=50))
    world.net.brokers[0].script(ApiKey.FETCH, short, *[step] * 30, short)
    reader = world.reader(
        clock, fail_on_data_loss=False, timeout_ms=20_000, poll_timeout_ms=120_000
    )
    found = reader.read(offset_range(50, 100), leader=world.leader())
    assert offsets(found) == list(range(50, 100))


def test_gaps_of_compaction_are_skipped() -> None:
    """At the start, inside, across the end, and up to the end of the log."""
    world = range_bench()
    keep(world, 4, 7, 8, 30, end=40)
    reader = world.reader()
    assert offsets(reader.read(offset_range(0, 9))) == [4, 7, 8]
    assert offsets(reader.read(offset_range(5, 8))) == [7]
    assert offsets(reader.read(offset_range(9, 20))) == []
    assert offsets(reader.read(offset_range(8, 31))) == [8, 30]
    assert offsets(reader.read(offset_range(30, 40))) == [30]
    assert offsets(reader.read(offset_range(33, 38))) == []


def test_one_empty_response_proves_no_gap(world: RangeReaderBench) -> None:
    """A broker may read the log before it determines its end."""
    clock = ManualClock()
    clock.step_ms = 5_000
    world.net.brokers[0].script(ApiKey.FETCH, ScriptedReply(response(b"", high_watermark=100)))
    assert offsets(world.reader(clock).read(offset_range(0, 100))) == list(range(100))
    assert world.pauses == []


def test_an_empty_response_with_a_lower_high_watermark_proves_no_gap(
    world: RangeReaderBench,
) -> None:
    """That leader cannot return records before it knows that they are replicated."""
    world.net.brokers[0].script(
        ApiKey.FETCH,
        ScriptedReply(response(b"", high_watermark=100)),
        ScriptedReply(response(b"", high_watermark=50)),
    )
    assert offsets(world.reader().read(offset_range(50, 100))) == list(range(50, 100))


def test_a_deleted_topic_is_lost(world: RangeReaderBench) -> None:
    """After the time-out, since a broker that has just started knows no topics either."""
    world.net.cluster.delete_topic("t")
    clock = ManualClock()
    clock.step_ms = 1_000
    with pytest.raises(DataLost, match=r"t-0: the offsets \[3, 9\).*topic is gone"):
        list(world.reader(clock).read(offset_range(3, 9)))
    (lost,) = world.reader(clock, fail_on_data_loss=False).read(offset_range(3, 9))
    assert isinstance(lost, LostRange)
    assert lost.range_ == offset_range(3, 9)


class Outage(list[int]):
    """Pauses of a second each, during which a cluster is down and then comes back gradually."""

    def __init__(self, world: RangeReaderBench, clock: ManualClock, *, silent_rounds: int) -> None:
        super().__init__()
        self._world, self._clock, self._silent_rounds = world, clock, silent_rounds
        world.net.cluster.move_leader(TP, None)
        world.pauses = self

    def append(self, pause_ms: int) -> None:
        """Advance the clock by a pause."""
        super().append(pause_ms)
        self._clock.advance(1_000)
        if len(self) == 40:
            knows_nothing = ScriptedReply(MetadataResponse(brokers=(), topics=()))
            closes = [Close()] * self._silent_rounds
            self._world.net.brokers[0].script(ApiKey.METADATA, knows_nothing, *closes)
        if len(self) == 41 + self._silent_rounds:
            self._world.net.cluster.move_leader(TP, 0)


@pytest.mark.parametrize("silent_rounds", [0, 35])
def test_a_topic_briefly_unknown_to_a_broker_is_not_lost(
    world: RangeReaderBench, silent_rounds: int
) -> None:
    """The broker has just started; one that does not respond proves nothing either."""
    clock = ManualClock()
    Outage(world, clock, silent_rounds=silent_rounds)
    reader = world.reader(
        clock, fail_on_data_loss=False, timeout_ms=30_000, poll_timeout_ms=120_000
    )
    assert offsets(reader.read(offset_range(0, 100))) == list(range(100))


def test_an_offset_that_is_in_range_after_all_is_fetched_again(world: RangeReaderBench) -> None:
    """The log may just have been truncated or have grown."""
    world.net.brokers[0].script(ApiKey.FETCH, Fail(ErrorCode.OFFSET_OUT_OF_RANGE))
    assert offsets(world.reader().read(offset_range(0, 100))) == list(range(100))


@pytest.mark.parametrize(
    "fail_lookup",
    [
        lambda world: world.net.brokers[0].script(ApiKey.LIST_OFFSETS, Fail(6)),
        lambda world: world.net.brokers[0].script(ApiKey.LIST_OFFSETS, Close()),
    ],
)
def test_the_ends_of_the_log_are_looked_up_until_they_are_known(
    world: RangeReaderBench, fail_lookup: Callable[[RangeReaderBench], None]
) -> None:
    """What is lost is never guessed."""
    world.net.cluster.log(TP).delete_before(50)
    fail_lookup(world)
    lost, *rest = world.reader(fail_on_data_loss=False).read(offset_range(3, 80))
    assert isinstance(lost, LostRange)
    assert lost.range_ == offset_range(3, 50)
    assert offsets(rest) == list(range(50, 80))


def listed(offset: int) -> ListOffsetsResponse:
    """Build a leader's response about one end of the log."""
    part = ListedPartition(partition=0, error_code=0, offsets=(offset,))
    return ListOffsetsResponse(topics=(ListedTopic(topic="t", partitions=(part,)),))


def test_contradictory_ends_of_a_log_are_looked_up_again(world: RangeReaderBench) -> None:
    """An end before the start of the log is not believed."""
    world.net.cluster.log(TP).delete_before(30)
    upside_down = ScriptedReply(listed(60)), ScriptedReply(listed(40))
    world.net.brokers[0].script(ApiKey.LIST_OFFSETS, *upside_down)
    lost, *rest = world.reader(fail_on_data_loss=False).read(offset_range(10, 60))
    assert isinstance(lost, LostRange)
    assert lost.range_ == offset_range(10, 30)
    assert offsets(rest) == list(range(30, 60))
    assert world.pauses != []
