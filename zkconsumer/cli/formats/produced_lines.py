"""Parses lines of ``zkconsumer produce`` as records to write. Pure.

A line of text is a value, or a key and a value with a separator between them. A line of JSON has
the fields that ``zkconsumer consume --output json`` prints; other fields are ignored.
"""

import base64
import binascii
import json
from typing import Any, NamedTuple

from zkconsumer.errors import ConfigError


class ProducedLine(NamedTuple):
    """A record to write.

    Attributes:
        key: the key; None for null.
        value: the value; None for null.
        headers: the names and values of headers.
        partition: the partition; None: it is chosen by the key.
        timestamp_ms: the timestamp in ms since the epoch; None: now.
    """

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int | None = None
    timestamp_ms: int | None = None


def text_line(line: bytes, *, separator: bytes | None = None) -> ProducedLine:
    """Parse a line of text.

    Args:
        line: the line, without its end.
        separator: the bytes between key and value; None: the line is the value, the key is null.

    Raises:
        ConfigError: the line has no separator.

    Example:
        >>> text_line(b"user 7:/index.html", separator=b":")[:2]
        (b'user 7', b'/index.html')
    """
    if separator is None:
        return ProducedLine(None, line)
    key, found, value = line.partition(separator)
    if not found:
        raise ConfigError(f"no key: the line has no {separator.decode(errors='replace')!r}")
    return ProducedLine(key, value)


def json_line(line: bytes) -> ProducedLine:
    """Parse a line of JSON.

    ``key`` and ``value`` are texts or null; other JSON values are written as JSON. If
    ``key_encoding`` or ``value_encoding`` is ``base64``, the text is decoded to bytes.

    Raises:
        ConfigError: the line is no JSON object, or a field has an invalid value.

    Example:
        >>> json_line(b'{"key": "a", "value": {"n": 1}, "headers": {"h": "x"}}')[:3]
        (b'a', b'{"n":1}', (('h', b'x'),))
    """
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise ConfigError('not a JSON object such as {"key": "a", "value": "b"}')
    return ProducedLine(
        _bytes(fields, "key"),
        _bytes(fields, "value"),
        _headers(fields.get("headers")),
        _number(fields, "partition"),
        _number(fields, "timestamp"),
    )


def _bytes(fields: dict[str, Any], name: str) -> bytes | None:
    value = fields.get(name)
    match value, fields.get(f"{name}_encoding"):
        case None, _:
            return None
        case str(), "base64":
            try:
                return base64.b64decode(value, validate=True)
            except (binascii.Error, ValueError):
                raise ConfigError(f"{name} is not base64") from None
        case str(), None:
            return value.encode("utf-8", "surrogatepass")
        case _, None:
            return _encoded(name, json.dumps(value, ensure_ascii=False, separators=(",", ":")))
        case _:
            raise ConfigError(f"{name}_encoding can only be base64")


def _headers(given: object) -> tuple[tuple[str, bytes | None], ...]:
    match given:
        case None:
            return ()
        case dict():
            pairs = list(given.items())
        case list() if all(isinstance(pair, list) and len(pair) == 2 for pair in given):
            pairs = [(pair[0], pair[1]) for pair in given]
        case _:
            raise ConfigError("headers is neither an object nor a list of pairs")
    for name, value in pairs:
        if not isinstance(name, str) or not isinstance(value, str | None):
            raise ConfigError("headers need strings as names, and strings or null as values")
    return tuple(
        (name, None if value is None else _encoded(f"header {name!a}", value))
        for name, value in pairs
    )


def _encoded(name: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ConfigError(f"{name} is not valid text: {error.reason}") from None


def _number(fields: dict[str, Any], name: str) -> int | None:
    value = fields.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    raise ConfigError(f"{name} is not a number of at least 0")
