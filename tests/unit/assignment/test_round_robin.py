from tests.unit.assignment.test_range import group
from zkconsumer.assignment import round_robin
from zkconsumer.assignment.group_view import GroupView
from zkconsumer.model import TopicPartition

TOPICS = {"alpha": 3, "beta": 4, "gamma.x-1": 2}


def test_partitions_are_dealt_out_by_the_hash_of_their_text() -> None:
    """The order is by the hash of "topic-partition", checked against a running 0.8.2.2."""
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
    """Threads take turns in the order of their text, so thread 10 comes before thread 2."""
    view = group({"c": {"t": 11}}, {"t": 12})
    threads = [thread.thread for thread in round_robin.assign(view, "c").values()]
    assert threads == [0, 1, 10, 2, 3, 4, 5, 6, 7, 8, 9, 0]


def test_equal_hashes_are_ordered_by_the_member_s_own_registration() -> None:
    """As in the original, two members may then both claim one partition and neither the other."""
    partitions = {"Aa": (0,), "BB": (0,)}
    members = {
        "a": {"Aa": 1, "BB": 1},
        "b": {"BB": 1, "Aa": 1},
    }
    view = GroupView(members, partitions)
    seen_by_a = round_robin.assign(view, "a")
    seen_by_b = round_robin.assign(view, "b")
    first = TopicPartition("Aa", 0)
    assert {seen_by_a[first].consumer_id, seen_by_b[first].consumer_id} == {"a", "b"}


def test_uneven_topics_names_two_that_differ() -> None:
    """Two topics differ if other members read them, or with another number of threads."""
    view = group({"a": {"t": 1, "u": 1}, "b": {"t": 1}}, {})
    assert round_robin.uneven_topics(view) == ("t", "u")
    view = group({"a": {"t": 1, "u": 1, "v": 2}}, {})
    assert round_robin.uneven_topics(view) == ("t", "v")
    assert round_robin.uneven_topics(group({"a": {"t": 2, "u": 2}}, {})) is None


def test_a_member_that_reads_nothing_does_not_count() -> None:
    """A member without topics gets no partitions and does not make subscriptions uneven."""
    view = group({"a": {"t": 1}, "idle": {}}, {"t": 2})
    assert round_robin.uneven_topics(view) is None
    assert {str(thread) for thread in round_robin.assign(view, "a").values()} == {"a-0"}


def test_a_group_without_topics_owns_nothing() -> None:
    """Without topics the assignment is empty."""
    assert round_robin.uneven_topics(group({"a": {}}, {})) is None
    assert round_robin.assign(group({"a": {}}, {}), "a") == {}
