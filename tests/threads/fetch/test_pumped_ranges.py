"""Ranges with the pump in C, over real sockets: the same records as with Python alone.

The broker serves the bytes of its logs, and misbehaves on demand.
"""

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from types import FrameType
from typing import Any, Final, cast

import pytest

from tests.support.interrupting import (
    HandlerRaised,
    Interrupted,
    interrupt,
    interrupt_at_check,
    raise_in_handler,
)
from tests.support.log_broker import LogBroker
from tests.support.no_threads import no_threads
from tests.support.pumped_logs import ALL, ALL_OF_0_8, ALL_OF_0_10, cut_early, fill, hang, throttle
from tests.support.queues import needs_native_engine
from tests.support.resources import resource_limit
from tests.support.served_ranges import (
    ServedRanges,
    descriptors,
    serving_ranges,
    threads_of_ranges,
    without_pump,
)
from tests.support.shares import sampling_step
from tests.support.waiting import wait_until
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import DataLost, PartitionFailed
from zkconsumer.fetch.core.pump_maker import MakePump
from zkconsumer.fetch.range_parts import LostRange, RangePart
from zkconsumer.fetch.range_pump import RangePump
from zkconsumer.model import OffsetRange, Record
from zkconsumer.records.codecs import Codec
from zkconsumer.scope import ThreadScope

pytestmark = needs_native_engine

MAKERS: Final = cast("tuple[MakePump | None, ...]", (None, without_pump))


def records_of(parts: Iterator[RangePart | LostRange]) -> list[Record]:
    """Return the records of a range of which nothing is lost."""
    found: list[Record] = []
    for part in parts:
        assert isinstance(part, RangePart), part
        found += part.records()
    return found


def read_into(
    offsets: list[int],
    parts: Iterator[RangePart | LostRange],
    after_each: Callable[[], None] = lambda: None,
) -> None:
    """Read parts to their end, or to an error; add the offsets."""
    for part in parts:
        assert isinstance(part, RangePart), part
        offsets += [record.offset for record in part.records()]
        after_each()


def offsets_of(parts: Iterator[RangePart | LostRange]) -> list[int]:
    """Return their offsets."""
    return [record.offset for record in records_of(parts)]


_FORMATS = [
    pytest.param(0, 0, ALL_OF_0_8, id="messages of 0.8"),
    pytest.param(1, 2, ALL_OF_0_10, id="messages of 0.10"),
    pytest.param(1, 4, ALL_OF_0_10, id="messages, soft bounds"),
    pytest.param(2, 4, ALL, id="batches of 0.11"),
    pytest.param(2, 11, ALL, id="batches of 2.4"),
    pytest.param(2, 12, ALL, id="batches of 2.7"),
    pytest.param(2, 13, ALL, id="topic ids"),
]


@pytest.mark.parametrize(("magic", "version", "codecs"), _FORMATS)
def test_the_same_records_come_as_with_python_alone(
    magic: int, version: int, codecs: tuple[Codec, ...], pumped: list[int]
) -> None:
    """Most of a range is pumped; also one that begins and ends within entries."""
    with LogBroker() as broker:
        count = fill(broker, magic, codecs, 100)
        with serving_ranges(broker, version) as served:
            for first, end in ((0, count), (33, count - 31)):
                wanted = OffsetRange(
                    topic_partition=broker.partition(0), from_offset=first, until_offset=end
                )
                by_pump = records_of(served.reader().read(wanted))
                through_queues = sum(pumped)
                by_python = records_of(served.reader(without_pump).read(wanted))
                assert sum(pumped) == through_queues > count // 2
                pumped.clear()
                assert by_pump == by_python
                assert [record.offset for record in by_pump] == list(range(first, end))
    assert set(broker.versions) == {version}


def _cut(broker: LogBroker) -> None:
    broker.cuts.append(10_000)


def _leave_out(broker: LogBroker) -> None:
    broker.left_out.append({0})


def _refuse(broker: LogBroker) -> None:
    broker.logs[0].error = ErrorCode.NOT_LEADER_FOR_PARTITION


