"""Properties of the assignors that hold for every group of members and topics."""

from collections import Counter
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.shares import examples
from zkconsumer.assignment import range as range_assignor
from zkconsumer.assignment import round_robin
from zkconsumer.assignment.group_view import GroupView
from zkconsumer.assignment.java_order import string_hash
from zkconsumer.assignment.strategy import CannotAssign, Strategy, assign
from zkconsumer.assignment.threads import text_order
from zkconsumer.model import ConsumerThreadId, TopicPartition

STRATEGIES: tuple[Strategy, ...] = ("range", "roundrobin")
TOPICS = ("alpha", "beta", "Aa", "BB", "t-1")
ids = st.lists(st.text("abcXYZ09-_.", min_size=1, max_size=8), min_size=1, max_size=6, unique=True)
stream_counts = st.integers(min_value=1, max_value=13)
partition_sets = st.fixed_dictionaries(
    {topic: st.sets(st.integers(0, 40), max_size=20).map(tuple) for topic in TOPICS}
)


@st.composite
def any_group(draw: st.DrawFn) -> GroupView:
    """Draw a group in which every member reads topics of its own choice."""
    subscriptions = st.dictionaries(st.sampled_from(TOPICS), stream_counts)
    members = {name: draw(subscriptions) for name in draw(ids)}
    return GroupView(members, draw(partition_sets))


@st.composite
def even_group(draw: st.DrawFn) -> GroupView:
    """Draw a group in which all members read the same topics, registered in the same order."""
    topics = draw(st.lists(st.sampled_from(TOPICS), min_size=1, unique=True))
    members = {name: dict.fromkeys(topics, draw(stream_counts)) for name in draw(ids)}
    return GroupView(members, draw(partition_sets))


def wanted(view: GroupView) -> set[TopicPartition]:
    """Return every partition of every topic that a member reads."""
    return {
        TopicPartition(topic, partition)
        for member in view.members.values()
        for topic in member
        for partition in view.partitions[topic]
    }


def threads(view: GroupView, topic: str) -> set[ConsumerThreadId]:
    """Return all threads that read the topic."""
    return {
        ConsumerThreadId(name, number)
        for name, member in view.members.items()
        for number in range(member.get(topic, 0))
    }


def shuffled(view: GroupView) -> GroupView:
    """Return the same group read in another order; each member's own order stays."""
    return GroupView(
        dict(reversed(list(view.members.items()))),
        {topic: ids[::-1] for topic, ids in reversed(list(view.partitions.items()))},
    )


@settings(max_examples=examples(60))
@given(any_group())
def test_range_gives_every_partition_to_one_thread_that_reads_its_topic(view: GroupView) -> None:
    """No partition is left out (and a map can't hold one twice)."""
    owners = range_assignor.assign(view)
    assert set(owners) == wanted(view)
    assert all(thread in threads(view, tp.topic) for tp, thread in owners.items())


@settings(max_examples=examples(60))
@given(any_group())
def test_range_is_balanced_and_contiguous_on_every_topic(view: GroupView) -> None:
    """Counts differ by one at most, and each thread's partitions are consecutive."""
    owners = range_assignor.assign(view)
    for topic in {tp.topic for tp in owners}:
        in_order = [owners[tp] for tp in sorted(owners) if tp.topic == topic]
        counts = Counter(in_order)
        every = [counts[thread] for thread in threads(view, topic)]
        assert max(every) - min(every) <= 1
        changes = sum(owner != next_owner for owner, next_owner in pairwise(in_order))
        assert changes == len(counts) - 1


@settings(max_examples=examples(60))
@given(even_group())
def test_round_robin_gives_every_partition_to_one_thread(view: GroupView) -> None:
    """No partition is left out, and the threads are balanced over all topics together."""
    member, *_ = view.members
    owners = round_robin.assign(view, member)
    assert set(owners) == wanted(view)
    counts = Counter(owners.values())
    topic = next(iter(view.members[member]))
    every = [counts[thread] for thread in threads(view, topic)]
    assert max(every) - min(every) <= 1


@settings(max_examples=examples(60))
@given(any_group(), st.sampled_from(STRATEGIES))
def test_the_order_in_which_the_group_is_read_does_not_matter(
    view: GroupView, strategy: Strategy
) -> None:
    """Neither the order of the members, nor of topics or partitions does."""
    member, *_ = view.members
    assert assign(strategy, view, member) == assign(strategy, shuffled(view), member)


@settings(max_examples=examples(60))
@given(even_group())
def test_members_that_register_their_topics_alike_agree(view: GroupView) -> None:
    """Whichever member computes it, each strategy gives the same assignment of the group."""
    for strategy in STRATEGIES:
        results = [assign(strategy, view, member) for member in view.members]
        assert all(not isinstance(result, CannotAssign) for result in results)
        assert all(result == results[0] for result in results)


def listed(view: GroupView, topic: str) -> list[ConsumerThreadId]:
    """Return all threads that read the topic, sorted as text."""
    return sorted(threads(view, topic), key=str)


@settings(max_examples=examples(100))
@given(any_group())
def test_range_gives_what_a_list_of_all_threads_gives(view: GroupView) -> None:
    """The original computes it so: for each thread its first partition, and their number."""
    expected = {}
    for topic in {topic for member in view.members.values() for topic in member}:
        readers, partitions = listed(view, topic), sorted(view.partitions[topic])
        share, rest = divmod(len(partitions), len(readers))
        for position, thread in enumerate(readers):
            begin = share * position + min(position, rest)
            for number in partitions[begin : begin + share + (position < rest)]:
                expected[TopicPartition(topic, number)] = thread
    assert range_assignor.assign(view) == expected


@settings(max_examples=examples(100))
@given(even_group())
def test_round_robin_takes_turns_through_a_list_of_all_threads(view: GroupView) -> None:
    """The first partition by Java's hash goes to the first thread as text, and so on."""
    member = next(iter(view.members))
    topic = next(iter(view.members[member]))
    readers = listed(view, topic)
    owners = round_robin.assign(view, member)
    by_hash = sorted(owners, key=lambda tp: string_hash(f"[{tp.topic},{tp.partition}]"))
    turns = [string_hash(f"[{tp.topic},{tp.partition}]") for tp in by_hash]
    if len(set(turns)) == len(turns):
        assert [owners[tp] for tp in by_hash] == [
            readers[turn % len(readers)] for turn in range(len(by_hash))
        ]


@settings(max_examples=examples(200))
@given(st.integers(0, 1500), st.integers(0, 1500))
def test_ranges_of_numbers_come_sorted_as_text(low: int, high: int) -> None:
    """The order is that of sorting their texts."""
    assert list(text_order(low, high)) == sorted(range(low, high), key=str)
