"""Offsets of a deleted topic are distinguished from those of its new namesake."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

from tests.fakes.memory_zk import MemoryZkServer
from tests.support.scripted_offsets import ScriptedOffsets
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.dual import larger
from zkconsumer.offsets.store import FetchedOffset
from zkconsumer.offsets.topic_checked import TopicChecked, former_topic_warnings, of_this_topic
from zkconsumer.offsets.zookeeper import ZookeeperOffsetStore
from zkconsumer.zk.topic_nodes import topic_czxids

T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)
U0 = TopicPartition("u", 0)


class Topics:
    """The transactions that created the topics' nodes."""

    def __init__(self, **czxids: int) -> None:
        self.czxids = czxids

    def __call__(self, topics: Collection[str]) -> dict[str, int]:
        """Return those of the requested topics."""
        return {topic: czxid for topic, czxid in self.czxids.items() if topic in topics}


class MemoryOffsets(ScriptedOffsets):
    """A store that keeps metadata, too, as Kafka does.

    Attributes:
        entries: the stored offsets.
    """

    def __init__(self, *, expires: bool = False) -> None:
        super().__init__(expires=expires)
        self.entries: dict[TopicPartition, OffsetAndMetadata] = {}

    def fetch(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, FetchedOffset]:
        """See ``OffsetStore``."""
        found = {tp: self.entries.get(tp) for tp in partitions}
        return {
            tp: FetchedOffset(None)
            if entry is None
            else FetchedOffset(entry.offset, None, entry.metadata)
            for tp, entry in found.items()
        }

    def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        *,
        retry: bool = False,
        rewind: bool = False,
    ) -> dict[TopicPartition, str | None]:
        """See ``OffsetStore``."""
        self.entries |= offsets
        return super().commit(offsets, retry=retry, rewind=rewind)


def test_an_offset_older_than_its_topic_belongs_to_the_former_topic() -> None:
    """Only ZooKeeper's transaction ids count, whoever wrote the offset."""
    server = MemoryZkServer()
    store = server.connect()
    checked = TopicChecked(ZookeeperOffsetStore(store, "g"), partial(topic_czxids, store))
    store.create("/brokers/topics/t", b"{}", ephemeral=False)
    store.set_or_create_many({"/consumers/g/offsets/t/0": b"200", "/consumers/g/offsets/u/0": b"9"})
    assert checked.fetch([T0, T1]) == {T0: FetchedOffset(200), T1: FetchedOffset(None)}
    store.delete_many(["/brokers/topics/t"])
    # For a topic without a node it can't be known.
    assert checked.fetch([T0, U0]) == {T0: FetchedOffset(200), U0: FetchedOffset(9)}
    store.create("/brokers/topics/t", b"{}", ephemeral=False)
    assert checked.fetch([T0]) == {T0: FetchedOffset(None, former=200)}
    assert checked.commit({T0: OffsetAndMetadata(3)}) == {T0: None}
    assert checked.fetch([T0]) == {T0: FetchedOffset(3)}


def test_an_offset_fetched_for_a_former_topic_is_not_committed() -> None:
    """It would make an offset of the former topic look new; other offsets are written."""
    topics = Topics(t=5, u=6)
    inner = MemoryOffsets()
    checked = TopicChecked(inner, topics)
    checked.fetch([T0, U0])
    topics.czxids["t"] = 9
    outcome = checked.commit({T0: OffsetAndMetadata(200), U0: OffsetAndMetadata(7)})
    assert outcome[U0] is None
    refused = "topic t was deleted and created again since t-0 was read"
    assert str(outcome[T0]).startswith(refused)
    assert inner.entries == {U0: OffsetAndMetadata(7)}
    # Once it is fetched for the new topic it may be committed.
    checked.fetch([T0])
    assert checked.commit({T0: OffsetAndMetadata(1)}) == {T0: None}


def test_an_offset_of_a_deleted_topic_may_be_committed() -> None:
    """A deleted topic is handed over; the next topic's node will be newer than the offset."""
    topics = Topics(t=5)
    checked = TopicChecked(ScriptedOffsets(), topics)
    checked.fetch([T0])
    topics.czxids.clear()
    assert checked.commit({T0: OffsetAndMetadata(200)}) == {T0: None}


def test_an_offset_committed_while_the_topic_is_deleted_is_not_the_next_topics() -> None:
    """This holds in Kafka, too, where an offset without a mark would be trusted."""
    topics, kept = Topics(t=7), MemoryOffsets(expires=True)
    checked = TopicChecked(kept, topics)
    checked.fetch([T0])
    topics.czxids = {}
    assert checked.commit({T0: OffsetAndMetadata(200)}) == {T0: None}
    topics.czxids = {"t": 9}
    assert checked.fetch([T0]) == {T0: FetchedOffset(None, former=200, topic_czxid=9)}


def test_offsets_in_kafka_are_marked_unless_they_have_metadata() -> None:
    """The mark is never returned; with another topic's mark the offset counts as none."""
    topics = Topics(t=0x5F)
    inner = MemoryOffsets(expires=True)
    checked = TopicChecked(inner, topics)
    checked.commit({T0: OffsetAndMetadata(200), T1: OffsetAndMetadata(7, "my text")})
    assert inner.entries == {
        T0: OffsetAndMetadata(200, "zkconsumer:topic-czxid=5f"),
        T1: OffsetAndMetadata(7, "my text"),
    }
    assert checked.fetch([T0, T1]) == {
        T0: FetchedOffset(200),
        T1: FetchedOffset(7, metadata="my text"),
    }
    topics.czxids["t"] = 0x60
    assert TopicChecked(inner, topics).fetch([T0, T1]) == {
        T0: FetchedOffset(None, former=200),
        # The caller's own metadata leaves no space for a mark: the offset is trusted.
        T1: FetchedOffset(7, metadata="my text"),
    }


def test_the_zxid_of_an_offset_in_zookeeper_holds_for_its_copy_in_kafka() -> None:
    """Both offsets were written together; one that only Kafka has is judged by its mark."""
    in_zookeeper = FetchedOffset(200, written_zxid=3)
    assert larger(FetchedOffset(200), in_zookeeper).written_zxid == 3
    assert larger(FetchedOffset(201), in_zookeeper).written_zxid is None
    assert larger(FetchedOffset(199), in_zookeeper).written_zxid == 3
    both = larger(FetchedOffset(200), in_zookeeper)
    assert of_this_topic(both, 4) == FetchedOffset(None, former=200)
    assert of_this_topic(both, 3) == FetchedOffset(200)


def test_errors_and_missing_offsets_stay_unchanged() -> None:
    """They are passed on unchanged, whatever the topic."""
    broken = FetchedOffset(None, "no number")
    assert of_this_topic(broken, 9) == broken
    assert of_this_topic(FetchedOffset(None), 9) == FetchedOffset(None)
    marked = FetchedOffset(5, metadata="zkconsumer:topic-czxid=7")
    assert of_this_topic(marked, None) == replace(marked, metadata="")


def test_a_warning_names_topics_partitions_and_offsets() -> None:
    """There is one per topic; of very many partitions only some are listed."""
    texts = former_topic_warnings({T1: 7, T0: 200, U0: 3})
    assert set(texts) == {"t", "u"}
    assert "(partition 0: 200, partition 1: 7): auto.offset.reset decides" in texts["t"]
    many = former_topic_warnings({TopicPartition("t", number): 1 for number in range(1000)})
    assert "partition 49: 1, ... (1000 in all)" in many["t"]