def _damage_once(broker: LogBroker) -> None:
    def flip(frame: bytes) -> bytes:
        for _, entry in reversed(broker.logs[0].entries):
            at = frame.find(entry[-50:])
            if at >= 0:
                broker.mangle = bytes
                return frame[:at] + bytes([frame[at] ^ 0xFF]) + frame[at + 1 :]
        return frame

    broker.mangle = flip


def _send_in_pieces(broker: LogBroker) -> None:
    broker.pieces = (1, 5_000, 17)


TROUBLES = [
    hang,
    _cut,
    cut_early,
    _leave_out,
    throttle,
    _refuse,
    _damage_once,
    _send_in_pieces,
]


@pytest.mark.parametrize("version", [2, 12])
@pytest.mark.parametrize("trouble", TROUBLES)
def test_trouble_in_a_run_loses_and_repeats_nothing(
    trouble: Callable[[LogBroker], None], version: int, pumped: list[int]
) -> None:
    """Silence, a broken connection, a quota, an error: Python takes over, and the pump again."""
    with LogBroker() as broker, serving_ranges(broker, version) as served:
        count = fill(broker, sets=150)
        found: list[int] = []
        times = 0
        for part in served.reader().read(served.whole()):
            assert isinstance(part, RangePart)
            found += [record.offset for record in part.records()]
            if len(pumped) > 2 and times < 2 and len(found) < count * 2 // 3:
                trouble(broker)
                times += 1
                pumped.clear()
        assert times == 2
        assert found == list(range(count))
        assert pumped  # also after the second one
        wait_until(served.has_let_go, what="the end of the reading")
    assert broker.silences == 0
    assert [*broker.cuts, *broker.left_out, *broker.throttle_ms] == []


