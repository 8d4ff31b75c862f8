"""Commits offsets of owned partitions only, for stores without checks of their own.

This is a check, not a fence. ZooKeeper can check the owner in the transaction that writes
(``fenced``); Kafka can't. A member that is delayed between the check of the owner nodes and the
commit, until after its session has expired, still overwrites what the next owner has committed: the
group then reads some messages again. Without the check, the time in which that can happen would
begin with the last event of the member's session; with it, it is milliseconds.
"""

from collections.abc import Callable, Collection, Mapping, Sequence

from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.store import FetchedOffset, OffsetStore

StillOwned = Callable[[Sequence[TopicPartition]], Collection[TopicPartition]]
"""Returns the partitions among these that are still ours; may raise ``RegistryError``."""


class OwnedOnly:
    """An ``OffsetStore`` that commits only partitions that are still ours."""

    def __init__(self, store: OffsetStore, still_owned: StillOwned) -> None:
        self._store = store
        self._still_owned = still_owned

    @property
    def storage(self) -> str:
        """See ``OffsetStore``."""
        return self._store.storage

    @property
    def expires(self) -> bool:
        """See ``OffsetStore``."""
        return self._store.expires

    def fetch(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, FetchedOffset]:
        """See ``OffsetStore``: anyone may read."""
        return self._store.fetch(partitions)

    def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        *,
        retry: bool = False,
        rewind: bool = False,
    ) -> dict[TopicPartition, str | None]:
        """Commit the offsets of partitions that are ours; refuse the rest without sending them.

        Raises:
            RegistryError: the owners can't be read; nothing was sent.
            ZkConsumerError: see ``OffsetStore``.
        """
        if not offsets:
            return {}
        owned = set(self._still_owned(list(offsets)))
        ours = {tp: offset for tp, offset in offsets.items() if tp in owned}
        outcome = self._store.commit(ours, retry=retry, rewind=rewind) if ours else {}
        return {tp: outcome[tp] if tp in ours else _refused(tp) for tp in offsets}


def _refused(tp: TopicPartition) -> str:
    return (
        f"the owner node of {tp} is gone, or another member's: a commit could overwrite that of "
        "the new owner; messages since the last commit are delivered again there"
    )
