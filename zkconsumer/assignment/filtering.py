"""Matches a filter against all topics at once, in bounded time and memory, with a cache.

Every rebalance matches every member's filter, and other processes decide what members there are.
Whether a filter takes too much depends on the filter and the topics alone: all members of a group
come to the same result.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

from zkconsumer.assignment.java_charset import RegexRefused, RegexUnusable
from zkconsumer.assignment.java_regex import MOST_CHARS, TOO_LONG, is_distinguished, java_program
from zkconsumer.assignment.regex_automaton import Automaton, TooManySteps
from zkconsumer.errors import ConfigError

_FILTERS_REMEMBERED: Final = 256
_LISTS_REMEMBERED: Final = 8
_SHOWN: Final = 200
_STEPS: Final = 1_000_000
_STEPS_A_NAME: Final = 200

Names: TypeAlias = tuple[str, ...]


class FilterRefused(ConfigError):
    """It is not certain what a filter matches.

    Attributes:
        is_unusable: whether the original's members can't use it either, or no member can in time;
            else it may well mean something to them.
    """

    def __init__(self, message: str, *, is_unusable: bool) -> None:
        super().__init__(message)
        self.is_unusable = is_unusable


@dataclass(frozen=True, slots=True)
class _Refused:
    """Why a filter can't be matched against these names, nor against more, in so many steps."""

    reason: str
    is_unusable: bool = True
    names: Names = ()
    steps: int = sys.maxsize


def matching(pattern: str, names: Names) -> Iterator[bool]:
    """Return whether the pattern matches the whole name, for each of the names.

    Thread: any.

    Raises:
        FilterRefused: the result is not certain.
    """
    # Too long to be worth caching.
    too_long = len(pattern) > MOST_CHARS
    found = _Refused(TOO_LONG) if too_long else _matching(pattern, _same(names))
    if isinstance(found, _Refused):
        problem = filter_problem(pattern, found.reason)
        raise FilterRefused(problem, is_unusable=found.is_unusable)
    return map(bool, found)


def filter_problem(pattern: str, reason: str) -> str:
    """Return why a filter can't be used, in one line of bounded length."""
    shown = pattern if len(pattern) <= _SHOWN else f"{pattern[:_SHOWN]}..."
    return _in_one_line(f"filter '{shown}' can't be used: {reason}")


def _in_one_line(text: str) -> str:
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


@lru_cache(maxsize=_LISTS_REMEMBERED)
def _same(names: Names) -> Names:
    """Return the first equal list, so that the caches of many filters share one."""
    return names


@lru_cache(maxsize=_LISTS_REMEMBERED)
def _set_of(names: Names) -> frozenset[str]:
    return frozenset(names)


@lru_cache(maxsize=_FILTERS_REMEMBERED)
def _last_refusals(pattern: str) -> list[_Refused]:
    """Return a list of at most one item: the filter's last refusal."""
    del pattern
    return []


@lru_cache(maxsize=_FILTERS_REMEMBERED)
def _matching(pattern: str, names: Names) -> bytes | _Refused:
    """Return a byte for each name, 1 where it matches; or why the result is not certain.

    More names never take fewer steps: a filter that was refused for some names is refused for
    these and more without trying.
    """
    refusals, steps = _last_refusals(pattern), _steps_for(len(names))
    for refused in tuple(refusals):
        if steps <= refused.steps and _set_of(names).issuperset(refused.names):
            return refused
    found = _match(pattern, names, steps)
    if isinstance(found, _Refused):
        refusals[:] = [found]
    return found


def _steps_for(count: int) -> int:
    """Return the limit of steps for a filter and so many topics; in powers of two."""
    return _STEPS + _STEPS_A_NAME * (1 << count.bit_length())


def _match(pattern: str, names: Names, steps: int) -> bytes | _Refused:
    try:
        automaton = Automaton(java_program(pattern), steps)
    except RegexRefused as error:
        return _Refused(str(error), isinstance(error, RegexUnusable))
    found = bytearray()
    try:
        for name in names:
            found.append(is_distinguished(name) and automaton.matches(name))
    except TooManySteps:
        reason = "it takes too many steps to match it against all topics"
        return _Refused(reason, names=names[: len(found) + 1], steps=steps)
    return bytes(found)
