"""Offsets of a topic that was deleted and created again: told from those of the topic that is."""

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
    """Which transactions created the topics' nodes."""

    def __init__(self, **czxids: int) -> None:
        self.czxids = czxids

    def __call__(self, topics: Collection[str]) -> dict[str, int]:
        """Those of the topics asked for."""
        return {topic: it for topic, it in self.czxids.items() if topic in topics}


class MemoryOffsets(ScriptedOffsets):
    """Keeps texts, too, as Kafka does.

    Attributes:
        entries: what is kept.
    """

    def __init__(self, *, expires: bool = False) -> None:
        super().__init__(expires=expires)
        self.entries: dict[TopicPartition, OffsetAndMetadata] = {}

    def fetch(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, FetchedOffset]:
        """See ``OffsetStore``."""
        found = {tp: self.entries.get(tp) for tp in partitions}
        return {
            tp: FetchedOffset(None) if it is None else FetchedOffset(it.offset, None, it.metadata)
            for tp, it in found.items()
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


def test_an_offset_written_before_its_topic_was_created_is_the_former_ones() -> None:
    """By ZooKeeper's numbers alone; whoever wrote it."""
    server = MemoryZkServer()
    store = server.connect()
    checked = TopicChecked(ZookeeperOffsetStore(store, "g"), partial(topic_czxids, store))
    store.create("/brokers/topics/t", b"{}", ephemeral=False)
    store.set_or_create_many({"/consumers/g/offsets/t/0": b"200", "/consumers/g/offsets/u/0": b"9"})
    assert checked.fetch([T0, T1]) == {T0: FetchedOffset(200), T1: FetchedOffset(None)}
    store.delete_many(["/brokers/topics/t"])
    # A topic without a node: nobody can say.
    assert checked.fetch([T0, U0]) == {T0: FetchedOffset(200), U0: FetchedOffset(9)}
    store.create("/brokers/topics/t", b"{}", ephemeral=False)
    assert checked.fetch([T0]) == {T0: FetchedOffset(None, former=200)}
    assert checked.commit({T0: OffsetAndMetadata(3)}) == {T0: None}
    assert checked.fetch([T0]) == {T0: FetchedOffset(3)}


def test_what_was_fetched_for_a_former_topic_is_not_committed() -> None:
    """It would make an offset of the former topic look new; others are written."""
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
    # Once it is fetched for the new one, it may be written.
    checked.fetch([T0])
    assert checked.commit({T0: OffsetAndMetadata(1)}) == {T0: None}


def test_a_topic_that_is_gone_may_be_committed() -> None:
    """The hand-over of a deleted topic; the next topic's node will be newer than the offset."""
    topics = Topics(t=5)
    checked = TopicChecked(ScriptedOffsets(), topics)
    checked.fetch([T0])
    topics.czxids.clear()
    assert checked.commit({T0: OffsetAndMetadata(200)}) == {T0: None}


def test_what_is_committed_while_the_topic_is_gone_is_not_the_next_ones() -> None:
    """In Kafka, too, where the offset would be believed if it bore no mark."""
    topics, kept = Topics(t=7), MemoryOffsets(expires=True)
    checked = TopicChecked(kept, topics)
    checked.fetch([T0])
    topics.czxids = {}
    assert checked.commit({T0: OffsetAndMetadata(200)}) == {T0: None}
    topics.czxids = {"t": 9}
    assert checked.fetch([T0]) == {T0: FetchedOffset(None, former=200, topic_czxid=9)}


def test_offsets_in_kafka_are_marked_where_the_caller_has_no_text() -> None:
    """The mark is never shown; with another topic's the offset counts as none."""
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
        # The caller's own text leaves no room for a mark: believed.
        T1: FetchedOffset(7, metadata="my text"),
    }


def test_what_zookeeper_knows_of_a_write_holds_for_its_copy_in_kafka() -> None:
    """Offsets in both are written as one; one that Kafka alone has is judged by its mark."""
    in_zookeeper = FetchedOffset(200, written_zxid=3)
    assert larger(FetchedOffset(200), in_zookeeper).written_zxid == 3
    assert larger(FetchedOffset(201), in_zookeeper).written_zxid is None
    assert larger(FetchedOffset(199), in_zookeeper).written_zxid == 3
    both = larger(FetchedOffset(200), in_zookeeper)
    assert of_this_topic(both, 4) == FetchedOffset(None, former=200)
    assert of_this_topic(both, 3) == FetchedOffset(200)


def test_errors_and_missing_offsets_stay_what_they_are() -> None:
    """They are passed on unchanged, whatever the topic."""
    broken = FetchedOffset(None, "no number")
    assert of_this_topic(broken, 9) == broken
    assert of_this_topic(FetchedOffset(None), 9) == FetchedOffset(None)
    marked = FetchedOffset(5, metadata="zkconsumer:topic-czxid=7")
    assert of_this_topic(marked, None) == replace(marked, metadata="")


def test_a_warning_names_topics_partitions_and_offsets() -> None:
    """One for each topic; of very many partitions only some."""
    texts = former_topic_warnings({T1: 7, T0: 200, U0: 3})
    assert set(texts) == {"t", "u"}
    assert "(partition 0: 200, partition 1: 7): auto.offset.reset decides" in texts["t"]
    many = former_topic_warnings({TopicPartition("t", number): 1 for number in range(1000)})
    assert "partition 49: 1, ... (1000 in all)" in many["t"]
