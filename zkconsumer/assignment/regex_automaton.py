r"""Runs programs of regular expressions over names: in bounded steps, whoever wrote the expression.

Backtracking can take time exponential in the length of a name, and one line in a stranger's
registration is enough for that. Here all ways through a program are gone at once: what is possible
behind some characters of a name is a set of operations. Sets are kept with what each character
leads to, so a name mostly costs one look-up a character (a deterministic automaton, made as far as
names need it).

What depends on the place in the name is asked for there: whether it is an edge, whether something
matches from here on or up to here, where the first match of an atomic part ends. Each answer is
computed once for each place in a name. Only within an atomic part does it matter which way is the
first: that is looked for in depth, and no operation is tried twice at one place.

Source: R. Cox, "Regular Expression Matching Can Be Simple And Fast".
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from zkconsumer.assignment.regex_nodes import TextBoundary
from zkconsumer.assignment.regex_program import (
    ACCEPT,
    Accept,
    Conditional,
    Fork,
    Jump,
    LookaroundStep,
    OnEdge,
    Program,
    Take,
)

MOST_STEPS: Final = 3_000_000
"""How much work is spent on one name: some tenths of a second, a step takes about 0.1 us."""

# What is done costs so many steps, by the time that it takes.
_CLOSING_STEPS: Final = 8
_CONDITION_STEPS: Final = 5
_WALK_STEPS: Final = 10
_WAY_STEPS: Final = 20

_WORD: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


class TooManySteps(Exception):
    """An automaton did all the steps that it may: of what it was asked, nothing is known."""


@dataclass(slots=True, eq=False)
class _Sure:
    """What is possible at a place, where that depends on nothing else.

    Attributes:
        kernel: the operations from which the set was made.
        takes: the operations that take a character.
        accepts: whether the match may end here.
        after: the next set, by character.
    """

    kernel: frozenset[int]
    takes: tuple[Take, ...]
    accepts: bool
    after: "dict[str, _Set]" = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class _Open:
    """What is possible at a place as far as it is known, until a condition is looked at.

    Attributes:
        kernel: the operations from which the set was made.
        condition: the operation whose condition is next.
        rest: those that come behind it.
        seen: the operations that are in the set, or have been looked at.
        after: the set with that condition, and without.
    """

    kernel: frozenset[int]
    condition: int
    rest: tuple[int, ...]
    seen: frozenset[int]
    after: "dict[bool, _Set]" = field(default_factory=dict)


_Set: TypeAlias = _Sure | _Open


class _Name:
    """One name, and what has been found out about places in it."""

    __slots__ = ("ends", "snapshots", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.snapshots: dict[tuple[int, int], bool] = {}
        self.ends: dict[tuple[int, int], int | None] = {}

    def is_at(self, edge: TextBoundary, position: int) -> bool:
        """Return whether a place is such an edge."""
        match edge:
            case TextBoundary.START:
                return position == 0
            case TextBoundary.END:
                return position == len(self.text)
            case TextBoundary.BOUNDARY:
                return self._is_boundary(position)
            case TextBoundary.NO_BOUNDARY:
                return not self._is_boundary(position)

    def _is_boundary(self, position: int) -> bool:
        before = position > 0 and self.text[position - 1] in _WORD
        behind = position < len(self.text) and self.text[position] in _WORD
        return before is not behind


class Automaton:
    """Says of one name after the other whether a program matches all of it. Thread: one.

    How many steps it has done after some names does not depend on their order, and with more names
    it only grows: all that ask about the same names get the same answers, or none.

    Args:
        program: what to run.
        steps: how many it may do in all.
    """

    def __init__(self, program: Program, steps: int = MOST_STEPS) -> None:
        self._ops = program.ops
        self._start = program.start
        self._sets: dict[frozenset[int], _Set] = {}
        self._beginnings: dict[int, _Set] = {}
        self._steps_left = steps

    def matches(self, text: str) -> bool:
        """Return whether all of the text matches.

        Raises:
            TooManySteps: nobody knows.
        """
        return self._walk(_Name(text), self._start, 0, len(text))[0]

    # --- from character to character ---------------------------------------------------------

    def _walk(self, name: _Name, start: int, begin: int, end: int | None) -> tuple[bool, int]:
        """Whether a part of the program matches from ``begin`` to ``end``, and how far it was held.

        With ``end`` None it may end anywhere.
        """
        at = self._beginnings.get(start)
        if at is None:
            at = self._beginnings[start] = self._set(frozenset((start,)))
        text, position = name.text, begin
        later: dict[int, set[int]] = {}
        last = len(text) if end is None else end
        while True:
            if later and position in later:
                at = self._set(at.kernel.union(later.pop(position)))
            sure = at if type(at) is _Sure else self._resolve(at, name, position, later)
            if position == last:
                return sure.accepts, position
            if end is None and sure.accepts:
                return True, position
            if not sure.takes and not later:
                return False, position
            char = text[position]
            following = sure.after.get(char)
            at = self._step(sure, char) if following is None else following
            position += 1

    def _step(self, at: _Sure, char: str) -> _Set:
        """The set behind one more character."""
        self._spend(1 + len(at.takes))
        kernel = frozenset(op.then for op in at.takes if char in op.chars)
        found = at.after[char] = self._set(kernel)
        return found

    def _set(self, kernel: frozenset[int]) -> _Set:
        """The set of all that is possible from some operations."""
        found = self._sets.get(kernel)
        if found is None:
            found = self._sets[kernel] = self._closed(kernel, kernel, frozenset(), ())
        return found

    def _closed(
        self,
        kernel: frozenset[int],
        added: Iterable[int],
        known: frozenset[int],
        conditions: tuple[int, ...],
    ) -> _Set:
        """A set of what is known already, what is added, and all that these lead to.

        Args:
            kernel: what it is made from to begin with.
            added: operations.
            known: those that are in the set, or have been looked at.
            conditions: those of them that have not been looked at.
        """
        ops, seen, waiting = self._ops, set(known), list(conditions)
        todo = list(added)
        while todo:
            number = todo.pop()
            if number in seen:
                continue
            seen.add(number)
            op = ops[number]
            if type(op) is Fork:
                todo += (op.second, op.first)
            elif not isinstance(op, Take | Accept):
                waiting.append(number)
        self._spend(_CLOSING_STEPS * (1 + len(seen)))
        if waiting:
            return _Open(kernel, waiting[0], tuple(waiting[1:]), frozenset(seen))
        takes = tuple(op for number in seen if isinstance(op := ops[number], Take))
        return _Sure(kernel, takes, ACCEPT in seen)

    # --- what depends on the place -----------------------------------------------------------

    def _resolve(self, at: _Set, name: _Name, position: int, later: dict[int, set[int]]) -> _Sure:
        """The set with all conditions looked at; adds to ``later`` where atomic parts lead to."""
        while isinstance(at, _Open):
            self._spend(_CONDITION_STEPS)
            op = self._conditional(at.condition)
            holds = self._holds(op, name, position, later)
            following = at.after.get(holds)
            if following is None:
                added = (op.then,) if holds else ()
                following = at.after[holds] = self._closed(at.kernel, added, at.seen, at.rest)
            at = following
        return at

    def _conditional(self, number: int) -> Conditional:
        op = self._ops[number]
        assert isinstance(op, OnEdge | LookaroundStep | Jump)
        return op

    def _holds(
        self, op: Conditional, name: _Name, position: int, later: dict[int, set[int]]
    ) -> bool:
        if isinstance(op, OnEdge):
            return name.is_at(op.edge, position)
        if isinstance(op, LookaroundStep):
            return self._holds_lookaround(op, name, position)
        end = self._first_end(op.start, name, position)
        if end is not None and end > position:
            later.setdefault(end, set()).add(op.then)
        return end == position

    def _holds_lookaround(self, op: LookaroundStep, name: _Name, position: int) -> bool:
        found = name.snapshots.get((op.start, position))
        if found is None:
            if op.back is None:
                found = self._reaches_far(op.start, name, position, None)
            else:
                begin = position - op.back
                found = begin >= 0 and self._reaches_far(op.start, name, begin, position)
            name.snapshots[op.start, position] = found
        return found is not op.negated

    def _reaches_far(self, start: int, name: _Name, begin: int, end: int | None) -> bool:
        found, position = self._walk(name, start, begin, end)
        self._spend(_WALK_STEPS + position - begin)
        return found

    # --- which way is the first ----------------------------------------------------------------

    def _first_end(self, start: int, name: _Name, position: int) -> int | None:
        """Where the first match of an atomic part ends, as backtracking would find it."""
        key = start, position
        if key not in name.ends:
            name.ends[key] = self._find_end(start, name, position)
        return name.ends[key]

    def _find_end(self, start: int, name: _Name, position: int) -> int | None:
        todo: list[tuple[int, int]] = [(start, position)]
        tried: set[tuple[int, int]] = set()
        while todo:
            way = todo.pop()
            if way in tried:
                continue  # it led to nothing, or is on its way already
            tried.add(way)
            self._spend(_WAY_STEPS)
            number, position = way
            op = self._ops[number]
            if isinstance(op, Accept):
                return position
            todo += self._ways_on(op, name, position)
        return None

    def _ways_on(
        self, op: Take | Fork | Conditional, name: _Name, position: int
    ) -> tuple[tuple[int, int], ...]:
        """Where an operation leads to, the first way last."""
        match op:
            case Take(chars, then):
                taken = position < len(name.text) and name.text[position] in chars
                return ((then, position + 1),) if taken else ()
            case Fork(first, second):
                return (second, position), (first, position)
            case Jump(start, then):
                end = self._first_end(start, name, position)
                return () if end is None else ((then, end),)
            case OnEdge() | LookaroundStep():
                return ((op.then, position),) if self._holds(op, name, position, {}) else ()

    def _spend(self, steps: int) -> None:
        self._steps_left -= steps
        if self._steps_left < 0:
            raise TooManySteps
