from tests.unit.assignment.test_range import group
from zkconsumer.assignment.strategy import CannotAssign, assign
from zkconsumer.model import ConsumerThreadId, TopicPartition


def test_the_strategy_picks_the_assignor() -> None:
    """Range gives both partitions to the first member; round-robin deals them out."""
    view = group({"a": {"t": 1, "u": 1}, "b": {"t": 1, "u": 1}}, {"t": 1, "u": 1})
    by_range = assign("range", view, "a")
    dealt = assign("roundrobin", view, "a")
    assert not isinstance(by_range, CannotAssign)
    assert not isinstance(dealt, CannotAssign)
    assert set(by_range.values()) == {ConsumerThreadId("a", 0)}
    assert set(dealt.values()) == {ConsumerThreadId("a", 0), ConsumerThreadId("b", 0)}


def test_the_assignment_of_the_whole_group_is_returned() -> None:
    """The result holds all members' partitions, not only those of the member that computes it."""
    view = group({"a": {"t": 1}, "b": {"t": 1}}, {"t": 2})
    result = assign("range", view, "b")
    assert not isinstance(result, CannotAssign)
    assert result == {
        TopicPartition("t", 0): ConsumerThreadId("a", 0),
        TopicPartition("t", 1): ConsumerThreadId("b", 0),
    }


def test_round_robin_over_uneven_subscriptions_says_what_to_do() -> None:
    """The reason names two topics, the threads that read only one of them, and the remedy."""
    view = group({"a": {"t": 1, "u": 1}, "b": {"t": 1}}, {"t": 2, "u": 2})
    result = assign("roundrobin", view, "a")
    assert isinstance(result, CannotAssign)
    assert "topics t and u" in result.reason
    assert "b-0" in result.reason
    assert "a-0" not in result.reason
    assert "partition.assignment.strategy=range" in result.reason


def test_a_long_list_of_differing_threads_is_shortened() -> None:
    """The reason stays short enough to read, however many threads differ."""
    view = group({"a": {"t": 1, "u": 1}, "b": {"t": 40}}, {"t": 2, "u": 2})
    result = assign("roundrobin", view, "a")
    assert isinstance(result, CannotAssign)
    assert len(result.reason) < 400


def test_a_member_that_is_not_registered_gets_no_assignment() -> None:
    """The other members do not count it, so it must not count itself."""
    view = group({"a": {"t": 1}}, {"t": 2})
    for strategy in ("range", "roundrobin"):
        result = assign(strategy, view, "ghost")
        assert isinstance(result, CannotAssign)
        assert "ghost" in result.reason


def test_a_group_that_reads_nothing_is_assigned_nothing() -> None:
    """A group without topics gets an empty assignment, not a failure, under both strategies."""
    view = group({"a": {}}, {"t": 2})
    assert assign("range", view, "a") == {}
    assert assign("roundrobin", view, "a") == {}
