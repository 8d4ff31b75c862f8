"""Remembers the results of a source of schemas, so that none is requested twice in a while."""

import threading
from typing import Final

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.schemas.definition import (
    AbsentReference,
    SchemaDefinition,
    SchemaSource,
    UnusableSchema,
)
from zkconsumer.schemas.recent import Recent
from zkconsumer.schemas.wire_format import SchemaKey

ABSENT_MS: Final = 5_000
"""Of what is not there: a registry may lag behind the producers that register schemas with it."""

_Result = SchemaDefinition | tuple[type[UnusableSchema], str] | None


class SchemaMemory:
    """What one registry has said of schemas. Thread: any.

    Args:
        clock: measures the age of results; None for the system's.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._lock = threading.Lock()
        # Of a schema that can't be used the kind of its error and the text.
        self._results: Recent[SchemaKey, tuple[_Result]] = Recent(clock or SystemClock())

    def get(self, key: SchemaKey) -> "tuple[_Result] | None":
        """Return a result; None if it is not known, or too old."""
        with self._lock:
            return self._results.get(key)

    def put(self, key: SchemaKey, result: "_Result") -> None:
        """Remember a result."""
        size = result.chars if isinstance(result, SchemaDefinition) else 0
        with self._lock:
            self._results.put(key, (result,), size, ABSENT_MS if _may_come(result) else None)


class RememberedSchemas:
    """See ``SchemaSource``: requests a key of another one at most once in five minutes.

    What is not there, or lacks a reference, is requested again after ``ABSENT_MS``.

    Requests that failed are not remembered. Ids in values are anybody's, so memory is bounded.

    Args:
        source: is requested.
        memory: of its results, which others of the same registry can share; None: its own.
    """

    def __init__(self, source: SchemaSource, memory: SchemaMemory | None = None) -> None:
        self._source = source
        self._memory = memory or SchemaMemory()

    def find(self, key: SchemaKey) -> SchemaDefinition | None:
        """See ``SchemaSource``."""
        known = self._memory.get(key)
        if known is None:
            known = (self._look_up(key),)
            self._memory.put(key, known[0])
        result = known[0]
        if isinstance(result, tuple):
            kind, text = result
            raise kind(text)
        return result

    def _look_up(self, key: SchemaKey) -> _Result:
        try:
            return self._source.find(key)
        except UnusableSchema as error:
            return type(error), str(error)


def _may_come(result: _Result) -> bool:
    return result is None or (isinstance(result, tuple) and result[0] is AbsentReference)
