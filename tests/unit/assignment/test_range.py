from zkconsumer.assignment import range as range_assignor
from zkconsumer.assignment.group_view import GroupView
from zkconsumer.model import TopicPartition


def shares(view: GroupView) -> dict[str, list[str]]:
    """Return the partitions of each thread that has any, all as text."""
    found: dict[str, list[str]] = {}
    for tp, thread in sorted(range_assignor.assign(view).items()):
        found.setdefault(str(thread), []).append(f"{tp}")
    return found


def group(members: dict[str, dict[str, int]], partitions: dict[str, int]) -> GroupView:
    """Build a group: members with their topics and stream counts, and partition counts by topic."""
    return GroupView(
        dict(members),
        {topic: tuple(range(count)) for topic, count in partitions.items()},
    )


def test_the_first_threads_get_one_more() -> None:
    """Of five partitions for four threads, the first thread gets two."""
    view = group({"C1": {"t": 2}, "C2": {"t": 2}}, {"t": 5})
    assert shares(view) == {
        "C1-0": ["t-0", "t-1"],
        "C1-1": ["t-2"],
        "C2-0": ["t-3"],
        "C2-1": ["t-4"],
    }


def test_threads_are_sorted_as_text() -> None:
    """Thread 10 comes before thread 2, and the last threads get nothing."""
    view = group({"c": {"t": 11}, "d": {"t": 1}}, {"t": 4})
    assert shares(view) == {
        "c-0": ["t-0"],
        "c-1": ["t-1"],
        "c-10": ["t-2"],
        "c-2": ["t-3"],
    }


def test_every_topic_starts_with_the_first_thread() -> None:
    """Each topic is dealt out separately, so the first member is favoured on every topic."""
    view = group({"a": {"t": 1, "u": 1}, "b": {"t": 1, "u": 1}}, {"t": 1, "u": 3})
    assert shares(view) == {"a-0": ["t-0", "u-0", "u-1"], "b-0": ["u-2"]}


def test_only_the_threads_that_read_a_topic_share_it() -> None:
    """Members may read different topics with different numbers of threads."""
    view = group({"a": {"t": 1}, "b": {"u": 2}}, {"t": 2, "u": 2})
    assert shares(view) == {"a-0": ["t-0", "t-1"], "b-0": ["u-0"], "b-1": ["u-1"]}


def test_partitions_are_sorted_as_numbers_and_may_have_gaps() -> None:
    """Partition numbers are sorted numerically, although they are read from a map's text keys."""
    view = GroupView(
        {"a": {"t": 1}, "b": {"t": 1}},
        {"t": (11, 2, 1, 30)},
    )
    assert shares(view) == {"a-0": ["t-1", "t-2"], "b-0": ["t-11", "t-30"]}


def test_a_missing_or_empty_topic_assigns_nothing() -> None:
    """A topic without partitions is no error, for it may be created later."""
    view = group({"a": {"gone": 1, "empty": 2, "t": 1}}, {"empty": 0, "t": 1})
    assert list(range_assignor.assign(view)) == [TopicPartition("t", 0)]


def test_a_group_without_members_or_topics_owns_nothing() -> None:
    """Without members or topics the assignment is empty."""
    assert range_assignor.assign(GroupView({}, {"t": (0,)})) == {}
    assert range_assignor.assign(group({"a": {}}, {"t": 1})) == {}
