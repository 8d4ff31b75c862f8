r"""Single characters of Java's regular expressions: escapes, classes, and their meaning.

Every result is a set of printable ASCII characters, the only ones that are distinguished.
"""

import re
from dataclasses import dataclass
from typing import TypeAlias

from zkconsumer.errors import ConfigError

Chars: TypeAlias = frozenset[str]

ALL: Chars = frozenset(map(chr, range(0x20, 0x7F)))
"""Every character that is distinguished."""

_DIGIT = frozenset("0123456789")
_LOWER = frozenset("abcdefghijklmnopqrstuvwxyz")
_UPPER = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_ALPHA = _LOWER | _UPPER
_WORD = _ALPHA | _DIGIT | {"_"}
_SPACE = frozenset(" ")

CLASS_ESCAPES: dict[str, Chars] = {
    "d": _DIGIT,
    "D": ALL - _DIGIT,
    "w": _WORD,
    "W": ALL - _WORD,
    "s": _SPACE,
    "S": ALL - _SPACE,
    "h": _SPACE,
    "H": ALL - _SPACE,
    "v": frozenset(),
    "V": ALL,
}
r"""The meaning of a backslash and a letter; ``\v`` is vertical space, which is not printable."""

_PROPERTIES: dict[str, Chars] = {
    "Lower": _LOWER,
    "Upper": _UPPER,
    "ASCII": ALL,
    "Alpha": _ALPHA,
    "Digit": _DIGIT,
    "Alnum": _ALPHA | _DIGIT,
    "Punct": ALL - _ALPHA - _DIGIT - _SPACE,
    "Graph": ALL - _SPACE,
    "Print": ALL,
    "Blank": _SPACE,
    "Cntrl": frozenset(),
    "XDigit": _DIGIT | frozenset("abcdefABCDEF"),
    "Space": _SPACE,
}
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_OCTAL = re.compile("0([0-3][0-7]{2}|[0-7]{1,2})")
_HEX = re.compile("x([0-9a-fA-F]{2})|x\\{([0-9a-fA-F]{1,6})\\}|u([0-9a-fA-F]{4})")
_PROPERTY = re.compile(r"([pP])\{([A-Za-z]+)\}")
_ANY_PROPERTY = re.compile(r"[pP](?:\{[^{}]{0,40}\}?|.)", re.DOTALL)
_MAX_CHAR = 0x10FFFF


class RegexRefused(ConfigError):
    """The meaning of a regular expression in Java is not certain."""


class RegexUnusable(RegexRefused):
    """No member can use a regular expression: Java refuses it, or it takes too many steps."""


@dataclass(slots=True)
class CharsetText:
    """A text with a read position; beyond its end it returns empty strings."""

    text: str
    position: int = 0

    @property
    def done(self) -> bool:
        """Whether everything has been read."""
        return self.position >= len(self.text)

    def peek(self, ahead: int = 0) -> str:
        """Return the next character, or the one ``ahead`` characters later; consume nothing."""
        return self.text[self.position + ahead : self.position + ahead + 1]

    def next(self) -> str:
        """Consume the next character and return it."""
        char = self.peek()
        self.position += 1
        return char

    def take(self, expected: str) -> bool:
        """Consume this text if it comes next; return whether it did."""
        if not self.text.startswith(expected, self.position):
            return False
        self.position += len(expected)
        return True


def unquote(pattern: str) -> str:
    r"""Return the pattern with every ``\Q...\E`` escaped; without ``\E`` up to the end."""
    out: list[str] = []
    position = 0
    while position < len(pattern):
        if pattern.startswith("\\Q", position):
            end = pattern.find("\\E", position + 2)
            quoted = pattern[position + 2 : end if end >= 0 else None]
            out.extend(f"\\x{{{ord(char):x}}}" for char in quoted)
            position += len(quoted) + 4
        else:
            step = 2 if pattern[position] == "\\" else 1
            out.append(pattern[position : position + step])
            position += step
    return "".join(out)


def literal_escape(reader: CharsetText) -> str:
    """Consume the text after a backslash; return the character that it denotes."""
    for syntax, base in ((_OCTAL, 8), (_HEX, 16)):
        if found := syntax.match(reader.text, reader.position):
            reader.position = found.end()
            code = int(next(filter(None, found.groups())), base)
            if code > _MAX_CHAR or 0xD800 <= code <= 0xDFFF:
                raise RegexRefused(f"\\{found.group()} is not a character")
            return chr(code)
    char = reader.next()
    if char in _CONTROLS:
        return _CONTROLS[char]
    if not char or not char.isascii() or char.isalnum():
        raise RegexRefused(f"\\{char} is not supported")
    return char


def property_set(reader: CharsetText, *, fold: bool) -> Chars:
    r"""Consume ``p{Alpha}`` or the like, after the backslash; return its characters."""
    found = _PROPERTY.match(reader.text, reader.position)
    name = found.group(2) if found else ""
    if found is None or name not in _PROPERTIES:
        requested = _ANY_PROPERTY.match(reader.text, reader.position)
        raise RegexRefused(f"\\{requested.group() if requested else 'p'} is not supported")
    if fold and name in ("Lower", "Upper"):
        raise RegexRefused(f"\\p{{{name}}} without regard to case differs between JVMs")
    reader.position = found.end()
    return _PROPERTIES[name] if found.group(1) == "p" else ALL - _PROPERTIES[name]


def read_class(reader: CharsetText, *, fold: bool) -> Chars:
    """Consume a character class, after the opening bracket; return its characters."""
    negated = reader.take("^")
    chars: set[str] = set()
    first = True
    while first or reader.peek() != "]":
        if reader.done:
            raise RegexUnusable("unclosed character class")
        chars |= _class_element(reader, fold=fold)
        first = False
    reader.next()
    return ALL - chars if negated else frozenset(chars)


def _class_element(reader: CharsetText, *, fold: bool) -> Chars:
    if reader.peek() == "[":
        raise RegexRefused("a character class inside a character class is not supported")
    if reader.peek() == "&" and reader.peek(1) == "&":
        raise RegexRefused("an intersection (&&) of character classes is not supported")
    if reader.peek() == "\\" and (reader.peek(1) in CLASS_ESCAPES or reader.peek(1) in ("p", "P")):
        return _class_shorthand(reader, fold=fold)
    low = _class_char(reader)
    high = low
    if reader.peek() == "-" and reader.peek(1) not in ("]", "["):
        reader.next()
        high = _class_char(reader)
    if high < low:
        raise RegexUnusable(f"the range {low!r} to {high!r} is empty")
    between = {char for char in ALL if low <= char <= high} if low < high else {low} & ALL
    if fold:
        between |= {other for char in between for other in (char.lower(), char.upper())}
    return frozenset(between)


def _class_shorthand(reader: CharsetText, *, fold: bool) -> Chars:
    reader.next()
    if reader.peek() in ("p", "P"):
        return property_set(reader, fold=fold)
    letter = reader.next()
    if letter in "hHvV" and reader.peek() == "-":
        raise RegexRefused(f"\\{letter}- in a character class differs between JVMs")
    return CLASS_ESCAPES[letter]


def _class_char(reader: CharsetText) -> str:
    if reader.done:
        raise RegexUnusable("unclosed character class")
    char = reader.next()
    return literal_escape(reader) if char == "\\" else char


def is_foldable(char: str) -> bool:
    """Return whether the character has another form that differs only in case."""
    return char.isascii() and char.isalpha()
