"""Rejects committed offsets of a former topic of the same name.

A topic that was deleted and created again starts at offset 0, and its log may already be longer
than the part of the former topic that a group had read. Then nothing is out of range, and
everything before the old offset would be skipped silently. The offsets are distinguished:

- in ZooKeeper, by transactions: an offset written before the topic's node was created is the former
  topic's. Nothing extra is stored, so this works for offsets of Scala members, too.
- in Kafka, by a mark: offsets without metadata of the caller get the transaction that created the
  topic's node as metadata. Scala members neither read nor keep it. Offsets with metadata of the
  caller, or with none, are accepted. (From 0.10 on brokers drop the offsets of deleted topics.)

A commit is refused if the topic's node is not the one of the time when the offset was fetched: the
commit would make an offset of the former topic look new. The node is read right before the write;
ZooKeeper has no check that would make both one step. An offset that a Scala member writes after the
topic was created again, from what it had read before, can't be distinguished from a correct one.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.store import FetchedOffset, OffsetStore

TopicCzxids = Callable[[Collection[str]], Mapping[str, int]]
"""Returns the transaction that created each topic's current node; may raise ``RegistryError``."""

_MOST: Final = 50
_MARK: Final = re.compile(r"zkconsumer:topic-czxid=([0-9a-f]{1,16})")


class TopicChecked:
    """An ``OffsetStore`` that reads and writes offsets of present topics only."""

    def __init__(self, store: OffsetStore, topic_czxids: TopicCzxids) -> None:
        self.storage = store.storage
        self.expires = store.expires
        self._store = store
        self._topic_czxids = topic_czxids
        self._czxids: dict[TopicPartition, int] = {}

    def fetch(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, FetchedOffset]:
        """See ``OffsetStore``; an offset of the former topic becomes ``former``."""
        # The offsets are read first: one written between the two reads must not count as old.
        found = self._store.fetch(partitions)
        czxids = self._topic_czxids({tp.topic for tp in partitions}) if partitions else {}
        self._czxids |= {tp: czxids[tp.topic] for tp in partitions if tp.topic in czxids}
        return {tp: of_this_topic(fetched, czxids.get(tp.topic)) for tp, fetched in found.items()}

    def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        *,
        retry: bool = False,
        rewind: bool = False,
    ) -> dict[TopicPartition, str | None]:
        """See ``OffsetStore``; refuse offsets fetched for a former topic without sending them.

        Raises:
            RegistryError: the topics can't be read; nothing was sent.
            ZkConsumerError: see ``OffsetStore``.
        """
        if not offsets:
            return {}
        czxids = self._topic_czxids({tp.topic for tp in offsets})
        sent = {
            tp: self._marked(offset, czxids.get(tp.topic, self._czxids.get(tp)))
            for tp, offset in offsets.items()
            # A topic without a node was deleted: an offset written now is older than the next topic
            # of that name, and in Kafka the mark names the topic that was read.
            if tp.topic not in czxids or self._czxids.get(tp, czxids[tp.topic]) == czxids[tp.topic]
        }
        outcome = self._store.commit(sent, retry=retry, rewind=rewind) if sent else {}
        return {tp: outcome[tp] if tp in sent else _refused(tp) for tp in offsets}

    def _marked(self, offset: OffsetAndMetadata, czxid: int | None) -> OffsetAndMetadata:
        # Only Kafka expires offsets, and only Kafka keeps metadata.
        if czxid is None or offset.metadata or not self.expires:
            return offset
        return offset._replace(metadata=f"zkconsumer:topic-czxid={czxid:x}")


def of_this_topic(fetched: FetchedOffset, topic_czxid: int | None) -> FetchedOffset:
    """Return an entry without its mark; an offset of a former topic is moved to ``former``.

    Args:
        fetched: the entry in the store.
        topic_czxid: the transaction that created the topic's node; None: there is none.
    """
    mark = _MARK.fullmatch(fetched.metadata)
    if mark is not None:
        fetched = replace(fetched, metadata="")
    if topic_czxid is None or fetched.offset is None:
        return replace(fetched, topic_czxid=topic_czxid)
    written_before = fetched.written_zxid is not None and fetched.written_zxid < topic_czxid
    marked_otherwise = mark is not None and int(mark[1], 16) != topic_czxid
    if written_before or marked_otherwise:
        return FetchedOffset(None, former=fetched.offset, topic_czxid=topic_czxid)
    return replace(fetched, topic_czxid=topic_czxid)


def former_topic_warnings(
    offsets: Mapping[TopicPartition, int],
    follows: str = "auto.offset.reset decides where reading continues",
) -> dict[str, str]:
    """Return for each topic a warning about offsets of the former topic, which are not used.

    Args:
        offsets: the offset of each partition that was committed, or up to which it was read.
        follows: what happens now.
    """
    by_topic: dict[str, list[str]] = {}
    for tp, offset in sorted(offsets.items()):
        by_topic.setdefault(tp.topic, []).append(f"partition {tp.partition}: {offset}")
    return {
        topic: "was deleted and created again since it was read, so these offsets are those of "
        f"the former topic ({_listed(names)}): {follows}"
        for topic, names in by_topic.items()
    }


def _listed(names: Sequence[str]) -> str:
    more = f", ... ({len(names)} in all)" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more


def _refused(tp: TopicPartition) -> str:
    return (
        f"topic {tp.topic} was deleted and created again since {tp} was read: the offset is of the "
        "former topic"
    )
