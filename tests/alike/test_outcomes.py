"""Which outcomes count as alike."""

from types import SimpleNamespace
from typing import NamedTuple

import pytest

from tests.alike.casebook import all_cases
from tests.alike.differences import BY_DECISION
from tests.alike.outcomes import HUNG, IN_VAIN, Outcome, Shown, are_alike, plain, raised
from tests.alike.scene import InVain


class KafkaError(Exception):
    """A library's base error."""


class TimedOut(KafkaError, TimeoutError):
    """A library's error that also has a base class of Python's."""


ERRORS = SimpleNamespace(KafkaError=KafkaError, KafkaTimeoutError=TimedOut)


class Pair(NamedTuple):
    left: int
    right: str


def of(error: Exception) -> Outcome:
    """Return an error as an outcome."""
    return raised(error, ERRORS)


def test_an_error_lists_every_except_that_catches_it() -> None:
    """An outcome lists the except clauses that catch it, by the library's and Python's names."""
    assert of(TimedOut()) == {
        "raised": "TimedOut",
        "caught by": ["KafkaError", "KafkaTimeoutError", "OSError", "TimeoutError"],
    }


@pytest.mark.parametrize(
    ("theirs", "ours", "alike"),
    [
        (1, 1, True),
        (1, 2, False),
        (1, 1.0, False),
        (True, 1, False),
        (None, False, False),
        (b"a", "a", False),
        (("a", 1), ["a", 1], False),
        (Pair(1, "a"), (1, "a"), False),
        ({1, 2}, {2, 1}, True),
        ({"a": [1, None]}, {"a": [1, None]}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
    ],
)
def test_values_are_alike_when_equal_and_of_one_kind(
    theirs: object, ours: object, alike: bool
) -> None:
    """Equal values of different types (tuple and list, bytes and str) are not alike."""
    assert are_alike(plain(theirs), plain(ours)) == alike


def test_an_error_is_alike_when_all_that_catch_theirs_catch_ours() -> None:
    """Our error may be caught by more clauses, not by fewer; a value is not alike to an error."""
    assert are_alike(of(KafkaError()), of(TimedOut()))
    assert not are_alike(of(TimedOut()), of(KafkaError()))
    assert not are_alike(of(ValueError()), of(TypeError()))
    assert not are_alike(plain(None), of(KafkaError()))
    both = [plain([1, Shown(of(KafkaError()))]), plain([1, Shown(of(TimedOut()))])]
    assert are_alike(*both)
    assert not are_alike(*reversed(both))


def test_what_waits_in_vain_is_alike_to_nothing() -> None:
    """A case that hangs or waits in vain is a difference, even with both libraries."""
    in_vain = of(InVain())
    assert in_vain["raised"] == IN_VAIN
    assert not are_alike(in_vain, in_vain)
    assert not are_alike(HUNG, HUNG)


def test_decisions_name_cases() -> None:
    """Every decision names existing cases only."""
    assert {case.name for case in all_cases()} >= BY_DECISION
