"""Recognising partitions that were created while we watched."""

from dataclasses import replace

from zkconsumer.cluster.new_partitions import LEAST_LAPSE_MS, NewPartitions
from zkconsumer.cluster.view import NOTHING_KNOWN, ClusterView
from zkconsumer.error_codes import ErrorCode
from zkconsumer.model import TopicPartition

T = frozenset({"t"})
T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
U0 = TopicPartition("u", 0)


def view(*partitions: TopicPartition, **errors: ErrorCode) -> ClusterView:
    """Build a cluster view with these partitions and topic errors."""
    topics = {tp.topic for tp in partitions}
    return replace(
        NOTHING_KNOWN,
        partitions={
            topic: tuple(tp.partition for tp in partitions if tp.topic == topic) for topic in topics
        },
        errors=errors,
    )


def after_views(*views: ClusterView, watched: frozenset[str] | None = T) -> NewPartitions:
    """Return what is known after these views, a second apart."""
    new = NewPartitions()
    new.watch(watched)
    for number, cluster_view in enumerate(views):
        new.record(cluster_view, watched, number * 1_000)
    return new


def test_partitions_of_the_first_view_are_not_new() -> None:
    """Partitions in the first view are old; before it, nothing is known."""
    assert after_views().is_new(T0, 0) is None
    new = after_views(view(T0, T1), view(T0, T1))
    assert (new.is_new(T0, 0), new.is_new(T1, 0)) == (False, False)


def test_an_added_partition_is_new_even_before_we_see_it() -> None:
    """Other members of the group may see an added partition before this one does."""
    new = after_views(view(T0, T1))
    assert new.is_new(T2, 0) is True
    assert after_views(view(T0, T1), view(T0, T1, T2)).is_new(T2, 1_000) is True


def test_a_topic_that_was_missing_is_new() -> None:
    """A topic that was missing or still being created in the first view is new."""
    for code in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LEADER_NOT_AVAILABLE):
        missing = view(t=code)
        assert after_views(missing).is_new(T0, 0) is True
        assert after_views(missing, view(T0)).is_new(T0, 1_000) is True


def test_a_topic_that_comes_back_is_new() -> None:
    """A topic that vanished and came back was deleted and created again."""
    missing = view(t=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert after_views(view(T0), missing, view(T0)).is_new(T0, 2_000) is True


def test_an_unauthorized_topic_counts_as_not_seen() -> None:
    """A topic that may not be described is not new; the first view that shows it counts."""
    refused = view(t=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    assert after_views(refused).is_new(T0, 0) is False
    assert after_views(refused, view(T0)).is_new(T0, 0) is False
    assert after_views(refused, view(T0)).is_new(T1, 0) is True
    assert after_views(view(T0), refused, view(T0, T1)).is_new(T1, 2_000) is True


def test_with_all_topics_watched_a_topic_that_appears_is_new() -> None:
    """When all topics are watched, as for a pattern, a topic that appears later is new."""
    new = after_views(view(T0), view(T0, U0), watched=None)
    assert (new.is_new(T0, 0), new.is_new(U0, 1_000)) == (False, True)
    assert after_views(view(T0), watched=None).is_new(U0, 0) is True
    assert after_views(watched=None).is_new(U0, 0) is None


def test_a_new_partition_becomes_old() -> None:
    """Others may have read it without committing; a later rebalance must not read it all again."""
    new = after_views(view(T0), view(T0, T1))
    assert new.is_new(T1, 1_000 + LEAST_LAPSE_MS - 1) is True
    assert new.is_new(T1, 1_000 + LEAST_LAPSE_MS) is False


def test_a_topic_watched_again_starts_over() -> None:
    """A topic that was not watched for a while starts over; one watched throughout does not."""
    new = after_views(view(T0))
    new.watch(frozenset({"u"}))
    assert new.is_new(T1, 0) is None
    new.watch(frozenset({"t", "u"}))
    new.record(view(T0, T1, U0), frozenset({"t", "u"}), 1_000)
    assert new.is_new(T1, 1_000) is False
    new.watch(T)
    new.record(view(T0, T1, T2), T, 2_000)
    assert (new.is_new(T1, 2_000), new.is_new(T2, 2_000)) == (False, True)
