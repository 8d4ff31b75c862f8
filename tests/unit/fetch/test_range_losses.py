"""Ranges of which the log lacks something: what is a gap, what is lost, and what only seems so."""

from collections.abc import Callable

import pytest

from tests.fakes.fake_script import Close, Fail, ScriptedReply
from tests.support.manual_clock import ManualClock
from tests.support.ranges import (
    TP,
    RangeBench,
    bench,
    offsets,
    range_,
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
"""Of a record with a value of two digits."""


@pytest.fixture(params=[True, False], ids=["known", "asked"])
def world(request: pytest.FixtureRequest) -> RangeBench:
    """A broker with a hundred records in ``t-0``."""
    one = bench(are_old=request.param)
    one.net.cluster.append(TP, values(*range(100)))
    return one


def keep(world: RangeBench, *offsets_kept: int, end: int) -> None:
    """Make a log as compaction leaves it: these offsets only, and the end where it was."""
    log = world.net.cluster.log(TP)
    for offset in offsets_kept:
        entry = build_message_set([Record(offset, b"k", b"v")])
        log.append_raw(entry, offset + 1 - log.end_offset)
    log.end_offset = end


def test_a_head_that_expired_is_an_error_with_the_exact_range(world: RangeBench) -> None:
    """Nothing is handed out behind a loss that nobody agreed to."""
    world.net.cluster.log(TP).delete_before(50)
    with pytest.raises(DataLost, match=r"t-0: the offsets \[3, 50\).*begins at offset 50") as one:
        list(world.reader().read(range_(3, 80)))
    assert (one.value.topic_partition, one.value.from_offset, one.value.until_offset) == (TP, 3, 50)


@pytest.mark.parametrize(("end", "lost_until"), [(80, 50), (40, 40)])
def test_a_head_that_expired_is_reported_and_passed_over(
    world: RangeBench, end: int, lost_until: int
) -> None:
    """If that was agreed to; the rest of the range follows."""
    world.net.cluster.log(TP).delete_before(50)
    lost, *rest = world.reader(fail_on_data_loss=False).read(range_(3, end))
    assert isinstance(lost, LostRange)
    assert lost.range_ == range_(3, lost_until)
    assert lost.log_start_offset == 50
    assert offsets(rest) == list(range(50, end))


def test_a_head_that_expires_while_it_is_read(world: RangeBench) -> None:
    """What had arrived counts; lost is what comes behind it."""
    found = world.reader(fetch_bytes=10 * ENTRY_BYTES, fail_on_data_loss=False).read(
        range_(0, 90), leader=world.leader()
    )
    first = next(found)
    # The next answer is on its way already, with ten records more.
    world.net.cluster.log(TP).delete_before(60)
    rest = list(found)
    lost = [lost_range for lost_range in rest if isinstance(lost_range, LostRange)]
    assert [lost_range.range_ for lost_range in lost] == [range_(20, 60)]
    parts = [range_part for range_part in [first, *rest] if isinstance(range_part, RangePart)]
    assert offsets(parts) == [*range(20), *range(60, 90)]


@pytest.mark.parametrize("start", [90, 100, 150])
def test_what_the_log_ends_in_front_of_is_lost_after_the_time_out(
    world: RangeBench, start: int
) -> None:
    """The high watermark of a new leader may lag, so it is waited for."""
    clock = ManualClock()
    clock.step_ms = 500
    found = world.reader(clock, fail_on_data_loss=False).read(range_(start, 200))
    *parts, lost = found
    assert offsets(parts) == list(range(start, 100))
    assert isinstance(lost, LostRange)
    assert lost.range_ == range_(max(start, 100), 200)
    assert "ends at offset 100" in lost.reason
    with pytest.raises(DataLost, match=r"ends at offset 100"):
        list(world.reader(clock).read(range_(start, 200)))


def test_what_comes_late_is_not_lost(world: RangeBench) -> None:
    """The high watermark catches up while it is waited for."""
    reader = world.reader()
    found = reader.read(range_(90, 110), leader=world.leader())
    first = next(found)
    world.net.cluster.append(TP, values(*range(100, 110)))
    assert offsets([first, *found]) == list(range(90, 110))


@pytest.mark.parametrize("step", [Close(), Fail(ErrorCode.NOT_LEADER_FOR_PARTITION)])
def test_a_new_leader_has_as_much_time_as_the_last_one(world: RangeBench, step: Close) -> None:
    """To learn how far consumers may read; the time without a leader is not its own."""
    clock = ManualClock()
    clock.step_ms = 1_000
    short = ScriptedReply(response(b"", high_watermark=50))
    world.net.brokers[0].script(ApiKey.FETCH, short, *[step] * 30, short)
    reader = world.reader(
        clock, fail_on_data_loss=False, timeout_ms=20_000, poll_timeout_ms=120_000
    )
    found = reader.read(range_(50, 100), leader=world.leader())
    assert offsets(found) == list(range(50, 100))


def test_gaps_of_compaction_are_passed_over_in_silence() -> None:
    """In front, inside, across the end, and up to the end of the log."""
    world = bench()
    keep(world, 4, 7, 8, 30, end=40)
    reader = world.reader()
    assert offsets(reader.read(range_(0, 9))) == [4, 7, 8]
    assert offsets(reader.read(range_(5, 8))) == [7]
    assert offsets(reader.read(range_(9, 20))) == []
    assert offsets(reader.read(range_(8, 31))) == [8, 30]
    assert offsets(reader.read(range_(30, 40))) == [30]
    assert offsets(reader.read(range_(33, 38))) == []


def test_one_empty_answer_proves_no_gap(world: RangeBench) -> None:
    """A broker may read the log before it looks where that ends; nor is it the end of the log."""
    clock = ManualClock()
    clock.step_ms = 5_000
    world.net.brokers[0].script(ApiKey.FETCH, ScriptedReply(response(b"", high_watermark=100)))
    assert offsets(world.reader(clock).read(range_(0, 100))) == list(range(100))
    assert world.pauses == []


def test_an_empty_answer_of_a_leader_that_knows_less_proves_no_gap(world: RangeBench) -> None:
    """What the one before saw below the end, this one can't bring before it knows of the end."""
    world.net.brokers[0].script(
        ApiKey.FETCH,
        ScriptedReply(response(b"", high_watermark=100)),
        ScriptedReply(response(b"", high_watermark=50)),
    )
    assert offsets(world.reader().read(range_(50, 100))) == list(range(50, 100))


def test_a_topic_that_is_gone_is_lost(world: RangeBench) -> None:
    """After the time-out: a broker that has just started knows no topics either."""
    world.net.cluster.delete_topic("t")
    clock = ManualClock()
    clock.step_ms = 1_000
    with pytest.raises(DataLost, match=r"t-0: the offsets \[3, 9\).*topic is gone"):
        list(world.reader(clock).read(range_(3, 9)))
    (lost,) = world.reader(clock, fail_on_data_loss=False).read(range_(3, 9))
    assert isinstance(lost, LostRange)
    assert lost.range_ == range_(3, 9)


class Outage(list[int]):
    """Pauses of a second each: a cluster is down for a while, and is back bit by bit."""

    def __init__(self, world: RangeBench, clock: ManualClock, *, no_answer_for: int) -> None:
        super().__init__()
        self._world, self._clock, self._no_answer_for = world, clock, no_answer_for
        world.net.cluster.move_leader(TP, None)
        world.pauses = self

    def append(self, pause_ms: int) -> None:
        """Make a pause."""
        super().append(pause_ms)
        self._clock.advance(1_000)
        if len(self) == 40:
            knows_nothing = ScriptedReply(MetadataResponse(brokers=(), topics=()))
            closes = [Close()] * self._no_answer_for
            self._world.net.brokers[0].script(ApiKey.METADATA, knows_nothing, *closes)
        if len(self) == 41 + self._no_answer_for:
            self._world.net.cluster.move_leader(TP, 0)


@pytest.mark.parametrize("no_answer_for", [0, 35])
def test_a_topic_is_not_gone_that_a_broker_does_not_know_for_a_moment(
    world: RangeBench, no_answer_for: int
) -> None:
    """It has just started; and one that does not answer at all does not say so, either."""
    clock = ManualClock()
    Outage(world, clock, no_answer_for=no_answer_for)
    reader = world.reader(
        clock, fail_on_data_loss=False, timeout_ms=30_000, poll_timeout_ms=120_000
    )
    assert offsets(reader.read(range_(0, 100))) == list(range(100))


def test_an_offset_that_is_in_range_after_all_is_asked_for_again(world: RangeBench) -> None:
    """The log may have been on its way to be cut, or to grow."""
    world.net.brokers[0].script(ApiKey.FETCH, Fail(ErrorCode.OFFSET_OUT_OF_RANGE))
    assert offsets(world.reader().read(range_(0, 100))) == list(range(100))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda world: world.net.brokers[0].script(ApiKey.LIST_OFFSETS, Fail(6)),
        lambda world: world.net.brokers[0].script(ApiKey.LIST_OFFSETS, Close()),
    ],
)
def test_edges_are_asked_for_until_they_are_told(
    world: RangeBench, spoil: Callable[[RangeBench], None]
) -> None:
    """What is lost is not guessed."""
    world.net.cluster.log(TP).delete_before(50)
    spoil(world)
    lost, *rest = world.reader(fail_on_data_loss=False).read(range_(3, 80))
    assert isinstance(lost, LostRange)
    assert lost.range_ == range_(3, 50)
    assert offsets(rest) == list(range(50, 80))


def listed(offset: int) -> ListOffsetsResponse:
    """A leader's word about one of the ends."""
    part = ListedPartition(partition=0, error_code=0, offsets=(offset,))
    return ListOffsetsResponse(topics=(ListedTopic(topic="t", partitions=(part,)),))


def test_edges_that_hold_no_log_are_no_answer(world: RangeBench) -> None:
    """Where it would end before it begins: asked again, and named if that does not change."""
    world.net.cluster.log(TP).delete_before(30)
    upside_down = ScriptedReply(listed(60)), ScriptedReply(listed(40))
    world.net.brokers[0].script(ApiKey.LIST_OFFSETS, *upside_down)
    lost, *rest = world.reader(fail_on_data_loss=False).read(range_(10, 60))
    assert isinstance(lost, LostRange)
    assert lost.range_ == range_(10, 30)
    assert offsets(rest) == list(range(30, 60))
    assert world.pauses != []
