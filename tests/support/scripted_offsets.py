"""An offset store in memory that fails where it is told to."""

from collections.abc import Mapping, Sequence

from zkconsumer.errors import ZkConsumerError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.store import FetchedOffset, commit_refusal


class ScriptedOffsets:
    """An ``OffsetStore``.

    Attributes:
        kept: what it keeps.
        unreadable: what is said of these partitions instead of an offset.
        refused: why these partitions are not committed.
        broken: raised by every call.
        commits: each commit: what it was about, and its two flags.
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
        self.commits.append(({tp: it.offset for tp, it in offsets.items()}, retry, rewind))
        if self.broken is not None:
            raise self.broken
        outcome = {tp: self.refused.get(tp) or commit_refusal(tp, it) for tp, it in offsets.items()}
        self.kept |= {tp: it.offset for tp, it in offsets.items() if outcome[tp] is None}
        return outcome
