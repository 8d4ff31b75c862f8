"""A part that is read on a thread of its own."""

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
    """The clock of reading."""
    return RoundClock(clock)


@pytest.fixture
def part(rounds: RoundClock) -> Iterator[Part[int]]:
    """One, and its threads."""
    scope = ThreadScope("test-part")
    yield Part("numbers", scope, rounds)
    assert scope.close(LONG_MS) == []


def deadline(limit_ms: int = LONG_MS) -> Deadline:
    """So much time from now on."""
    return Deadline(SystemClock(), limit_ms)


def test_what_was_read(part: Part[int]) -> None:
    """Again and again."""
    for number in range(3):
        part.start(lambda number=number: number)  # type: ignore[misc]
        assert part.result(deadline()) == number


def test_what_comes_late_is_the_answer_of_the_next_time(part: Part[int]) -> None:
    """Nothing is read twice at a time."""
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


def test_what_was_read_before_the_clock_was_set_back_is_dropped(
    part: Part[int], rounds: RoundClock, clock: ManualClock
) -> None:
    """Its times lie ahead, and would count as the newest."""
    part.start(lambda: 1)
    clock.set_back(3_600_000)
    assert rounds.follow() == 3_600_000
    late = part.result(deadline())
    assert late == Unanswered("the clock was set back while it was read")
    part.start(lambda: 2)
    assert part.result(deadline()) == 2


def test_what_goes_wrong_is_told(part: Part[int]) -> None:
    """An error of ours, too."""

    def refuse() -> int:
        raise RegistryError("no answer")

    def fall() -> int:
        raise ValueError("oops")

    part.start(refuse)
    assert part.result(deadline()) == Unanswered("no answer")
    part.start(fall)
    assert part.result(deadline()) == Unanswered("ValueError: oops")
