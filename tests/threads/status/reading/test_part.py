"""A part of a snapshot that is read in a thread of its own."""

import threading
from collections.abc import Iterator

import pytest

from tests.support.manual_clock import ManualClock
from tests.support.no_threads import no_threads
from zkconsumer.clock import SystemClock
from zkconsumer.errors import RegistryError
from zkconsumer.scope import ThreadScope
from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.status.reading.part import Part
from zkconsumer.status.reading.round_clock import RoundClock
from zkconsumer.status.reading.values import Unanswered

LONG_MS, SHORT_MS = 10_000, 20


@pytest.fixture
def clock() -> ManualClock:
    """The local clock."""
    return ManualClock()


@pytest.fixture
def rounds(clock: ManualClock) -> RoundClock:
    """The clock of reads."""
    return RoundClock(clock)


@pytest.fixture
def part(rounds: RoundClock) -> Iterator[Part[int]]:
    """A part, and the scope of its threads."""
    scope = ThreadScope("test-part")
    yield Part("numbers", scope, rounds)
    assert scope.close(LONG_MS) == []


def deadline(limit_ms: int = LONG_MS) -> Deadline:
    """A deadline this far from now."""
    return Deadline(SystemClock(), limit_ms)


def test_a_part_returns_what_was_read(part: Part[int]) -> None:
    """It does each time that it is started."""
    for number in range(3):
        part.start(lambda number=number: number)  # type: ignore[misc]
        assert part.result(deadline()) == number


def test_a_late_result_is_the_next_one(part: Part[int]) -> None:
    """No second read is started while the first one hangs."""
    go_on = threading.Event()

    def hang() -> int:
        go_on.wait(LONG_MS / 1000)
        return 1

    def never() -> int:
        raise AssertionError

    part.start(hang)
    late = part.result(deadline(SHORT_MS))
    assert late == Unanswered("ZooKeeper did not respond within 20 ms")
    part.start(never)
    go_on.set()
    assert part.result(deadline()) == 1
    part.start(lambda: 2)
    assert part.result(deadline()) == 2


def test_a_result_from_before_the_clock_was_set_back_is_dropped(
    part: Part[int], rounds: RoundClock, clock: ManualClock
) -> None:
    """Its times lie ahead, so that it would count as the newest."""
    part.start(lambda: 1)
    clock.set_back(3_600_000)
    assert rounds.follow() == 3_600_000
    late = part.result(deadline())
    assert late == Unanswered("the clock was set back while it was read")
    part.start(lambda: 2)
    assert part.result(deadline()) == 2


def test_failures_are_results(part: Part[int]) -> None:
    """So are bugs of ours."""

    def refuse() -> int:
        raise RegistryError("no answer")

    def fail() -> int:
        raise ValueError("oops")

    part.start(refuse)
    assert part.result(deadline()) == Unanswered("no answer")
    part.start(fail)
    assert part.result(deadline()) == Unanswered("ValueError: oops")


def test_a_part_is_read_again_after_no_thread_could_be_started(part: Part[int]) -> None:
    """The system may have no thread left at one moment, and some at the next one."""
    with no_threads():
        part.start(lambda: 1)
    assert part.result(deadline()) == Unanswered("RuntimeError: can't start new thread")
    part.start(lambda: 2)
    assert part.result(deadline()) == 2
