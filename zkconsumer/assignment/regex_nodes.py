"""Regular expressions as trees: the parser's output and the compiler's input. Pure."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

from zkconsumer.assignment.java_charset import Chars


class TextBoundary(Enum):
    """A condition on a position in the text."""

    START = auto()
    END = auto()
    BOUNDARY = auto()
    NO_BOUNDARY = auto()


@dataclass(frozen=True, slots=True)
class CharacterSet:
    """Matches one character of a set."""

    chars: Chars


@dataclass(frozen=True, slots=True)
class Anchor:
    """A condition without length."""

    edge: TextBoundary


@dataclass(frozen=True, slots=True)
class Sequence:
    """Nodes that match one after another."""

    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The first of several alternatives that leads to a match."""

    options: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """The body, ``low`` to ``high`` times (None: unlimited); more are preferred unless ``lazy``."""

    body: "Node"
    low: int
    high: int | None
    lazy: bool = False


@dataclass(frozen=True, slots=True)
class Atomic:
    """The body, of which only the first match counts: there is no backtracking into it."""

    body: "Node"


@dataclass(frozen=True, slots=True)
class Lookaround:
    """A condition without length: whether the body matches from, or up to, a position."""

    body: "Node"
    ahead: bool
    negated: bool


Node: TypeAlias = CharacterSet | Anchor | Sequence | Choice | Repeat | Atomic | Lookaround


Width: TypeAlias = tuple[int, int | None]
"""The lengths of the shortest and the longest match (None: unlimited)."""


class Widths:
    """Computes the lengths of the texts that nodes match, once for each node of a tree."""

    def __init__(self) -> None:
        self._known: dict[int, Width] = {}

    def of(self, node: Node) -> Width:
        """Return the lengths that a node matches; the tree must outlive this object."""
        found = self._known.get(id(node))
        if found is None:
            found = self._known[id(node)] = self._measure(node)
        return found

    def _measure(self, node: Node) -> Width:
        match node:
            case CharacterSet():
                return 1, 1
            case Anchor() | Lookaround():
                return 0, 0
            case Sequence(parts):
                widths = [self.of(part) for part in parts]
                return sum(low for low, _ in widths), _sum([high for _, high in widths])
            case Choice(options):
                widths = [self.of(option) for option in options]
                highs = [high for _, high in widths if high is not None]
                longest = max(highs) if len(highs) == len(widths) else None
                return min(low for low, _ in widths), longest
            case Repeat(body, low, high):
                shortest, longest = self.of(body)
                return shortest * low, 0 if longest == 0 else _product(longest, high)
            case Atomic(body):
                return self.of(body)


def _sum(lengths: list[int | None]) -> int | None:
    known = [length for length in lengths if length is not None]
    return sum(known) if len(known) == len(lengths) else None


def _product(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first * second
