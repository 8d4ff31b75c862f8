"""The lines of a history: operations, each a JSON object with process, type, ``f`` and time."""

import json
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TYPES = frozenset({"invoke", "ok", "fail", "info"})
HEAD = ("process", "type", "f", "time")


class BadHistory(Exception):
    """A line of the history is not what the format says; the text names the line."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One line.

    Attributes:
        line: its number, from 1.
        process: who did it; at most one of its operations is pending at a time.
        type: ``invoke``; or how it ended: ``ok``, ``fail`` (it surely did not happen), ``info``
            (in doubt, or a fact that nobody invoked).
        f: the function.
        time: milliseconds since the epoch.
        fields: everything else.
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
    """Write operations, a line each."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(
            f"{json.dumps(operation, separators=(',', ':'))}\n" for operation in operations
        )


def of_topics(
    operations: Iterable[Mapping[str, Any]], topics: Container[str]
) -> Iterator[dict[str, Any]]:
    """Yield the operations without what they say of other topics.

    Args:
        operations: of a history.
        topics: those whose messages are written by whoever has recorded it.
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
    """Check the heads of operations that were decoded already.

    Raises:
        BadHistory: one of them is not an operation.
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
