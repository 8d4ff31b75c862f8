"""Which partitions came to be while we looked."""

from dataclasses import replace

from zkconsumer.cluster.new_partitions import LEAST_LAPSE_MS, NewPartitions
from zkconsumer.cluster.view import NOTHING_KNOWN, ClusterView
from zkconsumer.error_codes import ErrorCode
from zkconsumer.model import TopicPartition

T = frozenset({"t"})
T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
U0 = TopicPartition("u", 0)


def view(*partitions: TopicPartition, **errors: ErrorCode) -> ClusterView:
    """A cluster with these."""
    topics = {tp.topic for tp in partitions}
    return replace(
        NOTHING_KNOWN,
        partitions={
            topic: tuple(tp.partition for tp in partitions if tp.topic == topic) for topic in topics
        },
        errors=errors,
    )


def on_snapshot(*views: ClusterView, watched: frozenset[str] | None = T) -> NewPartitions:
    """After these looks, a second apart."""
    new = NewPartitions()
    new.watch(watched)
    for number, cluster_view in enumerate(views):
        new.saw(cluster_view, watched, number * 1_000)
    return new


def test_what_was_there_at_the_first_look_is_old() -> None:
    """Before it nothing is known."""
    assert on_snapshot().is_new(T0, 0) is None
    new = on_snapshot(view(T0, T1), view(T0, T1))
    assert (new.is_new(T0, 0), new.is_new(T1, 0)) == (False, False)


def test_what_was_added_is_new_also_before_we_see_it() -> None:
    """Others of the group may hear of it first."""
    new = on_snapshot(view(T0, T1))
    assert new.is_new(T2, 0) is True
    assert on_snapshot(view(T0, T1), view(T0, T1, T2)).is_new(T2, 1_000) is True


def test_a_topic_that_was_missing_is_new() -> None:
    """Also one that is just being made, by our asking perhaps."""
    for code in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LEADER_NOT_AVAILABLE):
        missing = view(t=code)
        assert on_snapshot(missing).is_new(T0, 0) is True
        assert on_snapshot(missing, view(T0)).is_new(T0, 1_000) is True


def test_a_topic_that_was_away_is_another_one_when_it_is_back() -> None:
    """It was deleted, and made again."""
    missing = view(t=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert on_snapshot(view(T0), missing, view(T0)).is_new(T0, 2_000) is True


def test_what_may_not_be_seen_says_nothing() -> None:
    """The policy holds, at once; a later look counts as the first."""
    refused = view(t=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    assert on_snapshot(refused).is_new(T0, 0) is False
    assert on_snapshot(refused, view(T0)).is_new(T0, 0) is False
    assert on_snapshot(refused, view(T0)).is_new(T1, 0) is True
    assert on_snapshot(view(T0), refused, view(T0, T1)).is_new(T1, 2_000) is True


def test_where_all_topics_are_watched_whoever_appears_is_new() -> None:
    """A pattern's topics that come later."""
    new = on_snapshot(view(T0), view(T0, U0), watched=None)
    assert (new.is_new(T0, 0), new.is_new(U0, 1_000)) == (False, True)
    assert on_snapshot(view(T0), watched=None).is_new(U0, 0) is True
    assert on_snapshot(watched=None).is_new(U0, 0) is None


def test_what_was_seen_long_ago_is_new_no_more() -> None:
    """Others read it, perhaps without committing: a rebalance is not to bring all of it again."""
    new = on_snapshot(view(T0), view(T0, T1))
    assert new.is_new(T1, 1_000 + LEAST_LAPSE_MS - 1) is True
    assert new.is_new(T1, 1_000 + LEAST_LAPSE_MS) is False


def test_who_comes_back_to_a_topic_looks_anew() -> None:
    """Unless it was watched all the time."""
    new = on_snapshot(view(T0))
    new.watch(frozenset({"u"}))
    assert new.is_new(T1, 0) is None
    new.watch(frozenset({"t", "u"}))
    new.saw(view(T0, T1, U0), frozenset({"t", "u"}), 1_000)
    assert new.is_new(T1, 1_000) is False
    new.watch(T)
    new.saw(view(T0, T1, T2), T, 2_000)
    assert (new.is_new(T1, 2_000), new.is_new(T2, 2_000)) == (False, True)
