r"""Parse and match Java regular expressions, with the same result as Java, or with none.

A member expands the filters of all members of its group. A result other than Java's would mean an
assignment other than the other members', and endless conflicts, so an expression that is not
certain to mean the same is refused. Only printable ASCII is distinguished, which includes all
characters of topic names: every single character, class and shorthand becomes a set of those. That
settles case, ``\s``, POSIX classes and the dot.

Refused though Java accepts it: back-references, ``\G``, ``\R``, ``\X``, ``\N``, nested and
intersected classes, names of Unicode categories and scripts, the flags d, u, x and U, repeated
repetition, repeated assertions, look-behind of variable length, repetition of what may be empty
within atomic groups; and expressions that are too large or take too many steps, see
``regex_automaton``.

Source: the documentation of ``java.util.regex.Pattern``, and results of JVMs.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from zkconsumer.assignment.java_charset import (
    ALL,
    CLASS_ESCAPES,
    CharsetText,
    RegexRefused,
    RegexUnusable,
    is_foldable,
    literal_escape,
    property_set,
    read_class,
    unquote,
)
from zkconsumer.assignment.regex_automaton import Automaton, TooManySteps
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
from zkconsumer.assignment.regex_program import LONGEST_TEXT, MOST_OPS, Program, compile_nodes

MOST_CHARS: Final = 100_000
"""Maximum length of an expression; a ZooKeeper node can hold ten times as much."""
TOO_LONG: Final = f"it is longer than {MOST_CHARS} characters"

_MAX_DEPTH = 60
_MAX_REPEAT = 2**31 - 1
_EDGES = {
    "^": TextBoundary.START,
    "$": TextBoundary.END,
    r"\A": TextBoundary.START,
    r"\z": TextBoundary.END,
    r"\Z": TextBoundary.END,
}
_EDGES |= {r"\b": TextBoundary.BOUNDARY, r"\B": TextBoundary.NO_BOUNDARY}
_OPENINGS = ("?:", "?=", "?!", "?>", "?<=", "?<!")
_FLAGS = re.compile(r"\?([a-zA-Z]*)(?:-([a-zA-Z]*))?([:)])")
_NAME = re.compile(r"\?<([a-zA-Z][a-zA-Z0-9]*)>")
_UNICODE_LINE_ENDS = "\x85\u2028\u2029"
_SIMPLE_TIMES: dict[str, tuple[int, int | None]] = {"?": (0, 1), "*": (0, None), "+": (1, None)}
_COUNT = re.compile(r"\{([0-9]{1,10})(,([0-9]{1,10})?)?\}")


def java_matcher(pattern: str) -> Callable[[str], bool]:
    """Return a function that matches like ``text.matches(pattern)`` in Java: a full match.

    It matches texts of printable ASCII that are not empty and not longer than a topic's name;
    others don't match. It raises ``RegexRefused`` if a text takes too many steps. Thread: any.

    Raises:
        RegexRefused: the pattern is not a regular expression in Java, or can't be matched with
            certainty.
    """
    matcher = _Matcher(java_program(pattern))
    return matcher.matches


def java_program(pattern: str, most_ops: int = MOST_OPS) -> Program:
    """Compile a pattern to be matched against distinguished texts (``is_distinguished``).

    Raises:
        RegexRefused: see ``java_matcher``.
        RegexTooLarge: the program has more operations than ``most_ops``.
    """
    if len(pattern) > MOST_CHARS:
        raise RegexUnusable(TOO_LONG)
    if any(char in pattern for char in _UNICODE_LINE_ENDS):
        raise RegexRefused("it holds a line separator")
    if any("\ud800" <= char <= "\udfff" for char in pattern):
        raise RegexRefused("it holds what is not a character")
    parser = _Parser(CharsetText(unquote(pattern)))
    tree = parser.alternatives(fold=False, depth=0)
    if not parser.reader.done:
        raise RegexUnusable("unmatched )")
    return compile_nodes(tree, parser.widths, most_ops)


def is_distinguished(text: str) -> bool:
    """Return whether a text can match at all: it is printable ASCII as short as a topic's name."""
    return 0 < len(text) <= LONGEST_TEXT and text.isascii() and text.isprintable()


