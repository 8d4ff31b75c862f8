"""Filters of messages, for the page and for ``consume``. Pure.

- ``text``: the key or the value contains it, ignoring case;
- ``key:text``, ``value:text``, ``header:name``, ``header:name=text``;
- ``.user.id == 42``, ``$.items[0].name ~ "jam"``, ``.error``: a path into JSON or Avro, with one of
  ``== != < <= > >= ~`` (contains); alone, it tests whether the path exists.
"""

import json
import operator
import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from zkconsumer.browse.decoding import DecodedBytes
from zkconsumer.browse.message import SeenMessage
from zkconsumer.errors import ConfigError

_MAX_CHARS: Final = 1_000
_STEP: Final = re.compile(r"\.([^\s.\[\]=!<>~]+)|\[(\d{1,9})\]|\[\"([^\"]*)\"\]")
_TERM: Final = re.compile(r"\s*(==|!=|<=|>=|<|>|~)\s*(.*)", re.DOTALL)
_ABSENT: Final = object()
_ORDERS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


MessageFilter = Callable[[SeenMessage], bool]


def parse_filters(texts: Iterable[str]) -> MessageFilter | None:
    """Return a filter for messages that pass all of these filters; None if all are blank.

    Raises:
        ConfigError: a filter can't be parsed.
    """
    filters = [parse_filter(text) for text in texts if text.strip()]
    if not filters:
        return None
    return lambda message: all(passes(message) for passes in filters)


def parse_filter(text: str) -> MessageFilter:
    """Parse one filter.

    Raises:
        ConfigError: it is too long, or its path or comparison can't be parsed.
    """
    text = text.strip()
    if len(text) > _MAX_CHARS:
        raise ConfigError(f"a filter has at most {_MAX_CHARS} characters")
    if text.startswith((".", "$.", "$[")):
        return _path_filter(text)
    where, colon, rest = text.partition(":")
    if colon and where == "header":
        return _header_filter(rest)
    if colon and where == "key":
        return lambda message: _contains(message.key, rest.lower())
    if colon and where == "value":
        return lambda message: _contains(message.value, rest.lower())
    wanted = text.lower()
    return lambda message: _contains(message.key, wanted) or _contains(message.value, wanted)


def _contains(decoded: DecodedBytes, wanted: str) -> bool:
    return decoded.kind != "null" and wanted in decoded.text.lower()


def _header_filter(text: str) -> MessageFilter:
    name, equals, rest = text.partition("=")
    wanted = rest.lower()
    return lambda message: any(
        header == name and (not equals or _contains(value, wanted))
        for header, value in message.headers
    )


def _path_filter(text: str) -> MessageFilter:
    steps: list[str | int] = []
    at = 1 if text[0] == "$" else 0
    while found := _STEP.match(text, at):
        name, number, quoted = found.groups()
        steps.append(int(number) if number else quoted if name is None else name)
        at = found.end()
    if text[at:].strip() == "" and steps:
        return lambda message: _found(message, steps, lambda _: True)
    term = _TERM.fullmatch(text, at)
    if term is None or not steps:
        raise ConfigError(
            f"the filter {text!r} is not a path into JSON: write .name.other[0] == 42, with one of "
            "== != < <= > >= ~, or the path alone"
        )
    test = _test(term[1], _literal(term[2]))
    return lambda message: _found(message, steps, test)


def _found(
    message: SeenMessage, steps: Iterable[str | int], test: Callable[[object], bool]
) -> bool:
    """Return whether a value at the path passes the test."""
    try:
        found = _at(message.value.value, steps)
        return found is not _ABSENT and test(found)
    except RecursionError:
        return False  # nested too deep to be searched


def _literal(text: str) -> object:
    """Return a JSON literal, or the text itself."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text.strip()


def _test(sign: str, wanted: object) -> Callable[[object], bool]:
    match sign:
        case "==":
            return lambda found: found == wanted
        case "!=":
            return lambda found: found != wanted
        case "~":
            part = wanted.lower() if isinstance(wanted, str) else json.dumps(wanted)
            return lambda found: part in str(found).lower()
        case _:
            compare = _ORDERS[sign]

    def ordered(found: object) -> bool:
        try:
            return compare(found, wanted)
        except TypeError:
            return False  # a text can't be compared with a number

    return ordered


def _at(value: object, steps: Iterable[str | int]) -> object:
    for step in steps:
        in_list = isinstance(step, int) and isinstance(value, list) and step < len(value)
        if not in_list and not (isinstance(value, dict) and step in value):
            return _ABSENT
        value = value[step]  # type: ignore[index]
    return value
