"""Caches the results of a source of schemas, so that each key is requested only now and then."""

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
"""How long absence is cached: a registry may lag behind the producers that register schemas."""

_Result = SchemaDefinition | tuple[type[UnusableSchema], str] | None


class SchemaMemory:
    """The cached results of one registry. Thread: any.

    Args:
        clock: measures the age of results; None for the system's.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._lock = threading.Lock()
        # For unusable schemas, the class and text of the error.
        self._results: Recent[SchemaKey, tuple[_Result]] = Recent(clock or SystemClock())

    def get(self, key: SchemaKey) -> "tuple[_Result] | None":
        """Return a cached result; None if there is none, or it is too old."""
        with self._lock:
            return self._results.get(key)

    def put(self, key: SchemaKey, result: "_Result") -> None:
        """Cache a result."""
        size = result.chars if isinstance(result, SchemaDefinition) else 0
        with self._lock:
            self._results.put(key, (result,), size, ABSENT_MS if _may_come(result) else None)


class RememberedSchemas:
    """A ``SchemaSource`` that requests each key from another source at most every five minutes.

    A schema that is absent, or lacks a referenced schema, is requested again after ``ABSENT_MS``.
    Failed requests are not cached. The cache is bounded, since producers can write any id.

    Args:
        source: the source to request from.
        memory: the cache, which other sources of the same registry can share; None: a new one.
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
