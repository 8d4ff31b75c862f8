"""Matches a filter against all topics at once, in bounded time and memory, with a cache.

Every rebalance matches every member's filter, and any process can register a member. Whether a
filter takes too many steps depends only on the filter, the topics, and the filters of the members
before it, so all members of a group get the same result.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

from zkconsumer.assignment.java_charset import RegexRefused, RegexUnusable
from zkconsumer.assignment.java_regex import MOST_CHARS, TOO_LONG, is_distinguished, java_program
from zkconsumer.assignment.regex_automaton import Automaton, TooManySteps
from zkconsumer.assignment.regex_program import MOST_OPS, RegexTooLarge
from zkconsumer.errors import ConfigError

_FILTERS_REMEMBERED: Final = 1024
_LISTS_REMEMBERED: Final = 8
_SHOWN: Final = 200
_STEPS: Final = 1_000_000
_STEPS_A_NAME: Final = 200
_QUICK_STEPS: Final = 20_000
_QUICK_OPS: Final = 2_000
"""A filter within both limits costs no more than reading the names, so it is not counted."""
_FULL_SHARES: Final = 8
_MOST_IN_FULL: Final = 64

Names: TypeAlias = tuple[str, ...]


class FilterRefused(ConfigError):
    """Which topics a filter matches is not certain.

    Attributes:
        is_unusable: True if the original's members can't use it either, or no member can in time;
            False if it may well be valid for them.
    """

    def __init__(self, message: str, *, is_unusable: bool) -> None:
        super().__init__(message)
        self.is_unusable = is_unusable


@dataclass(frozen=True, slots=True)
class _Refused:
    """Why a filter can't be matched against these ``names``, or more, within ``steps``."""

    reason: str
    is_unusable: bool = True
    names: Names = ()
    steps: int = sys.maxsize


class FilterBudget:
    """The limit of steps of all filters of one rebalance, over one list of topics. Thread: one.

    The unit is an eighth of one filter's limit, and each filter takes at least one unit, so the
    cache can keep the results of all of them until the next rebalance. Filters that take few steps
    are not counted, and always matched.

    Args:
        most_in_full: how many filters may each use the whole limit of one filter.
    """

    def __init__(self, most_in_full: int = _MOST_IN_FULL) -> None:
        self._shares = most_in_full * _FULL_SHARES
        self._tried: set[str] = set()

    def matched(self, pattern: str, names: Names) -> bytes | _Refused:
        """Return a slow filter's result, or a refusal if too few steps are left."""
        if pattern not in self._tried:
            if self._shares < _FULL_SHARES:
                return _Refused("beside the other filters it takes too many steps")
            self._tried.add(pattern)
            share = -(-_matching(pattern, names).steps * _FULL_SHARES // _steps_for(len(names)))
            self._shares -= min(max(1, share), _FULL_SHARES)
        return _matching(pattern, names).result


def matching(pattern: str, names: Names, budget: FilterBudget) -> Iterator[bool]:
    """Return whether the pattern matches the whole name, for each of the names.

    Thread: that of the budget.

    Raises:
        FilterRefused: the result is not certain.
    """
    found = _matched(pattern, names, budget)
    if isinstance(found, _Refused):
        problem = filter_problem(pattern, found.reason)
        raise FilterRefused(problem, is_unusable=found.is_unusable)
    return map(bool, found)


def _matched(pattern: str, names: Names, budget: FilterBudget) -> bytes | _Refused:
    if len(pattern) > MOST_CHARS:  # not worth caching
        return _Refused(TOO_LONG)
    names = _same(names)
    quick = _quickly(pattern, names)
    return budget.matched(pattern, names) if quick is None else quick


def filter_problem(pattern: str, reason: str) -> str:
    """Return why a filter can't be used, in one line of bounded length."""
    shown = pattern if len(pattern) <= _SHOWN else f"{pattern[:_SHOWN]}..."
    return _in_one_line(f"filter '{shown}' can't be used: {reason}")


def _in_one_line(text: str) -> str:
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


@lru_cache(maxsize=_LISTS_REMEMBERED)
def _same(names: Names) -> Names:
    """Return the cached equal tuple, so that the cache entries of many filters share one."""
    return names


@lru_cache(maxsize=_LISTS_REMEMBERED)
def _set_of(names: Names) -> frozenset[str]:
    return frozenset(names)


@lru_cache(maxsize=_FILTERS_REMEMBERED)
def _last_refusals(pattern: str) -> list[_Refused]:
    """Return a list of at most one item: the filter's last refusal."""
    del pattern
    return []


@dataclass(frozen=True, slots=True)
class _Matched:
    """The result of a filter: a byte for each name, 1 if it matches; and the steps taken."""

    result: bytes | _Refused
    steps: int


@lru_cache(maxsize=_FILTERS_REMEMBERED)
def _quickly(pattern: str, names: Names) -> bytes | _Refused | None:
    """Return the result; None if it takes more than the steps of a quick filter."""
    try:
        found = _match(pattern, names, _QUICK_STEPS, _QUICK_OPS).result
    except RegexTooLarge:
        return None
    return None if isinstance(found, _Refused) and found.names else found


@lru_cache(maxsize=_FILTERS_REMEMBERED)
def _matching(pattern: str, names: Names) -> _Matched:
    """Return the result, within the full limit of steps.

    More names never take fewer steps, so a filter that was refused for some names is refused for
    these or more without another attempt.
    """
    refusals, steps = _last_refusals(pattern), _steps_for(len(names))
    for refused in tuple(refusals):
        if steps <= refused.steps and _set_of(names).issuperset(refused.names):
            return _Matched(refused, steps)
    try:
        found = _match(pattern, names, steps, MOST_OPS)
    except RegexTooLarge as error:
        found = _Matched(_Refused(str(error)), steps)
    if isinstance(found.result, _Refused):
        refusals[:] = [found.result]
    return found


def _steps_for(count: int) -> int:
    """Return the limit of steps for a filter over ``count`` topics, rounded to a power of two."""
    return _STEPS + _STEPS_A_NAME * (1 << count.bit_length())


def _match(pattern: str, names: Names, steps: int, most_ops: int) -> _Matched:
    try:
        automaton = Automaton(java_program(pattern, most_ops), steps)
    except RegexTooLarge:
        raise
    except RegexRefused as error:
        return _Matched(_Refused(str(error), isinstance(error, RegexUnusable)), steps)
    found = bytearray()
    try:
        for name in names:
            found.append(is_distinguished(name) and automaton.matches(name))
    except TooManySteps:
        reason = "it takes too many steps to match it against all topics"
        return _Matched(_Refused(reason, names=names[: len(found) + 1], steps=steps), steps)
    return _Matched(bytes(found), steps - automaton.steps_left)
