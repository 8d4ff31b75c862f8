"""What a place that keeps committed offsets must offer.

An offset is always the next one to read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.zk.paths import is_topic_name


@dataclass(frozen=True, slots=True)
class FetchedOffset:
    """What the store holds for one partition.

    Attributes:
        offset: the committed offset; None where there is none, or none that can be used.
        error: why the entry can't be used, with what to do; None where there is nothing wrong.
        metadata: the committer's text, where the store keeps one.
        former: an offset is there, but it is of the former topic of this name, which was deleted
            since: what ``offset`` would be else.
        written_zxid: the ZooKeeper transaction that wrote it; None where the store has none.
        topic_czxid: the transaction that created the topic's node, where it was looked up.
    """

    offset: int | None
    error: str | None = None
    metadata: str = ""
    former: int | None = None
    written_zxid: int | None = field(default=None, compare=False)
    topic_czxid: int | None = field(default=None, compare=False)


class CommittedFurther(str):
    """Why an offset was not written: somebody else has committed a larger one meanwhile."""

    __slots__ = ()


class OffsetStore(Protocol):
    """Keeps committed offsets of one group. Thread: the control thread only."""

    @property
    def storage(self) -> str:
        """Where the offsets are: ``zookeeper``, ``kafka`` or ``both``."""
        ...

    @property
    def expires(self) -> bool:
        """Whether an offset is forgotten if it is not committed again from time to time."""
        ...

    def fetch(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, FetchedOffset]:
        """The committed offset of every partition asked for, each with its own error.

        Raises:
            ZkConsumerError: nothing could be read at all.
        """
        ...

    def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        *,
        retry: bool = False,
        rewind: bool = False,
    ) -> dict[TopicPartition, str | None]:
        """Write offsets; for every partition None if it was committed, else why not.

        Args:
            offsets: what to write.
            retry: try again, within the store's limits, what failed for a reason that passes.
            rewind: the caller wants exactly this, though somebody else committed further.

        Raises:
            ZkConsumerError: nothing is known about any of them (no answer, session lost).
        """
        ...


def commit_refusal(tp: TopicPartition, it: OffsetAndMetadata) -> str | None:
    """Why no store takes this; None where there is nothing wrong."""
    if not is_topic_name(tp.topic) or not 0 <= tp.partition < 2**31:
        return f"{tp} can't be a partition of a topic"
    return None if 0 <= it.offset < 2**63 else f"{it.offset} can't be an offset"
