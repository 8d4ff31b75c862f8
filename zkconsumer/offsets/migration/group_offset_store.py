"""What a place that offsets are carried from or to must offer."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from zkconsumer.model import TopicPartition
from zkconsumer.offsets.migration.plan import Offset, OffsetStorage
from zkconsumer.offsets.store import FetchedOffset


class GroupOffsetStore(Protocol):
    """One group's offsets in one place. Thread: one at a time.

    Raises (every method):
        ZkConsumerError: no answer in time, or access denied.
    """

    @property
    def name(self) -> OffsetStorage:
        """Which place it is."""
        ...

    def stored(self, topics: Collection[str] | None) -> dict[TopicPartition, FetchedOffset]:
        """Every offset of the group, of these topics or all; what has none may be left out."""
        ...

    def fetch(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, FetchedOffset]:
        """The offsets of these partitions, every one of them."""
        ...

    def write(self, offsets: Mapping[TopicPartition, Offset]) -> dict[TopicPartition, str | None]:
        """Set offsets, or take them away (None); why not, where it failed.

        Where the place can tell, an offset that somebody committed since it was last read here is
        left alone. A partition may have been written all the same; only reading tells.
        """
        ...

    def members(self) -> list[str]:
        """The living members of the group, as far as this place knows of them, each as a text."""
        ...