class _Matcher:
    """Matches one text after another; see ``java_matcher``."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._automaton = Automaton(program)

    def matches(self, text: str) -> bool:
        """Return whether all of the text matches."""
        if not is_distinguished(text):
            return False
        try:
            return self._automaton.matches(text)
        except TooManySteps:
            # Steps add up over all texts, so this is normal after thousands of them.
            self._automaton = Automaton(self._program)
        try:
            return self._automaton.matches(text)
        except TooManySteps as error:
            raise RegexUnusable(f"it takes too many steps to match against {text!r}") from error


@dataclass(slots=True)
class _Parser:
    """One pass over a pattern; ``fold`` is Java's flag i, passed along as an argument."""

    reader: CharsetText
    names: set[str] = field(default_factory=set)
    widths: Widths = field(default_factory=Widths)

    def alternatives(self, *, fold: bool, depth: int) -> Node:
        """Parse up to the closing bracket or the end; a flag set inside applies up to there."""
        if depth > _MAX_DEPTH:
            raise RegexUnusable(f"brackets nested deeper than {_MAX_DEPTH}")
        options: list[list[Node]] = [[]]
        while not self.reader.done and self.reader.peek() != ")":
            if self.reader.take("|"):
                options.append([])
            elif (flags := self._flag_switch(fold)) is not None:
                fold = flags
                if self.reader.peek() in ("?", "*", "+", "{"):
                    raise RegexRefused(f"nothing to repeat before {self.reader.peek()}")
            else:
                options[-1].append(self._repeated(self._item(fold=fold, depth=depth)))
        sequences = tuple(_sequence(parts) for parts in options)
        node = sequences[0] if len(sequences) == 1 else Choice(sequences)
        self.widths.of(node)  # now, while all inner widths are known, to avoid a deep recursion
        return node

    def _flag_switch(self, fold: bool) -> bool | None:  # noqa: FBT001 - the flag's state so far
        """Parse ``(?i)`` and the like; return the new flag, or None if there is no such thing."""
        if self.reader.peek() != "(":
            return None
        found = _FLAGS.match(self.reader.text, self.reader.position + 1)
        if found is None or found.group(3) != ")":
            return None
        self.reader.position = found.end()
        return _switched(fold, found)

    def _item(self, *, fold: bool, depth: int) -> Node:
        char = self.reader.next()
        if char == "(":
            return self._group(fold=fold, depth=depth + 1)
        if char == "[":
            return CharacterSet(read_class(self.reader, fold=fold))
        if char == ".":
            return CharacterSet(ALL)
        if char in "?*+":
            raise RegexUnusable(f"nothing to repeat before {char}")
        if char == "{":
            raise RegexRefused("nothing to repeat before {")
        if char in _EDGES:
            return Anchor(_EDGES[char])
        if char == "\\":
            return self._escape(fold=fold)
        return _literal(char, fold=fold)

    def _escape(self, *, fold: bool) -> Node:
        char = self.reader.peek()
        if "\\" + char in _EDGES:
            self.reader.next()
            return Anchor(_EDGES["\\" + char])
        if char in CLASS_ESCAPES:
            return CharacterSet(CLASS_ESCAPES[self.reader.next()])
        if char in ("p", "P"):
            return CharacterSet(property_set(self.reader, fold=fold))
        return _literal(literal_escape(self.reader), fold=fold)

    def _group(self, *, fold: bool, depth: int) -> Node:
        kind = "?:"
        if self.reader.peek() == "?":
            kind, fold = self._group_kind(fold)
        body = self.alternatives(fold=fold, depth=depth)
        if not self.reader.take(")"):
            raise RegexUnusable("unclosed group")
        match kind:
            case "?:":
                # An assertion can be repeated only inside brackets.
                return Sequence((body,)) if isinstance(body, Anchor | Lookaround) else body
            case "?>":
                return Atomic(body)
            case _:
                return Lookaround(body, ahead="<" not in kind, negated="!" in kind)

    def _group_kind(self, fold: bool) -> tuple[str, bool]:  # noqa: FBT001 - see _flag_switch
        reader = self.reader
        for kind in _OPENINGS:
            if reader.take(kind):
                return kind, fold
        if found := _NAME.match(reader.text, reader.position):
            if found.group(1) in self.names:
                raise RegexRefused(f"two groups named {found.group(1)[:40]}")
            self.names.add(found.group(1))
            reader.position = found.end()
            return "?:", fold
        found = _FLAGS.match(reader.text, reader.position)
        if found is None or found.group(3) != ":":
            raise RegexRefused("unknown kind of group: (" + reader.text[reader.position :][:3])
        reader.position = found.end()
        return "?:", _switched(fold, found)

    def _repeated(self, item: Node) -> Node:
        times, low, high = self._times()
        if not times:
            return item
        if isinstance(item, Anchor | Lookaround):
            raise RegexRefused(f"repetition {times} of something without length")
        mode = self.reader.next() if self.reader.peek() in ("?", "+") else ""
        if self.reader.peek() in ("?", "*", "+", "{"):
            raise RegexRefused(f"repetition {self.reader.peek()} of a repetition")
        if mode == "+":
            # Java makes each iteration atomic.
            return Atomic(Repeat(Atomic(item), low, high))
        return Repeat(item, low, high, lazy=mode == "?")

    def _times(self) -> tuple[str, int, int | None]:
        """Parse a repetition; return its text (empty if there is none), minimum and maximum."""
        char = self.reader.peek()
        if char in _SIMPLE_TIMES:
            return (self.reader.next(), *_SIMPLE_TIMES[char])
        if char != "{":
            return "", 1, 1
        found = _COUNT.match(self.reader.text, self.reader.position)
        if found is None:
            raise RegexRefused("a { that starts no count such as {2} or {2,}")
        low = int(found.group(1))
        high = low if found.group(2) is None else int(found.group(3) or _MAX_REPEAT)
        if low > min(high, _MAX_REPEAT) or high > _MAX_REPEAT:
            raise RegexRefused(f"the count {found.group()} is out of range")
        self.reader.position = found.end()
        return found.group(), low, high


def _switched(fold: bool, found: re.Match[str]) -> bool:  # noqa: FBT001 - see _flag_switch
    """Return the flag i after a group of flags; s and m don't matter in texts without line ends."""
    on, off = found.group(1), found.group(2) or ""
    unknown = set(on + off) - set("ims")
    if unknown:
        raise RegexRefused(f"the flag {min(unknown)} is not supported")
    return (fold or "i" in on) and "i" not in off


def _sequence(parts: list[Node]) -> Node:
    return parts[0] if len(parts) == 1 else Sequence(tuple(parts))


@lru_cache(maxsize=1024)
def _literal(char: str, *, fold: bool) -> CharacterSet:
    if fold and is_foldable(char):
        return CharacterSet(frozenset((char.lower(), char.upper())))
    return CharacterSet(frozenset(char) & ALL)
