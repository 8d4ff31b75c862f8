"""Checks the arguments of ``send``, before anything is queued. Pure."""

import math
from collections.abc import Iterable
from contextlib import suppress
from operator import index
from typing import SupportsIndex

from zkconsumer.errors import IllegalArgumentError
from zkconsumer.printable import shown
from zkconsumer.records.rows import Headers


def text_of(name: str, given: object) -> str:
    """Return an argument that must be a non-empty string.

    Raises:
        IllegalArgumentError: it is not.
    """
    if not isinstance(given, str) or not given:
        raise IllegalArgumentError(f"{name} is {shown(given)}: give a string")
    return given


def timestamp_of(given: SupportsIndex) -> int:
    """Return a timestamp in milliseconds since the epoch.

    Raises:
        IllegalArgumentError: it is not a whole number, or out of range.
    """
    with suppress(TypeError):
        if 0 <= (stamp := index(given)) < 1 << 63:
            return stamp
    raise IllegalArgumentError(
        f"timestamp_ms is {shown(given)}: give whole milliseconds since the epoch"
    )


def seconds_of(timeout: object) -> float | None:
    """Return a time-out in seconds; None: no limit.

    Raises:
        IllegalArgumentError: it is not a number.
    """
    if timeout is None or (isinstance(timeout, int | float) and not math.isnan(timeout)):
        return timeout
    raise IllegalArgumentError(f"timeout is {shown(timeout)}: give seconds, or None")


def bytes_of(name: str, given: object) -> bytes | None:
    """Return the bytes of a key or a value; None for null.

    Raises:
        IllegalArgumentError: the argument is not bytes.
    """
    if given is None or type(given) is bytes:
        return given
    if isinstance(given, bytes | bytearray | memoryview):
        return bytes(given)
    raise IllegalArgumentError(
        f"the {name} is {type(given).__name__}: give bytes, or a {name}_serializer that returns "
        "bytes"
    )


def headers_of(given: Iterable[object] | None) -> Headers:
    """Return the names and values of headers.

    Raises:
        IllegalArgumentError: the argument is not iterable, or one of its items is not a header.
    """
    if given is not None and not isinstance(given, Iterable):
        raise IllegalArgumentError(f"headers are {shown(given)}: give a list of (name, bytes)")
    headers: list[tuple[str, bytes | None]] = []
    for header in given or ():
        match header:
            case (str(name), bytes() | None as value):
                headers.append((name, value))
            case _:
                raise IllegalArgumentError(f"header {shown(header)}: give (name, bytes)")
    return tuple(headers)
