"""A topic is gone when it stays away, not when one broker has not heard of it yet."""

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


def is_some(topics: VanishedTopics) -> bool:
    """Whether some are away now."""
    return topics.some


def test_kept_for_a_moment() -> None:
    """As it was, until it is back or stays away; whether it was asked for by name or not."""
    for watched, message in ((BOTH, WITHOUT_T), (None, replace(WITHOUT_T, errors={}))):
        topics = VanishedTopics()
        assert topics.kept(NOTHING_KNOWN, FULL, watched, 0) == FULL
        assert not is_some(topics)
        assert topics.kept(FULL, message, watched, 1_000) == FULL
        assert is_some(topics)
        assert topics.kept(FULL, message, watched, 999 + BELIEVED_AFTER_MS) == FULL
        assert topics.kept(FULL, message, watched, 1_000 + BELIEVED_AFTER_MS) == message
        assert topics.kept(message, message, watched, 1_001 + BELIEVED_AFTER_MS) == message
        assert not is_some(topics)


def test_back_in_between() -> None:
    """The time begins anew when it vanishes again."""
    topics = VanishedTopics()
    assert topics.kept(FULL, WITHOUT_T, BOTH, 0) == FULL
    assert topics.kept(FULL, FULL, BOTH, 2_000) == FULL
    assert topics.kept(FULL, WITHOUT_T, BOTH, 4_000) == FULL


def test_a_leader_that_is_away_leads_nothing() -> None:
    """Unless no broker was named at all, as brokers of 0.8 do that know of no topic."""
    topics = VanishedTopics()
    kept = topics.kept(FULL, replace(WITHOUT_T, brokers={1: B1}), BOTH, 0)
    assert kept.leaders == {T0: B1, U0: B1}
    assert kept.leaderless == {T1: 5}
    assert topics.kept(FULL, replace(NOTHING_KNOWN, brokers={}), BOTH, 1).leaders == FULL.leaders


def test_what_is_believed_at_once() -> None:
    """Another error, such as missing rights; and what nobody watches any more."""
    topics = VanishedTopics()
    refused = replace(WITHOUT_T, errors={"t": 29})
    assert topics.kept(FULL, refused, BOTH, 0) == refused
    unwatched = replace(WITHOUT_T, errors={})
    assert topics.kept(FULL, unwatched, frozenset({"u"}), 0) == unwatched
