"""Offsets of this topic, and not of a former one of its name.

A topic that was deleted and created again starts at offset 0, and its log may already be longer
than what a group had read of the former one: nothing is out of range, and all in front of the old
offset would be passed over in silence. What tells:

- in ZooKeeper, the transactions: an offset that was written before the topic's node was created is
  the former topic's. Nothing has to be remembered, so it holds for offsets of Scala members, too.
- in Kafka, a mark: offsets that come without a text of the caller's get one that names the
  transaction which created the topic's node. Scala members neither read nor keep it. What has a
  text of the caller's, or none, is believed. (From 0.10 on brokers drop those of deleted topics.)

A commit is refused where the topic's node is another one than when the offset was fetched: it would
make an offset of the former topic look new. The node is looked at right before the write; ZooKeeper
has no check that would make both one step. An offset which a Scala member writes after the topic
was created again, out of what it had read before, can't be told from one that is right.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.store import FetchedOffset, OffsetStore

TopicCzxids = Callable[[Collection[str]], Mapping[str, int]]
"""Which transaction created each topic's node, looked up now; may raise ``RegistryError``."""

_MOST: Final = 50
_MARK: Final = re.compile(r"zkconsumer:topic-czxid=([0-9a-f]{1,16})")


class TopicChecked:
    """An ``OffsetStore`` that gives and takes offsets of the topics that are there now.

    Args:
        store: where the offsets are.
        topic_czxids: looks at the topics' nodes.
    """

    def __init__(self, store: OffsetStore, topic_czxids: TopicCzxids) -> None:
        self._store = store
        self._topic_czxids = topic_czxids
        self._czxids: dict[TopicPartition, int] = {}

    @property
    def storage(self) -> str:
        """See ``OffsetStore``."""
        return self._store.storage

    @property
    def expires(self) -> bool:
        """See ``OffsetStore``."""
        return self._store.expires

    def fetch(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, FetchedOffset]:
        """See ``OffsetStore``; an offset of the former topic is given as ``former``."""
        # The offsets first: one that is written between the two reads is not taken for old.
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
        """See ``OffsetStore``; what was fetched for a former topic is refused and not sent.

        Raises:
            RegistryError: the topics can't be looked at; nothing was sent.
            ZkConsumerError: see ``OffsetStore``.
        """
        if not offsets:
            return {}
        czxids = self._topic_czxids({tp.topic for tp in offsets})
        sent = {
            tp: self._marked(offset, czxids.get(tp.topic, self._czxids.get(tp)))
            for tp, offset in offsets.items()
            # A topic without a node is gone: what is written now is older than the next one, and in
            # Kafka the mark of the one that was read tells.
            if tp.topic not in czxids or self._czxids.get(tp, czxids[tp.topic]) == czxids[tp.topic]
        }
        outcome = self._store.commit(sent, retry=retry, rewind=rewind) if sent else {}
        return {tp: outcome[tp] if tp in sent else _refused(tp) for tp in offsets}

    def _marked(self, it: OffsetAndMetadata, czxid: int | None) -> OffsetAndMetadata:
        # Only Kafka forgets, and only Kafka keeps a text.
        if czxid is None or it.metadata or not self._store.expires:
            return it
        return it._replace(metadata=f"zkconsumer:topic-czxid={czxid:x}")


def of_this_topic(it: FetchedOffset, topic_czxid: int | None) -> FetchedOffset:
    """Return what was fetched, without an offset that is a former topic's, and without a mark.

    Args:
        it: as the store has it.
        topic_czxid: the transaction that created the topic's node; None where it has none.
    """
    mark = _MARK.fullmatch(it.metadata)
    if mark is not None:
        it = replace(it, metadata="")
    if topic_czxid is None or it.offset is None:
        return replace(it, topic_czxid=topic_czxid)
    written_before = it.written_zxid is not None and it.written_zxid < topic_czxid
    marked_otherwise = mark is not None and int(mark[1], 16) != topic_czxid
    if written_before or marked_otherwise:
        return FetchedOffset(None, former=it.offset, topic_czxid=topic_czxid)
    return replace(it, topic_czxid=topic_czxid)


def former_topic_warnings(
    offsets: Mapping[TopicPartition, int],
    follows: str = "auto.offset.reset decides where to go on",
) -> dict[str, str]:
    """Return for each topic what to tell of offsets that are the former topic's; none is used.

    Args:
        offsets: what was committed, or read up to, of each partition.
        follows: what is done now.
    """
    by_topic: dict[str, list[str]] = {}
    for tp, offset in sorted(offsets.items()):
        by_topic.setdefault(tp.topic, []).append(f"partition {tp.partition}: {offset}")
    return {
        topic: "was deleted and created again since it was read, so what is known of it is of the "
        f"former topic ({_listed(names)}): {follows}"
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
