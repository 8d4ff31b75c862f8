"""An offset store in memory that fails where a test wants it."""

from collections.abc import Mapping, Sequence

from zkconsumer.errors import ZkConsumerError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.store import FetchedOffset, commit_refusal


class ScriptedOffsets:
    """An ``OffsetStore`` in memory, with faults.

    Attributes:
        kept: the stored offsets.
        unreadable: by partition, the error that a fetch returns instead of an offset.
        refused: by partition, the reason why a commit is refused.
        broken: the error that every call raises.
        commits: each commit: its offsets, ``retry`` and ``rewind``.
    """

    def __init__(self, storage: str = "scripted", *, expires: bool = False) -> None:
        self.storage = storage
        self.expires = expires
        self.kept: dict[TopicPartition, int] = {}
        self.unreadable: dict[TopicPartition, str] = {}
        self.refused: dict[TopicPartition, str] = {}
        self.broken: ZkConsumerError | None = None
        self.commits: list[tuple[dict[TopicPartition, int], bool, bool]] = []

    def fetch(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, FetchedOffset]:
        """See ``OffsetStore``."""
        if self.broken is not None:
            raise self.broken
        return {
            tp: FetchedOffset(None, self.unreadable[tp])
            if tp in self.unreadable
            else FetchedOffset(self.kept.get(tp))
            for tp in partitions
        }

    def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        *,
        retry: bool = False,
        rewind: bool = False,
    ) -> dict[TopicPartition, str | None]:
        """See ``OffsetStore``."""
        self.commits.append(({tp: offset.offset for tp, offset in offsets.items()}, retry, rewind))
        if self.broken is not None:
            raise self.broken
        outcome = {
            tp: self.refused.get(tp) or commit_refusal(tp, offset) for tp, offset in offsets.items()
        }
        self.kept |= {tp: offset.offset for tp, offset in offsets.items() if outcome[tp] is None}
        return outcome
