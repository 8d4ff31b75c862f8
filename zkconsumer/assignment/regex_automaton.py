r"""Runs compiled regular expressions over names, in a bounded number of steps for any expression.

Backtracking can take time exponential in the length of a name, and one line in another member's
registration is enough for that. Here all alternatives are followed in parallel: the state after
some characters of a name is a set of operations. Sets are cached with their successor for each
character, so a name mostly costs one look-up per character (a deterministic automaton, built
lazily).

Conditions on a position in the name are evaluated when it is reached: whether it is an edge,
whether a part matches from or up to it, where the first match of an atomic part ends. Each result
is computed once per position. Only within an atomic part does the order of alternatives matter: it
is searched depth first, and no operation is tried twice at one position.

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
"""Default limit of an automaton: some tenths of a second, as a step takes about 0.1 us."""

# Costs in steps, proportional to the time taken.
_CLOSING_STEPS: Final = 8
_CONDITION_STEPS: Final = 5
_WALK_STEPS: Final = 10
_BRANCH_STEPS: Final = 20

_WORD: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


class TooManySteps(Exception):
    """An automaton used up its steps: the result is unknown."""


@dataclass(slots=True, eq=False)
class _Resolved:
    """A state without pending conditions.

    Attributes:
        kernel: the operations from which the set was closed.
        takes: the operations that consume a character.
        accepts: whether the match may end here.
        after: the next state, by character.
    """

    kernel: frozenset[int]
    takes: tuple[Take, ...]
    accepts: bool
    after: "dict[str, _Set]" = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class _Pending:
    """A state that depends on conditions on the position.

    Attributes:
        kernel: the operations from which the set was closed.
        condition: the operation whose condition is evaluated next.
        rest: the operations whose conditions are evaluated later.
        seen: the operations in the set, conditions included.
        after: the next state, by whether the condition holds.
    """

    kernel: frozenset[int]
    condition: int
    rest: tuple[int, ...]
    seen: frozenset[int]
    after: "dict[bool, _Set]" = field(default_factory=dict)


_Set: TypeAlias = _Resolved | _Pending


class _Name:
    """One name, and the results computed for positions in it."""

    __slots__ = ("ends", "lookarounds", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.lookarounds: dict[tuple[int, int], bool] = {}
        self.ends: dict[tuple[int, int], int | None] = {}

    def is_at(self, edge: TextBoundary, position: int) -> bool:
        """Return whether a position meets a condition."""
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
        after = position < len(self.text) and self.text[position] in _WORD
        return before is not after


class Automaton:
    """Matches a program against one name after another. Thread: one.

    The steps taken for a set of names do not depend on their order, and only grow with more names:
    all members that match the same names get the same results, or none.
    """

    def __init__(self, program: Program, steps: int = MOST_STEPS) -> None:
        self._ops = program.ops
        self._start = program.start
        self._sets: dict[frozenset[int], _Set] = {}
        self._beginnings: dict[int, _Set] = {}
        self._steps_left = steps

    @property
    def steps_left(self) -> int:
        """The number of steps left."""
        return self._steps_left

    def matches(self, text: str) -> bool:
        """Return whether all of the text matches.

        Raises:
            TooManySteps: the result is unknown.
        """
        return self._walk(_Name(text), self._start, 0, len(text))[0]

    # --- from character to character ---------------------------------------------------------

    def _walk(self, name: _Name, start: int, begin: int, end: int | None) -> tuple[bool, int]:
        """Match a part of the program from ``begin`` to ``end``; return whether, and how far.

        With ``end`` None the match may end anywhere.
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
            resolved = at if type(at) is _Resolved else self._resolve(at, name, position, later)
            if position == last:
                return resolved.accepts, position
            if end is None and resolved.accepts:
                return True, position
            if not resolved.takes and not later:
                return False, position
            char = text[position]
            following = resolved.after.get(char)
            at = self._step(resolved, char) if following is None else following
            position += 1

    def _step(self, at: _Resolved, char: str) -> _Set:
        """Return the state after one more character."""
        self._spend(1 + len(at.takes))
        kernel = frozenset(op.then for op in at.takes if char in op.chars)
        found = at.after[char] = self._set(kernel)
        return found

    def _set(self, kernel: frozenset[int]) -> _Set:
        """Return the state of a set of operations and all operations that they lead to."""
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
        """Return the state of known and added operations, and all that these lead to.

        Args:
            kernel: the operations from which the set is closed.
            added: the operations to add.
            known: the operations in the set already, conditions included.
            conditions: the known operations whose conditions are pending.
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
            return _Pending(kernel, waiting[0], tuple(waiting[1:]), frozenset(seen))
        takes = tuple(op for number in seen if isinstance(op := ops[number], Take))
        return _Resolved(kernel, takes, ACCEPT in seen)

    # --- conditions on a position ------------------------------------------------------------

    def _resolve(
        self, at: _Set, name: _Name, position: int, later: dict[int, set[int]]
    ) -> _Resolved:
        """Evaluate all conditions of a state; add operations after atomic parts to ``later``."""
        while isinstance(at, _Pending):
            self._spend(_CONDITION_STEPS)
            op = self._condition(at.condition)
            holds = self._holds(op, name, position, later)
            following = at.after.get(holds)
            if following is None:
                added = (op.then,) if holds else ()
                following = at.after[holds] = self._closed(at.kernel, added, at.seen, at.rest)
            at = following
        return at

    def _condition(self, number: int) -> Conditional:
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
        found = name.lookarounds.get((op.start, position))
        if found is None:
            if op.back is None:
                found = self._reaches_far(op.start, name, position, None)
            else:
                begin = position - op.back
                found = begin >= 0 and self._reaches_far(op.start, name, begin, position)
            name.lookarounds[op.start, position] = found
        return found is not op.negated

    def _reaches_far(self, start: int, name: _Name, begin: int, end: int | None) -> bool:
        found, position = self._walk(name, start, begin, end)
        self._spend(_WALK_STEPS + position - begin)
        return found

    # --- the order of alternatives ---------------------------------------------------------------

    def _first_end(self, start: int, name: _Name, position: int) -> int | None:
        """Return where backtracking's first match of an atomic part ends; None without a match."""
        key = start, position
        if key not in name.ends:
            name.ends[key] = self._find_end(start, name, position)
        return name.ends[key]

    def _find_end(self, start: int, name: _Name, position: int) -> int | None:
        todo: list[tuple[int, int]] = [(start, position)]
        tried: set[tuple[int, int]] = set()
        while todo:
            branch = todo.pop()
            if branch in tried:
                continue  # it led to no match, or is being followed
            tried.add(branch)
            self._spend(_BRANCH_STEPS)
            number, position = branch
            op = self._ops[number]
            if isinstance(op, Accept):
                return position
            todo += self._branches(op, name, position)
        return None

    def _branches(
        self, op: Take | Fork | Conditional, name: _Name, position: int
    ) -> tuple[tuple[int, int], ...]:
        """Return the operations and positions that an operation leads to, the first choice last."""
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
