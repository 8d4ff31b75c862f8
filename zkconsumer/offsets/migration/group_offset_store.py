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
        """Return every offset of the group, of these topics or all; others may be left out."""
        ...

    def fetch(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, FetchedOffset]:
        """Return the offsets of these partitions, every one of them."""
        ...

    def write(self, offsets: Mapping[TopicPartition, Offset]) -> dict[TopicPartition, str | None]:
        """Set offsets, or remove them (None); return for each why it failed, or None.

        If the storage can tell, an offset that was committed since it was last read here is left
        alone. A failed one may have been written all the same; only reading shows.
        """
        ...

    def members(self) -> list[str]:
        """Return the living members of the group that this store knows, each as a text."""
        ...
