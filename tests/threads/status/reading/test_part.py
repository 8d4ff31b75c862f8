"""A part of a snapshot that is read on a thread of its own."""

import threading
from collections.abc import Iterator

import pytest

from tests.support.manual_clock import ManualClock
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
    """The clock by which snapshots are read."""
    return RoundClock(clock)


@pytest.fixture
def part(rounds: RoundClock) -> Iterator[Part[int]]:
    """A part and its thread."""
    scope = ThreadScope("test-part")
    yield Part("numbers", scope, rounds)
    assert scope.close(LONG_MS) == []


def deadline(limit_ms: int = LONG_MS) -> Deadline:
    """Build a deadline this long from now."""
    return Deadline(SystemClock(), limit_ms)


def test_each_read_returns_its_result(part: Part[int]) -> None:
    """A part can be read any number of times."""
    for number in range(3):
        part.start(lambda number=number: number)  # type: ignore[misc]
        assert part.result(deadline()) == number


def test_a_late_result_is_returned_by_the_next_read(part: Part[int]) -> None:
    """A read that is still running is not started a second time."""
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
    """Its times lie in the future, and would count as the newest."""
    part.start(lambda: 1)
    clock.set_back(3_600_000)
    assert rounds.follow() == 3_600_000
    late = part.result(deadline())
    assert late == Unanswered("the clock was set back while it was read")
    part.start(lambda: 2)
    assert part.result(deadline()) == 2


def test_errors_are_returned_as_a_reason(part: Part[int]) -> None:
    """This includes unexpected errors, such as a bug of ours."""

    def refuse() -> int:
        raise RegistryError("no answer")

    def fall() -> int:
        raise ValueError("oops")

    part.start(refuse)
    assert part.result(deadline()) == Unanswered("no answer")
    part.start(fall)
    assert part.result(deadline()) == Unanswered("ValueError: oops")
