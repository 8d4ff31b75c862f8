r"""Reads and writes JSON as Scala members do. Pure.

Source: Kafka 0.8.2.2 ``kafka.utils.Json``, ``Utils.JSONEscapeString`` and Scala's own parser.

The Scala parser is laxer than JSON in one way and stricter in another, and both matter in a group:

- A backslash that starts no known escape stands for itself, so the regex ``t\d+`` that 0.8.0 and
  0.8.1 write without escaping is read back. What looks like an escape is one: the word boundary
  ``\b`` of such a regex is read as a backspace by every Scala member. We must expand the regex as
  they do, so we read it as they do.
- A number must be a plain 32-bit integer. Any other number, in any field, makes the whole text
  unreadable. We read such text, and report that Scala members can't.
"""

import json
import re
from dataclasses import dataclass
from typing import TypeGuard

_KNOWN_ESCAPE_OR_BACKSLASH = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')
_MIN_INT, _MAX_INT = -(2**31), 2**31 - 1
_LONGEST_NUMBER = 64
_SHORT_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "/": "\\/",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}
_TO_ESCAPE = re.compile('["\\\\/\x00-\x1f\x7f-\x9f]')

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]


@dataclass(frozen=True, slots=True)
class JsonObject:
    """A JSON object as it was read.

    Attributes:
        fields: the fields in written order; of a repeated field, the last value.
        scala_problem: why Scala fails to read the same text, or None.
    """

    fields: dict[str, JsonValue]
    scala_problem: str | None


@dataclass(frozen=True, slots=True)
class Malformed:
    """A node whose content can't be used: the reason, and what to do if that helps."""

    reason: str


def parse_object(data: bytes) -> JsonObject | Malformed:
    """Read the bytes of a node as a JSON object; never raises, whatever they are."""
    if not data:
        return Malformed("the node is empty")
    # As Java decodes: bytes that are not UTF-8 become replacement characters.
    text = data.decode("utf-8", "replace")
    problems: list[str] = []

    def number(token: str) -> int | float:
        if len(token) > _LONGEST_NUMBER:
            raise ValueError(f"a number of {len(token)} digits")
        is_integer = token.lstrip("-").isdigit()
        value = int(token) if is_integer else float(token)
        if not (isinstance(value, int) and _MIN_INT <= value <= _MAX_INT):
            problems.append(f"the number {token} is not a 32-bit integer")
        return value

    try:
        parsed = json.loads(
            _KNOWN_ESCAPE_OR_BACKSLASH.sub(_double_lone_backslash, text),
            strict=False,
            parse_int=number,
            parse_float=number,
            parse_constant=_refuse_constant,
        )
    except (ValueError, RecursionError) as error:
        return Malformed(f"not JSON: {error}")
    if not isinstance(parsed, dict):
        return Malformed(f"JSON, but a {type(parsed).__name__} instead of an object")
    return JsonObject(parsed, problems[0] if problems else None)


def is_int(value: JsonValue) -> TypeGuard[int]:
    """Return whether a value is a whole number; a boolean is not."""
    return isinstance(value, int) and not isinstance(value, bool)


def escape(text: str) -> str:
    """Escape text as Kafka 0.8.2 escapes a regex: the slash too, and C1 control characters."""
    return _TO_ESCAPE.sub(lambda match: _escaped(match[0]), text)


def _escaped(character: str) -> str:
    return _SHORT_ESCAPES.get(character) or f"\\u{ord(character):04x}"


def _double_lone_backslash(match: re.Match[str]) -> str:
    return "\\\\" if match[0] == "\\" else match[0]


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON value")
