"""The interface of a store of committed offsets.

An offset is always the next one to read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.topic_name import is_topic_name


@dataclass(frozen=True, slots=True)
class FetchedOffset:
    """A store's entry for one partition.

    Attributes:
        offset: the committed offset; None: there is none, or it can't be used.
        error: why the entry can't be used, with the remedy; None: no error.
        metadata: the committer's text, if the store keeps one.
        former: the offset of a former topic of this name, which was deleted; then ``offset`` is
            None.
        written_zxid: the ZooKeeper transaction that wrote it; None: not in ZooKeeper.
        topic_czxid: the transaction that created the topic's node, if it was read.
    """

    offset: int | None
    error: str | None = None
    metadata: str = ""
    former: int | None = None
    written_zxid: int | None = field(default=None, compare=False)
    topic_czxid: int | None = field(default=None, compare=False)


class CommittedFurther(str):
    """Why an offset was not written: another client has committed a larger one since."""

    __slots__ = ()


class OffsetStore(Protocol):
    """Keeps the committed offsets of one group. Thread: control only."""

    @property
    def storage(self) -> str:
        """The storage: ``zookeeper``, ``kafka`` or ``both``."""
        ...

    @property
    def expires(self) -> bool:
        """Whether an offset expires unless it is committed again from time to time."""
        ...

    def fetch(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, FetchedOffset]:
        """Return the committed offset of every requested partition, each with its own error.

        Raises:
            ZkConsumerError: nothing could be read.
        """
        ...

    def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        *,
        retry: bool = False,
        rewind: bool = False,
    ) -> dict[TopicPartition, str | None]:
        """Write offsets; return for every partition None if it was committed, else why not.

        Args:
            offsets: the offsets to write.
            retry: retry offsets that failed with a retriable error, within the store's limits.
            rewind: overwrite a larger offset that another member committed.

        Raises:
            ZkConsumerError: the outcome is unknown for all offsets (no response, session lost).
        """
        ...


def commit_refusal(tp: TopicPartition, offset: OffsetAndMetadata) -> str | None:
    """Return why no store accepts this offset, or None."""
    if not is_topic_name(tp.topic) or not 0 <= tp.partition < 2**31:
        return f"{tp} can't be a partition of a topic"
    return None if 0 <= offset.offset < 2**63 else f"{offset.offset} can't be an offset"
