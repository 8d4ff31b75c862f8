"""Remembers the results of a source of schemas, so that none is requested twice in a while."""

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


class RememberedSchemas:
    """See ``SchemaSource``: requests a key of another one at most once in five minutes.

    What is not there, or lacks a reference, is requested again after ``ABSENT_MS``.

    Requests that failed are not remembered. Ids in values are anybody's, so memory is bounded.

    Args:
        clock: measures the age of results; None for the system's.
    """

    def __init__(self, source: SchemaSource, clock: Clock | None = None) -> None:
        self._source = source
        # Of a schema that can't be used the kind of its error and the text.
        self._results: Recent[SchemaKey, tuple[_Result]] = Recent(clock or SystemClock())

    def find(self, key: SchemaKey) -> SchemaDefinition | None:
        """See ``SchemaSource``."""
        known = self._results.get(key)
        if known is None:
            known = (self._look_up(key),)
            size = known[0].chars if isinstance(known[0], SchemaDefinition) else 0
            self._results.put(key, known, size, ABSENT_MS if _may_come(known[0]) else None)
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
