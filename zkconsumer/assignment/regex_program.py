"""Compile regular expressions to programs: graphs of operations, with repetitions unrolled.

Every operation leads to operations that were created before it, except in loops. The size of a
program is bounded, since other members' registrations may contain any pattern. Pure.
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

from zkconsumer.assignment.java_charset import Chars, RegexRefused, RegexUnusable
from zkconsumer.assignment.regex_nodes import (
    Anchor,
    Atomic,
    CharacterSet,
    Choice,
    Lookaround,
    Node,
    Repeat,
    Sequence,
    TextBoundary,
    Widths,
)

LONGEST_TEXT: Final = 255
"""Length of the longest text that a program can match: no topic's name is longer."""
MOST_OPS: Final = 100_000
"""Limit of operations in a program; a filter that names 3,000 topics comes to about as many."""
ACCEPT: Final = 0
"""The operation at which a program, or a part that is matched on its own, has matched."""


@dataclass(frozen=True, slots=True)
class Accept:
    """The match is found."""


@dataclass(frozen=True, slots=True)
class Take:
    """Consume one character of a set, and continue at ``then``."""

    chars: Chars
    then: int


@dataclass(slots=True)
class Fork:
    """Continue at ``first``; if that leads to no match, at ``second``."""

    first: int
    second: int


@dataclass(frozen=True, slots=True)
class OnEdge:
    """Continue at ``then`` if the condition holds at this position."""

    edge: TextBoundary
    then: int


@dataclass(frozen=True, slots=True)
class LookaroundStep:
    """Continue at ``then`` if the part at ``start`` matches from this position, or up to it.

    Attributes:
        start: the first operation of the part.
        back: how many characters before this position the match begins; None: it looks ahead.
        negated: whether the part must not match instead.
        then: the operation to continue at.
    """

    start: int
    back: int | None
    negated: bool
    then: int


@dataclass(frozen=True, slots=True)
class Jump:
    """Continue at ``then`` after the first match of the part at ``start``."""

    start: int
    then: int


Op: TypeAlias = Accept | Take | Fork | OnEdge | LookaroundStep | Jump
Conditional: TypeAlias = OnEdge | LookaroundStep | Jump


@dataclass(frozen=True, slots=True)
class Program:
    """Operations, and the index of the one to start at."""

    ops: list[Op]
    start: int


class RegexTooLarge(RegexUnusable):
    """A program would have more operations than allowed."""


def compile_nodes(tree: Node, widths: Widths, most_ops: int = MOST_OPS) -> Program:
    """Compile a regular expression for texts of up to ``LONGEST_TEXT`` characters.

    Args:
        tree: the expression.
        widths: the lengths of the texts that its nodes match, as far as known.
        most_ops: limit of operations.

    Raises:
        RegexTooLarge: the program would have more operations.
        RegexRefused: the meaning of the expression is not certain.
    """
    compiler = _Compiler(widths, most_ops)
    start = compiler.compile(tree, ACCEPT, in_atomic=False)
    return Program(compiler.ops, start)


class _Compiler:
    """Writes operations from the last to the first."""

    def __init__(self, widths: Widths, most_ops: int) -> None:
        self.ops: list[Op] = [Accept()]
        self._most_ops = most_ops
        self._widths = widths

    def compile(self, node: Node, then: int, *, in_atomic: bool) -> int:
        """Write the operations of a node, which continue at ``then``; return where they begin."""
        match node:
            case CharacterSet(chars):
                return self._add(Take(chars, then))
            case Anchor(edge):
                return self._add(OnEdge(edge, then))
            case Sequence(parts):
                for part in reversed(parts):
                    then = self.compile(part, then, in_atomic=in_atomic)
                return then
            case Choice(options):
                chosen = self.compile(options[-1], then, in_atomic=in_atomic)
                for option in reversed(options[:-1]):
                    start = self.compile(option, then, in_atomic=in_atomic)
                    chosen = self._add(Fork(start, chosen))
                return chosen
            case Repeat():
                return self._repeat(node, then, in_atomic=in_atomic)
            case Atomic(body):
                return self._add(Jump(self.compile(body, ACCEPT, in_atomic=True), then))
            case Lookaround():
                return self._lookaround(node, then)

    def _lookaround(self, node: Lookaround, then: int) -> int:
        back = None
        if not node.ahead:
            back, longest = self._widths.of(node.body)
            if back != longest:
                raise RegexRefused("it has no sure equivalent: a look-behind of variable length")
        start = self.compile(node.body, ACCEPT, in_atomic=False)
        return self._add(LookaroundStep(start, back, node.negated, then))

    def _repeat(self, node: Repeat, then: int, *, in_atomic: bool) -> int:
        """Unroll a repetition: the required iterations, then the optional ones.

        An upper limit above the length of any text becomes a loop. A body that may be empty, and is
        required more often than a text is long, is empty in some iteration, and can then be empty
        as often as required.
        """
        low, high = node.low, node.high
        if self._widths.of(node.body)[0] == 0:
            # A body with at most one possible end leaves nothing to choose.
            if in_atomic and high != 1 and not isinstance(node.body, Atomic):
                raise RegexRefused(
                    "it has no sure equivalent: a repetition of what may be empty within an atomic "
                    "group or a possessive repetition"
                )
            low = min(low, LONGEST_TEXT + 1)
        elif low > LONGEST_TEXT:
            return self._add(Take(frozenset(), then))
        if high is None or high >= LONGEST_TEXT:
            start = self._loop(node, then, in_atomic=in_atomic)
        else:
            start = then
            for _ in range(high - low):
                start = self._maybe(node, start, then, in_atomic=in_atomic)
        for _ in range(low):
            start = self.compile(node.body, start, in_atomic=in_atomic)
        return start

    def _loop(self, node: Repeat, then: int, *, in_atomic: bool) -> int:
        fork = Fork(then, then)
        head = self._add(fork)
        body = self.compile(node.body, head, in_atomic=in_atomic)
        fork.first, fork.second = (then, body) if node.lazy else (body, then)
        return head

    def _maybe(self, node: Repeat, again: int, then: int, *, in_atomic: bool) -> int:
        body = self.compile(node.body, again, in_atomic=in_atomic)
        return self._add(Fork(then, body) if node.lazy else Fork(body, then))

    def _add(self, op: Op) -> int:
        if len(self.ops) >= self._most_ops:
            raise RegexTooLarge(
                f"it is too large: written out it has over {self._most_ops} characters"
            )
        self.ops.append(op)
        return len(self.ops) - 1