@pytest.mark.parametrize(("magic", "version"), [(1, 2), (2, 12)])
def test_damage_is_an_error_as_with_python_alone(
    magic: int, version: int, pumped: list[int]
) -> None:
    """At the same offset and with the same reason, after all records before it."""
    found: list[tuple[list[int], str]] = []
    with LogBroker() as broker, serving_ranges(broker, version) as served:
        fill(broker, magic, (Codec.NONE, Codec.GZIP), 150)
        broker.logs[0].damage(len(broker.logs[0].entries) * 3 // 4, 80)
        for make_pump in MAKERS:
            offsets: list[int] = []
            with pytest.raises(PartitionFailed) as failed:
                read_into(offsets, served.reader(make_pump).read(served.whole()))
            assert offsets == list(range(failed.value.offset))
            found.append((offsets, str(failed.value).partition("; to skip it")[0]))
    assert sum(pumped) > 500
    assert found[0] == found[1]


def test_what_retention_deletes_under_a_reader_is_reported(pumped: list[int]) -> None:
    """Exactly that, and what was fetched before comes."""
    with LogBroker() as broker, serving_ranges(broker, 12) as served:
        count = fill(broker, sets=150)
        at, lost = 0, []
        for part in served.reader(fail_on_data_loss=False).read(served.whole()):
            if isinstance(part, LostRange):
                assert (part.from_offset, part.until_offset) == (at, count - 50)
                lost.append(at)
                at = part.until_offset
                continue
            offsets = [record.offset for record in part.records()]
            assert offsets == list(range(at, part.next_offset))
            at = part.next_offset
            if pumped:
                broker.logs[0].start = count - 50
        assert at == count
    assert len(lost) == 1


def test_what_retention_deletes_under_a_reader_is_an_error(pumped: list[int]) -> None:
    """With ``fail_on_data_loss``, after what was fetched before."""
    with LogBroker() as broker, serving_ranges(broker, 12) as served:
        count = fill(broker, sets=150)
        offsets: list[int] = []

        def expire() -> None:
            broker.logs[0].start = count - 50 if pumped else 0

        with pytest.raises(DataLost) as lost:
            read_into(offsets, served.reader().read(served.whole()), expire)
        assert (lost.value.from_offset, lost.value.until_offset) == (len(offsets), count - 50)
        assert offsets == list(range(len(offsets)))
        assert served.has_let_go()


def begun(served: ServedRanges, parts: int) -> Any:
    """Read some parts of a whole log, until a thread fetches it; return the reading."""
    reading = served.reader().read(served.whole())
    for _ in range(parts):
        next(reading)
    while not threads_of_ranges():
        next(reading)
    return reading


def test_a_reading_that_ends_early_leaves_nothing() -> None:
    """At whatever part: no thread, no descriptor, and no connection with a response outstanding."""
    chance = Random(4)
    with LogBroker() as broker:
        count = fill(broker, sets=150)
        with serving_ranges(broker, 12) as served:
            for _ in range(12):
                begun(served, chance.randrange(20)).close()
                assert served.has_let_go()
                # What is kept responds to the next range, and not to the last one.
                first = chance.randrange(count - 40)
                wanted = OffsetRange(
                    topic_partition=broker.partition(0), from_offset=first, until_offset=first + 40
                )
                before = served.lookups
                assert offsets_of(served.reader().read(wanted)) == list(range(first, first + 40))
                assert served.lookups == before + 1
        wait_until(lambda: not _sockets_of(broker), what="closed connections")


def _sockets_of(broker: LogBroker) -> list[object]:
    return [one for one in broker._open if one.fileno() >= 0]


def test_no_descriptor_is_left() -> None:
    """Neither of connections nor of pumps, however readings end."""
    with LogBroker() as broker:
        fill(broker, sets=150)
        with serving_ranges(broker, 12) as served:
            begun(served, 1).close()  # what is opened once stays open
        wait_until(lambda: not _sockets_of(broker), what="closed connections")
        before = descriptors()
        with serving_ranges(broker, 12) as served:
            for parts in (0, 3, 9):
                begun(served, parts).close()
            assert len(offsets_of(served.reader().read(served.whole()))) == broker.logs[0].end
        wait_until(lambda: not _sockets_of(broker), what="closed connections")
        wait_until(lambda: descriptors() <= before, what="closed descriptors")


def test_the_next_range_uses_the_connection_of_one_that_was_read_to_its_end(
    pumped: list[int],
) -> None:
    """To the end of its log, where a run ends by itself."""
    with LogBroker() as broker, serving_ranges(broker, 12) as served:
        count = fill(broker)
        for _ in range(4):
            assert offsets_of(served.reader().read(served.whole())) == list(range(count))
            assert served.has_let_go()
        assert broker.connections == 1
    assert sum(pumped) > 2 * count


def test_a_stop_of_the_client_ends_a_wait() -> None:
    """From another thread, while the reader waits for a chunk that does not come."""
    scope = ThreadScope("stopper")
    with LogBroker() as broker, serving_ranges(broker, 12) as served:
        fill(broker, sets=150)
        reading = begun(served, 2)
        broker.may_answer.clear()

        def stop() -> None:
            wait_until(lambda: _is_waiting(RangePump.wait), what="a waiting reader")
            served.connections.stop()

        scope.spawn("stop", stop, stop=lambda: None)
        with pytest.raises(PartitionFailed):
            for _ in reading:
                pass
        broker.may_answer.set()
        assert scope.close(10_000) == []
        assert scope.first_error() is None
        assert served.has_let_go()


def _is_waiting(function: Callable[..., object]) -> bool:
    """Whether a thread is in this function."""
    for frame in sys._current_frames().values():
        at: FrameType | None = frame
        while at is not None:
            if at.f_code is function.__code__:
                return True
            at = at.f_back
    return False


def test_a_signal_handler_that_raises_ends_a_wait() -> None:
    """Promptly, and with all that belongs to the reading."""
    before = signal.signal(signal.SIGUSR1, lambda *_: raise_in_handler())
    scope = ThreadScope("signaller")
    try:
        with LogBroker() as broker, serving_ranges(broker, 12) as served:
            fill(broker, sets=150)
            reading = begun(served, 2)
            broker.may_answer.clear()

            def send() -> None:
                wait_until(lambda: _is_waiting(RangePump.wait), what="a waiting reader")
                os.kill(os.getpid(), signal.SIGUSR1)

            scope.spawn("send", send, stop=lambda: None)
            with pytest.raises(HandlerRaised):
                for _ in reading:
                    pass
            broker.may_answer.set()
            assert served.has_let_go()
            assert scope.close(10_000) == []
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_without_threads_python_fetches(pumped: list[int]) -> None:
    """A system may have none left."""
    with LogBroker() as broker, serving_ranges(broker, 12) as served:
        count = fill(broker)
        offsets_of(served.reader().read(_first_of(served)))  # connects
        reading = served.reader().read(served.whole())
        with no_threads():
            found = offsets_of(reading)
        assert found == list(range(count))
    assert pumped == []


def _first_of(served: ServedRanges) -> OffsetRange:
    """Return a range that fits into one response."""
    return OffsetRange(topic_partition=served.broker.partition(0), from_offset=0, until_offset=1)


def test_without_descriptors_python_fetches(pumped: list[int]) -> None:
    """A pump needs one besides that of its connection."""
    with LogBroker() as broker, serving_ranges(broker, 12) as served:
        count = fill(broker)
        offsets_of(served.reader().read(_first_of(served)))  # connects
        with open(os.devnull) as lowest, resource_limit("RLIMIT_NOFILE", lowest.fileno() + 1):
            found = offsets_of(served.reader().read(served.whole()))
        assert found == list(range(count))
    assert pumped == []


def test_two_ranges_are_read_at_once(pumped: list[int]) -> None:
    """By two threads with one client; each has a connection and a thread."""
    scope = ThreadScope("callers")
    found: dict[int, list[int]] = {}
    with LogBroker(2) as broker, serving_ranges(broker, 12) as served:
        count = fill(broker, sets=150)

        def read(partition: int) -> None:
            found[partition] = offsets_of(served.reader().read(served.whole(partition)))

        for partition in range(2):
            scope.spawn(str(partition), partial(read, partition), stop=lambda: None)
        wait_until(lambda: len(found) == 2 or scope.first_error(), what="both ranges")
        assert scope.close(10_000) == []
        assert scope.first_error() is None
        assert found[0] == found[1] == list(range(count))
        assert served.has_let_go()
        assert broker.connections == 2
    assert sum(pumped) > count


def test_a_reading_that_nobody_holds_ends() -> None:
    """Without ``close``."""
    with LogBroker() as broker, serving_ranges(broker, 12) as served:
        fill(broker, sets=150)
        reading = begun(served, 2)
        assert threads_of_ranges()
        del reading
        gc.collect()
        assert served.has_let_go()


def test_a_reader_that_stops_taking_holds_little() -> None:
    """At most what its queue holds, and a few responses."""
    with LogBroker() as broker, serving_ranges(broker, 12) as served:
        fill(broker, codecs=(Codec.NONE,), sets=400)
        size = sum(len(data) for _, data in broker.logs[0].entries)
        reading = begun(served, 0)
        taken = -1

        def is_quiet() -> bool:
            nonlocal taken
            before, taken = taken, broker.sent_bytes
            return before == taken

        wait_until(is_quiet, what="a full queue")
        settings = served.reader().settings
        assert broker.sent_bytes <= settings.part_bytes + 6 * settings.fetch_bytes < size // 4
        assert broker.sent_bytes >= settings.part_bytes // 2
        assert [part.next_offset for part in reading][-1] == broker.logs[0].end


def test_an_interrupt_anywhere_leaves_nothing(pumped: list[int]) -> None:
    """Wherever a signal handler raises while a range is pumped: no thread, no connection in use."""
    number = 0
    with LogBroker() as broker, serving_ranges(broker, 12) as served:
        fill(broker, sets=150)
        while True:
            reading = begun(served, 0)
            take = lambda reading=reading: [next(reading) for _ in range(8)]  # noqa: E731
            try:
                if not interrupt_at_check(number, interrupt, take):
                    break
            except Interrupted:
                pass
            finally:
                reading.close()
            assert served.has_let_go(), f"at place {number}"
            number += sampling_step(11)
    assert number > 100
    assert pumped
