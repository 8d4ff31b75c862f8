r"""Java regular expressions, said in Python's syntax: the same answer or none.

A member expands the filters of all members of its group. An answer other than Java's would mean
another assignment than the others', and conflicts without end; so what is not certain to mean the
same is refused. Only printable ASCII is told apart (names of topics are made of less): every
single character, class and shorthand becomes a set of those. That settles case, ``\s``, POSIX
classes and what a dot is.

Refused though Java takes it: back-references, ``\G``, ``\R``, ``\X``, ``\N``, nested and
intersected classes, names of Unicode categories and scripts, the flags d, u, x and U, repeated
repetition, repeated assertions, and look-behind of variable length.

Source: the documentation of ``java.util.regex.Pattern``, and answers of JVMs.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from zkconsumer.assignment.java_charset import (
    ALL,
    CLASS_ESCAPES,
    Reader,
    RegexRefused,
    is_foldable,
    literal_escape,
    property_set,
    read_class,
    render,
    unquote,
)

_MAX_DEPTH = 60
_MAX_REPEAT = 2**31 - 1
_ANCHORS = {"^": r"\A", "$": r"\Z", r"\A": r"\A", r"\z": r"\Z", r"\Z": r"\Z"}
_ANCHORS |= {r"\b": r"\b", r"\B": r"\B"}
_OPENINGS = {"?:": "(?:", "?=": "(?=", "?!": "(?!", "?>": "(?>", "?<=": "(?<=", "?<!": "(?<!"}
_FLAGS = re.compile(r"\?([a-zA-Z]*)(?:-([a-zA-Z]*))?([:)])")
_NAME = re.compile(r"\?<([a-zA-Z][a-zA-Z0-9]*)>")
_COUNT = re.compile(r"\{([0-9]{1,10})(,([0-9]{1,10})?)?\}")


@lru_cache(maxsize=256)
def java_matcher(pattern: str) -> Callable[[str], bool]:
    """A function that says what ``text.matches(pattern)`` says in Java: a full match.

    It answers for texts of printable ASCII that are not empty; others are said not to match.

    Raises:
        RegexRefused: the pattern is not a regular expression in Java, or one that can't be
            rendered with certainty.
    """
    try:
        # Not ``fullmatch``: that has had faults together with possessive repetition.
        compiled = re.compile(rf"(?:{translate(pattern)})\Z", re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise RegexRefused(f"it has no sure equivalent in Python ({error})") from error
    return lambda text: _is_told_apart(text) and compiled.match(text) is not None


def _is_told_apart(text: str) -> bool:
    return text != "" and text.isascii() and text.isprintable()


def translate(pattern: str) -> str:
    """The pattern in Python's syntax, for texts of printable ASCII.

    Raises:
        RegexRefused: see ``java_matcher``.
    """
    parser = _Parser(Reader(unquote(pattern)), set())
    translated = parser.alternatives(fold=False, depth=0)
    if not parser.reader.done:
        raise RegexRefused("unmatched )")
    return translated


@dataclass(frozen=True, slots=True)
class _Item:
    """A piece of a sequence, and whether it may be repeated."""

    text: str
    repeatable: bool = True


@dataclass(slots=True)
class _Parser:
    """One pass over a pattern; ``fold`` is Java's flag i, carried along as an argument."""

    reader: Reader
    names: set[str]

    def alternatives(self, *, fold: bool, depth: int) -> str:
        """Up to the closing bracket or the end. A flag set inside holds until there."""
        if depth > _MAX_DEPTH:
            raise RegexRefused(f"brackets nested deeper than {_MAX_DEPTH}")
        out: list[str] = []
        while not self.reader.done and self.reader.peek() != ")":
            if self.reader.take("|"):
                out.append("|")
            elif (flags := self._flag_switch(fold)) is not None:
                fold = flags
                if self.reader.peek() in ("?", "*", "+", "{"):
                    raise RegexRefused(f"nothing to repeat before {self.reader.peek()}")
            else:
                out.append(self._repeated(self._item(fold=fold, depth=depth)))
        return "".join(out)

    def _flag_switch(self, fold: bool) -> bool | None:  # noqa: FBT001 - the flag's state so far
        """``(?i)`` and the like: the flag from here on; None where there is no such thing."""
        found = _FLAGS.match(self.reader.text, self.reader.position + 1)
        if self.reader.peek() != "(" or found is None or found.group(3) != ")":
            return None
        self.reader.position = found.end()
        return _switched(fold, found)

    def _item(self, *, fold: bool, depth: int) -> _Item:
        char = self.reader.next()
        if char == "(":
            return self._group(fold=fold, depth=depth + 1)
        if char == "[":
            return _Item(render(read_class(self.reader, fold=fold)))
        if char == ".":
            return _Item(render(ALL))
        if char in "?*+{":
            raise RegexRefused(f"nothing to repeat before {char}")
        if char in _ANCHORS:
            return _Item(_ANCHORS[char], repeatable=False)
        if char == "\\":
            return self._escape(fold=fold)
        return _Item(_literal(char, fold=fold))

    def _escape(self, *, fold: bool) -> _Item:
        char = self.reader.peek()
        if "\\" + char in _ANCHORS:
            self.reader.next()
            return _Item(_ANCHORS["\\" + char], repeatable=False)
        if char in CLASS_ESCAPES:
            return _Item(render(CLASS_ESCAPES[self.reader.next()]))
        if char in ("p", "P"):
            return _Item(render(property_set(self.reader, fold=fold)))
        return _Item(_literal(literal_escape(self.reader), fold=fold))

    def _group(self, *, fold: bool, depth: int) -> _Item:
        opening = "(?:"
        if self.reader.peek() == "?":
            opening, fold = self._group_kind(fold)
        body = self.alternatives(fold=fold, depth=depth)
        if not self.reader.take(")"):
            raise RegexRefused("unclosed group")
        return _Item(f"{opening}{body})", repeatable=opening in ("(?:", "(?>"))

    def _group_kind(self, fold: bool) -> tuple[str, bool]:  # noqa: FBT001 - see _flag_switch
        reader = self.reader
        for java, python in _OPENINGS.items():
            if reader.take(java):
                return python, fold
        if found := _NAME.match(reader.text, reader.position):
            if found.group(1) in self.names:
                raise RegexRefused(f"two groups named {found.group(1)}")
            self.names.add(found.group(1))
            reader.position = found.end()
            return "(?:", fold
        found = _FLAGS.match(reader.text, reader.position)
        if found is None or found.group(3) != ":":
            raise RegexRefused("unknown kind of group: (" + reader.text[reader.position :][:3])
        reader.position = found.end()
        return "(?:", _switched(fold, found)

    def _repeated(self, item: _Item) -> str:
        times = self._times()
        if not times:
            return item.text
        if not item.repeatable:
            raise RegexRefused(f"repetition {times} of something without length")
        mode = self.reader.next() if self.reader.peek() in ("?", "+") else ""
        if self.reader.peek() in ("?", "*", "+", "{"):
            raise RegexRefused(f"repetition {self.reader.peek()} of a repetition")
        return item.text + times + mode

    def _times(self) -> str:
        char = self.reader.peek()
        if char in ("?", "*", "+"):
            return self.reader.next()
        if char != "{":
            return ""
        found = _COUNT.match(self.reader.text, self.reader.position)
        if found is None:
            raise RegexRefused("a { that starts no count such as {2} or {2,}")
        low, high = int(found.group(1)), int(found.group(3) or _MAX_REPEAT)
        if low > min(high, _MAX_REPEAT) or high > _MAX_REPEAT:
            raise RegexRefused(f"the count {found.group()} is out of range")
        self.reader.position = found.end()
        return found.group()


def _switched(fold: bool, found: re.Match[str]) -> bool:  # noqa: FBT001 - see _flag_switch
    """The flag i after a group of flags; s and m make no difference without line ends."""
    on, off = found.group(1), found.group(2) or ""
    unknown = set(on + off) - set("ims")
    if unknown:
        raise RegexRefused(f"the flag {min(unknown)} is not supported")
    return (fold or "i" in on) and "i" not in off


def _literal(char: str, *, fold: bool) -> str:
    if fold and is_foldable(char):
        return render(frozenset((char.lower(), char.upper())))
    return render(frozenset(char) & ALL)
