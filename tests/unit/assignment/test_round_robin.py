from tests.unit.assignment.test_range import group
from zkconsumer.assignment import round_robin
from zkconsumer.assignment.group_view import GroupView, MemberSubscription
from zkconsumer.model import TopicPartition

TOPICS = {"alpha": 3, "beta": 4, "gamma.x-1": 2}


def test_partitions_are_dealt_out_by_the_hash_of_their_text() -> None:
    """Checked against a running 0.8.2.2."""
    view = group({"a": dict.fromkeys(TOPICS, 2), "b": dict.fromkeys(TOPICS, 1)}, TOPICS)
    dealt = [(f"{tp}", str(thread)) for tp, thread in round_robin.assign(view, "a").items()]
    assert dealt == [
        ("beta-0", "a-0"),
        ("beta-1", "a-1"),
        ("beta-2", "b-0"),
        ("beta-3", "a-0"),
        ("gamma.x-1-0", "a-1"),
        ("gamma.x-1-1", "b-0"),
        ("alpha-0", "a-0"),
        ("alpha-1", "a-1"),
        ("alpha-2", "b-0"),
    ]


def test_threads_form_a_ring_sorted_as_text() -> None:
    """Thread 10 takes its turn before thread 2."""
    view = group({"c": {"t": 11}}, {"t": 12})
    signal = [thread.thread for thread in round_robin.assign(view, "c").values()]
    assert signal == [0, 1, 10, 2, 3, 4, 5, 6, 7, 8, 9, 0]


def test_of_equal_hashes_the_order_in_the_own_registration_decides() -> None:
    """As in the original, whose members then both take the one and nobody the other."""
    partitions = {"Aa": (0,), "BB": (0,)}
    members = {
        "a": MemberSubscription({"Aa": 1, "BB": 1}),
        "b": MemberSubscription({"BB": 1, "Aa": 1}),
    }
    view = GroupView(members, partitions)
    seen_by_a = round_robin.assign(view, "a")
    seen_by_b = round_robin.assign(view, "b")
    first = TopicPartition("Aa", 0)
    assert {seen_by_a[first].consumer_id, seen_by_b[first].consumer_id} == {"a", "b"}


def test_uneven_topics_names_two_that_differ() -> None:
    """Other members, or another number of threads."""
    view = group({"a": {"t": 1, "u": 1}, "b": {"t": 1}}, {})
    assert round_robin.uneven_topics(view) == ("t", "u")
    view = group({"a": {"t": 1, "u": 1, "v": 2}}, {})
    assert round_robin.uneven_topics(view) == ("t", "v")
    assert round_robin.uneven_topics(group({"a": {"t": 2, "u": 2}}, {})) is None


def test_a_member_that_reads_nothing_does_not_count() -> None:
    """It is in the group, but no topic's threads are its."""
    view = group({"a": {"t": 1}, "idle": {}}, {"t": 2})
    assert round_robin.uneven_topics(view) is None
    assert {str(thread) for thread in round_robin.assign(view, "a").values()} == {"a-0"}


def test_a_group_without_topics_owns_nothing() -> None:
    """Nothing to share out."""
    assert round_robin.uneven_topics(group({"a": {}}, {})) is None
    assert round_robin.assign(group({"a": {}}, {}), "a") == {}
