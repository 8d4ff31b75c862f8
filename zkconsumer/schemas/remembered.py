"""Remembers the results of a source of schemas, so that none is requested twice in a while."""

from typing import Final

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.schemas.definition import SchemaDefinition
from zkconsumer.schemas.recent import Recent
from zkconsumer.schemas.source import SchemaSource, UnusableSchema
from zkconsumer.schemas.wire_format import SchemaKey

ABSENT_MS: Final = 5_000
"""Of what is not there: a registry may lag behind the producers that register schemas with it."""


class RememberedSchemas:
    """See ``SchemaSource``: requests a key of another one at most once in five minutes.

    What is not there, or lacks a reference, is requested again after ``ABSENT_MS``.

    Requests that failed are not remembered. Ids in values are anybody's, so memory is bounded.

    Args:
        clock: measures the age of results; None for the system's.
    """

    def __init__(self, source: SchemaSource, clock: Clock | None = None) -> None:
        self._source = source
        # Texts say why a schema can't be used.
        self._results: Recent[SchemaKey, tuple[SchemaDefinition | str | None]] = Recent(
            clock or SystemClock()
        )

    def find(self, key: SchemaKey) -> SchemaDefinition | None:
        """See ``SchemaSource``."""
        known = self._results.get(key)
        if known is None:
            known = (self._look_up(key),)
            if isinstance(known[0], SchemaDefinition):
                self._results.put(key, known, known[0].chars)
            else:
                self._results.put(key, known, 0, ABSENT_MS)
        result = known[0]
        if isinstance(result, str):
            raise UnusableSchema(result)
        return result

    def _look_up(self, key: SchemaKey) -> SchemaDefinition | str | None:
        try:
            return self._source.find(key)
        except UnusableSchema as error:
            return str(error)
