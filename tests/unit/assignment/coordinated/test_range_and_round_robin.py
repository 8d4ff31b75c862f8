"""Range and round-robin of the 0.9+ clients, where they differ from the ZooKeeper ones."""

from zkconsumer.assignment.coordinated import range as range_assignor
from zkconsumer.assignment.coordinated import round_robin
from zkconsumer.assignment.coordinated.assignors import ASSIGNORS
from zkconsumer.assignment.coordinated.strategy import STRATEGIES, RebalanceMode, mode_of
from zkconsumer.assignment.coordinated.view import CoordinatedView, MemberView
from zkconsumer.model import TopicPartition


def view(members: dict[str, str], **partitions: int) -> CoordinatedView:
    """Build a view: members with one-letter topics, topics with their number of partitions."""
    return CoordinatedView(
        {name: MemberView(topics=frozenset(topics)) for name, topics in members.items()},
        {topic: tuple(range(count)) for topic, count in partitions.items()},
    )


def as_lines(shares: dict[str, tuple[TopicPartition, ...]]) -> dict[str, str]:
    """Return each member's share as one line, such as "s0 s1 t0"."""
    return {
        member: " ".join(f"{partition.topic}{partition.partition}" for partition in share)
        for member, share in shares.items()
    }


def test_range_gives_the_first_members_one_more_of_each_topic() -> None:
    """Range gives the first member the extra partition, as in RangeAssignor's documentation."""
    shares = range_assignor.assign(view({"c1": "ts", "c0": "ts"}, t=3, s=3))
    assert as_lines(shares) == {"c0": "s0 s1 t0 t1", "c1": "s2 t2"}


def test_range_counts_only_the_readers_of_a_topic() -> None:
    """Members that do not read a topic, and topics without partitions, do not affect the shares."""
    shares = range_assignor.assign(view({"a": "t", "b": "s", "c": "ts"}, t=2))
    assert as_lines(shares) == {"a": "t0", "b": "", "c": "t1"}


def test_round_robin_continues_across_topics() -> None:
    """Round-robin does not start again with each topic: RoundRobinAssignor's first example."""
    shares = round_robin.assign(view({"c0": "ts", "c1": "ts"}, s=3, t=3))
    assert as_lines(shares) == {"c0": "s0 s2 t1", "c1": "s1 t0 t2"}


def test_round_robin_skips_members_that_do_not_read_the_topic() -> None:
    """A partition goes to the next reader of its topic: RoundRobinAssignor's second example."""
    shares = round_robin.assign(view({"c0": "a", "c1": "ab", "c2": "abc"}, a=1, b=2, c=3))
    assert as_lines(shares) == {"c0": "a0", "c1": "b0", "c2": "b1 c0 c1 c2"}


def test_static_members_come_first_by_instance_id() -> None:
    """Static members are ordered by instance id, so a restart moves nothing."""
    topics = frozenset({"t"})
    members = {
        "a": MemberView(topics=topics),
        "z1": MemberView(topics=topics, instance_id="two"),
        "y2": MemberView(topics=topics, instance_id="one"),
    }
    assert CoordinatedView(members, {}).ordered_members() == ["y2", "z1", "a"]


def test_members_are_ordered_as_java_compares_strings() -> None:
    """Ids are compared by UTF-16 code unit: a character above U+FFFF comes before U+FFFD."""
    members = {name: MemberView(topics=frozenset()) for name in ("\ufffd", "\U0001f600", "z")}
    assert CoordinatedView(members, {}).ordered_members() == ["z", "\U0001f600", "\ufffd"]


def test_a_member_is_cooperative_only_if_all_its_strategies_are() -> None:
    """A member that still offers an eager strategy, as in KIP-429's first restart, is eager."""
    assert mode_of(["cooperative-sticky"]) is RebalanceMode.COOPERATIVE
    assert mode_of(["cooperative-sticky", "range"]) is RebalanceMode.EAGER
    assert set(STRATEGIES) == {"range", "roundrobin", "sticky", "cooperative-sticky"}
    assert ASSIGNORS.keys() == STRATEGIES.keys()
