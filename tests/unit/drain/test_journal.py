"""A drain's own files."""

import pytest

from tests.fakes.memory_storage import MemoryStorage
from zkconsumer.drain.journal import BatchJournal
from zkconsumer.errors import DrainError


def test_a_mark_whose_answer_got_lost_is_ones_own() -> None:
    """The store wrote it and was asked again; another's mark under the same name is refused."""
    storage = MemoryStorage()
    journal = BatchJournal(storage)
    journal.start_attempt(3, "mine")
    journal.start_attempt(3, "mine")
    (mark,) = storage.content
    storage.content[mark] = b"its"
    with pytest.raises(DrainError, match="another drain is running on"):
        journal.start_attempt(3, "mine")
