"""The interface of a store that offsets are migrated from or to."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from zkconsumer.model import TopicPartition
from zkconsumer.offsets.migration.plan import Offset, OffsetStorage
from zkconsumer.offsets.store import FetchedOffset


class GroupOffsetStore(Protocol):
    """One group's offsets in one storage. Thread: one at a time.

    Raises (every method):
        ZkConsumerError: no response in time, or access denied.
    """

    @property
    def name(self) -> OffsetStorage:
        """The storage."""
        ...

    def stored(self, topics: Collection[str] | None) -> dict[TopicPartition, FetchedOffset]:
        """Return all offsets of the group, or those of these topics; omit partitions without."""
        ...

    def fetch(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, FetchedOffset]:
        """Return the offset of each of these partitions."""
        ...

    def write(self, offsets: Mapping[TopicPartition, Offset]) -> dict[TopicPartition, str | None]:
        """Set offsets, or remove them (None); return for each why it failed, or None.

        An offset that was committed since it was last read here is not overwritten, if the storage
        can detect that. One that failed may have been written nevertheless; only reading shows.
        """
        ...

    def members(self) -> list[str]:
        """Return the live members of the group that this store knows, as text."""
        ...
