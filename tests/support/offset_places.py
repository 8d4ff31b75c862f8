"""A place of offsets in memory, for tests of migrations."""

from collections.abc import Callable, Collection, Mapping, Sequence

from zkconsumer.errors import RequestTimedOut
from zkconsumer.model import TopicPartition
from zkconsumer.offsets.migration.plan import Offset, OffsetStorage
from zkconsumer.offsets.store import FetchedOffset


class MemoryPlace:
    """A ``GroupOffsetStore``.

    Attributes:
        held: what it holds.
        present: the members, as it tells them.
        refused: partitions whose writes fail, and why.
        fail_after: so many partitions are written, then the answer to the write is lost.
        unreadable: whether reading fails.
        on_members: called before it tells its members.
        on_write: called after a write.
    """

    def __init__(
        self, name: OffsetStorage, held: Mapping[TopicPartition, Offset] | None = None
    ) -> None:
        self.name = name
        self.held: dict[TopicPartition, Offset] = dict(held or {})
        self.present: list[str] = []
        self.refused: dict[TopicPartition, str] = {}
        self.fail_after: int | None = None
        self.unreadable = False
        self.on_members: Callable[[], None] = lambda: None
        self.on_write: Callable[[], None] = lambda: None

    def stored(self, topics: Collection[str] | None) -> dict[TopicPartition, FetchedOffset]:
        """See ``GroupOffsetStore``."""
        return self.fetch([tp for tp in self.held if topics is None or tp.topic in topics])

    def fetch(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, FetchedOffset]:
        """See ``GroupOffsetStore``."""
        if self.unreadable:
            raise RequestTimedOut("no answer")
        held = {tp: self.held.get(tp) for tp in partitions}
        return {
            tp: FetchedOffset(None) if it is None else FetchedOffset(it.offset, None, it.metadata)
            for tp, it in held.items()
        }

    def write(self, offsets: Mapping[TopicPartition, Offset]) -> dict[TopicPartition, str | None]:
        """See ``GroupOffsetStore``."""
        for count, (tp, it) in enumerate(offsets.items()):
            if count == self.fail_after:
                self.on_write()
                raise RequestTimedOut("the answer was lost")
            if tp not in self.refused:
                self.held[tp] = it
        self.on_write()
        return {tp: self.refused.get(tp) for tp in offsets}

    def members(self) -> list[str]:
        """See ``GroupOffsetStore``."""
        self.on_members()
        return list(self.present)
