"""A topic is considered deleted once it stays missing, not if one broker does not know it yet."""

from dataclasses import replace

from zkconsumer.cluster.vanished import BELIEVED_AFTER_MS, VanishedTopics
from zkconsumer.cluster.view import NOTHING_KNOWN, ClusterView
from zkconsumer.model import Broker, TopicPartition

B1, B2 = Broker(1, "h1", 1), Broker(2, "h2", 2)
T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
BOTH = frozenset({"t", "u"})

FULL = ClusterView(
    brokers={1: B1, 2: B2},
    leaders={T0: B1, T1: B2, U0: B1},
    leaderless={},
    errors={},
    partitions={"t": (0, 1), "u": (0,)},
    leader_epochs={T0: 4, T1: 5, U0: 6},
    internal=frozenset({"t"}),
    topic_ids={"t": b"t" * 16, "u": b"u" * 16},
)
WITHOUT_T = replace(
    FULL,
    leaders={U0: B1},
    errors={"t": 3},
    partitions={"u": (0,)},
    leader_epochs={U0: 6},
    internal=frozenset(),
    topic_ids={"u": b"u" * 16},
)


def has_some(topics: VanishedTopics) -> bool:
    """Return whether any topics are missing now."""
    return topics.some


def test_a_vanished_topic_is_kept_for_a_while() -> None:
    """A vanished topic keeps its leaders until it stays missing long enough to be believed."""
    for watched, message in ((BOTH, WITHOUT_T), (None, replace(WITHOUT_T, errors={}))):
        topics = VanishedTopics()
        assert topics.kept(NOTHING_KNOWN, FULL, watched, 0) == FULL
        assert not has_some(topics)
        assert topics.kept(FULL, message, watched, 1_000) == FULL
        assert has_some(topics)
        assert topics.kept(FULL, message, watched, 999 + BELIEVED_AFTER_MS) == FULL
        assert topics.kept(FULL, message, watched, 1_000 + BELIEVED_AFTER_MS) == message
        assert topics.kept(message, message, watched, 1_001 + BELIEVED_AFTER_MS) == message
        assert not has_some(topics)


def test_a_topic_that_reappears_resets_the_time() -> None:
    """When a topic reappears and vanishes again, the time starts over."""
    topics = VanishedTopics()
    assert topics.kept(FULL, WITHOUT_T, BOTH, 0) == FULL
    assert topics.kept(FULL, FULL, BOTH, 2_000) == FULL
    assert topics.kept(FULL, WITHOUT_T, BOTH, 4_000) == FULL


def test_a_kept_topic_loses_leaders_that_are_not_live() -> None:
    """A kept partition has no leader if its broker is gone, unless no broker was named at all."""
    topics = VanishedTopics()
    kept = topics.kept(FULL, replace(WITHOUT_T, brokers={1: B1}), BOTH, 0)
    assert kept.leaders == {T0: B1, U0: B1}
    assert kept.leaderless == {T1: 5}
    assert topics.kept(FULL, replace(NOTHING_KNOWN, brokers={}), BOTH, 1).leaders == FULL.leaders


def test_other_errors_and_unwatched_topics_are_believed_at_once() -> None:
    """Another error, or a topic that is no longer watched, takes effect at once."""
    topics = VanishedTopics()
    refused = replace(WITHOUT_T, errors={"t": 29})
    assert topics.kept(FULL, refused, BOTH, 0) == refused
    unwatched = replace(WITHOUT_T, errors={})
    assert topics.kept(FULL, unwatched, frozenset({"u"}), 0) == unwatched
