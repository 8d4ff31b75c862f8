"""A drain's own files."""

import pytest

from tests.fakes.memory_storage import MemoryStorage
from zkconsumer.drain.journal import BatchJournal
from zkconsumer.errors import DrainError


def test_a_mark_written_twice_by_one_attempt_is_its_own() -> None:
    """A store may write the mark and lose its response; a foreign mark of that name is refused."""
    storage = MemoryStorage()
    journal = BatchJournal(storage)
    journal.start_attempt(3, "mine")
    journal.start_attempt(3, "mine")
    (mark,) = storage.content
    storage.content[mark] = b"its"
    with pytest.raises(DrainError, match="another drain is running on"):
        journal.start_attempt(3, "mine")
