"""The lines of a history: operations, each a JSON object with process, type, ``f`` and time."""

import json
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TYPES = frozenset({"invoke", "ok", "fail", "info"})
HEAD = ("process", "type", "f", "time")


class BadHistory(Exception):
    """A line violates the format; the message names the line."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One line of a history.

    Attributes:
        line: the line's number, from 1.
        process: the actor; at most one of its operations is pending at a time.
        type: ``invoke``, or the completion: ``ok``, ``fail`` (certainly without effect), ``info``
            (outcome unknown, or a fact without an invocation).
        f: the function's name.
        time: milliseconds since the epoch.
        fields: all other fields.
    """

    line: int
    process: str
    type: str
    f: str
    time: int
    fields: Mapping[str, Any]

    def get(self, name: str) -> Any:
        """Return a field.

        Raises:
            BadHistory: it is missing.
        """
        if name not in self.fields:
            raise BadHistory(f"line {self.line}: a {self.f} without {name!r}")
        return self.fields[name]


def read_file(path: Path) -> list[Operation]:
    """Read a history of newline-delimited JSON.

    Raises:
        BadHistory: a line is not an operation.
    """
    with path.open(encoding="utf-8") as lines:
        return list(parse(_objects(lines)))


def write_file(path: Path, operations: Iterable[Mapping[str, Any]]) -> None:
    """Write operations, one a line."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(
            f"{json.dumps(operation, separators=(',', ':'))}\n" for operation in operations
        )


def of_topics(
    operations: Iterable[Mapping[str, Any]], topics: Container[str]
) -> Iterator[dict[str, Any]]:
    """Yield the operations, restricted to some topics.

    Args:
        operations: a history's operations.
        topics: the topics that the recording test writes to.
    """
    for operation in operations:
        if operation.get("topic") is not None and operation["topic"] not in topics:
            continue
        left = {
            name: [value for value in operation[name] if value[0] in topics]
            for name in ("messages", "offsets")
            if name in operation
        }
        if left.get("offsets") != []:
            yield {**operation, **left}


def parse(objects: Iterable[object]) -> Iterator[Operation]:
    """Check the common fields of decoded operations.

    Raises:
        BadHistory: an object is not an operation.
    """
    for line, item in enumerate(objects, 1):
        if not isinstance(item, Mapping):
            raise BadHistory(f"line {line}: not an object")
        missing = [name for name in HEAD if name not in item]
        if missing:
            raise BadHistory(f"line {line}: without {', '.join(missing)}")
        if item["type"] not in TYPES:
            raise BadHistory(f"line {line}: type {item['type']!r} is none of {sorted(TYPES)}")
        fields = {name: value for name, value in item.items() if name not in HEAD}
        yield Operation(line, item["process"], item["type"], item["f"], int(item["time"]), fields)


def _objects(lines: Iterable[str]) -> Iterator[object]:
    for number, line in enumerate(lines, 1):
        try:
            yield json.loads(line)
        except json.JSONDecodeError as error:
            raise BadHistory(f"line {number}: not JSON: {error}") from None
