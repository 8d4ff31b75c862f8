"""An offset store in memory, for tests of migrations."""

from collections.abc import Callable, Collection, Mapping, Sequence

from zkconsumer.errors import RequestTimedOut
from zkconsumer.model import TopicPartition
from zkconsumer.offsets.migration.plan import Offset, OffsetStorage
from zkconsumer.offsets.store import FetchedOffset


class MemoryOffsetStore:
    """A ``GroupOffsetStore`` in memory, with faults.

    Attributes:
        offsets: the stored offsets.
        member_ids: the members that it reports.
        refused: partitions whose writes fail, with the reason.
        fail_after: the number of partitions that are written before the response is lost.
        unreadable: whether reading fails.
        on_members: called before the members are reported.
        on_write: called after a write.
    """

    def __init__(
        self, name: OffsetStorage, offsets: Mapping[TopicPartition, Offset] | None = None
    ) -> None:
        self.name = name
        self.offsets: dict[TopicPartition, Offset] = dict(offsets or {})
        self.member_ids: list[str] = []
        self.refused: dict[TopicPartition, str] = {}
        self.fail_after: int | None = None
        self.unreadable = False
        self.on_members: Callable[[], None] = lambda: None
        self.on_write: Callable[[], None] = lambda: None

    def stored(self, topics: Collection[str] | None) -> dict[TopicPartition, FetchedOffset]:
        """See ``GroupOffsetStore``."""
        return self.fetch([tp for tp in self.offsets if topics is None or tp.topic in topics])

    def fetch(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, FetchedOffset]:
        """See ``GroupOffsetStore``."""
        if self.unreadable:
            raise RequestTimedOut("no answer")
        offsets = {tp: self.offsets.get(tp) for tp in partitions}
        return {
            tp: FetchedOffset(None)
            if offset is None
            else FetchedOffset(offset.offset, None, offset.metadata)
            for tp, offset in offsets.items()
        }

    def write(self, offsets: Mapping[TopicPartition, Offset]) -> dict[TopicPartition, str | None]:
        """See ``GroupOffsetStore``."""
        for count, (tp, offset) in enumerate(offsets.items()):
            if count == self.fail_after:
                self.on_write()
                raise RequestTimedOut("the answer was lost")
            if tp not in self.refused:
                self.offsets[tp] = offset
        self.on_write()
        return {tp: self.refused.get(tp) for tp in offsets}

    def members(self) -> list[str]:
        """See ``GroupOffsetStore``."""
        self.on_members()
        return list(self.member_ids)
