"""What a source of schemas answered lately: nobody who knows it asks again."""

from typing import Final, Protocol

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.schemas.definition import SchemaDefinition
from zkconsumer.schemas.recent import Recent
from zkconsumer.schemas.source import UnusableSchema
from zkconsumer.schemas.wire_format import SchemaKey

MOST_REMEMBERED: Final = 1_000
REMEMBERED_CHARS: Final = 16 << 20
REMEMBERED_MS: Final = 300_000


class _Finder(Protocol):
    """A source of schemas, or a catalog."""

    def find(self, key: SchemaKey) -> SchemaDefinition | None:
        """See ``SchemaSource``."""
        ...


class RememberedSchemas:
    """See ``SchemaSource``: asks another one, for a key at most once in five minutes.

    What could not be told is not remembered. Ids in values are anybody's, so memory is bounded.

    Args:
        source: the other one.
        clock: says how old an answer is; None for the system's.
    """

    def __init__(self, source: _Finder, clock: Clock | None = None) -> None:
        self._source = source
        # Texts say why a schema can't be used.
        self._answers: Recent[SchemaKey, tuple[SchemaDefinition | str | None]] = Recent(
            clock or SystemClock(), MOST_REMEMBERED, REMEMBERED_CHARS, REMEMBERED_MS
        )

    def find(self, key: SchemaKey) -> SchemaDefinition | None:
        """See ``SchemaSource``."""
        known = self._answers.get(key)
        if known is None:
            known = (self._asked(key),)
            size = known[0].chars if isinstance(known[0], SchemaDefinition) else 0
            self._answers.put(key, known, size)
        answer = known[0]
        if isinstance(answer, str):
            raise UnusableSchema(answer)
        return answer

    def _asked(self, key: SchemaKey) -> SchemaDefinition | str | None:
        try:
            return self._source.find(key)
        except UnusableSchema as error:
            return str(error)
