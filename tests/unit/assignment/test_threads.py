import pytest

from zkconsumer.assignment.group_view import GroupView
from zkconsumer.assignment.strategy import CannotAssign, Strategy, assign
from zkconsumer.assignment.threads import Threads, text_order, union
from zkconsumer.model import ConsumerThreadId, TopicPartition

MOST = 2**31 - 1


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 0, []),
        (0, 3, [0, 1, 2]),
        (0, 12, [0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9]),
        (9, 12, [10, 11, 9]),
        (MOST - 1, MOST, [MOST - 1]),
    ],
)
def test_numbers_come_sorted_as_text(low: int, high: int, expected: list[int]) -> None:
    """The numbers of a range come in the order of their text, without visiting any others."""
    assert list(text_order(low, high)) == expected


def test_the_first_of_two_thousand_million_threads() -> None:
    """The first threads are listed in text order without listing all two thousand million.

    Threads of members whose ids share a prefix interleave.
    """
    threads = Threads({"g_a": MOST, "g_a-1": 2})
    assert threads.count == MOST + 2
    assert list(map(str, threads.first(6))) == [
        "g_a-0",
        "g_a-1",
        "g_a-1-0",
        "g_a-1-1",
        "g_a-10",
        "g_a-100",
    ]
    assert list(map(str, threads.first(2))) == ["g_a-0", "g_a-1"]
    assert ConsumerThreadId("g_a", MOST - 1) in threads
    assert ConsumerThreadId("g_a", MOST) not in threads


def test_threads_can_be_subtracted_and_united() -> None:
    """A difference returns its size and its first threads; a union holds the threads of all."""
    many, few = Threads({"a": MOST, "b": 1}), Threads({"a": MOST - 2, "c": 3})
    number, first = many.without(few)
    assert number == 3
    assert list(map(str, first)) == ["a-2147483645", "a-2147483646", "b-0"]
    assert union([many, few]) == Threads({"a": MOST, "b": 1, "c": 3})


def test_threads_are_equal_whatever_the_order_of_members() -> None:
    """Threads are equal and hash alike whatever the order of their members."""
    assert Threads({"a": 1, "b": 2}) == Threads({"b": 2, "a": 1})
    assert len({Threads({"a": 1, "b": 2}), Threads({"b": 2, "a": 1}), Threads({"a": 1})}) == 2
    assert "'a': 1" in repr(Threads({"a": 1}))


@pytest.mark.parametrize("strategy", ["range", "roundrobin"])
def test_a_member_with_two_thousand_million_streams_takes_what_comes_first(
    strategy: Strategy,
) -> None:
    """A member with more threads than there are partitions may leave few for the others."""
    view = GroupView(
        {"g_a": {"t": 1}, "g_b": {"t": MOST}},
        {"t": (0, 1, 2, 3)},
    )
    result = assign(strategy, view, "g_a")
    assert not isinstance(result, CannotAssign)
    order = ["g_a-0", "g_b-0", "g_b-1", "g_b-10"]
    assert sorted(map(str, result.values())) == order
    if strategy == "range":
        assert str(result[TopicPartition("t", 3)]) == "g_b-10"


def test_the_error_for_uneven_streams_names_only_five_threads() -> None:
    """However many threads differ, the reason names five of them."""
    view = GroupView({"g_a": {"t": MOST, "u": 1}}, {"t": (0,), "u": (0,)})
    result = assign("roundrobin", view, "g_a")
    assert isinstance(result, CannotAssign)
    assert "g_a-1, g_a-10, g_a-100, g_a-1000, g_a-10000, ...: make" in result.reason
