"""Which partitions a query reads."""

import pickle

import pytest

from zkconsumer.errors import ConfigError
from zkconsumer.model import TopicPartition
from zkconsumer.spark.subscription import (
    Assigned,
    Subscription,
    TopicPattern,
    Topics,
    read_subscription,
)

KNOWN = tuple(
    TopicPartition(topic, number)
    for topic in ("b", "a", "a.b", "__consumer_offsets")
    for number in (1, 0)
)


def names(partitions: tuple[TopicPartition, ...]) -> str:
    """Return partitions as one text."""
    return " ".join(map(format, partitions))


@pytest.mark.parametrize(
    ("subscription", "wanted"),
    [
        (Topics(("b", "a")), "a-0 a-1 b-0 b-1"),
        (Topics(("__consumer_offsets",)), "__consumer_offsets-0 __consumer_offsets-1"),
        (TopicPattern("a.*"), "a-0 a-1 a.b-0 a.b-1"),
        (TopicPattern("a"), "a-0 a-1"),
        (TopicPattern("[a-z]|x,y"), "a-0 a-1 b-0 b-1"),
        (TopicPattern(".*"), "a-0 a-1 a.b-0 a.b-1 b-0 b-1"),
        (TopicPattern("nothing"), ""),
        (Assigned((TopicPartition("b", 1),)), "b-1"),
    ],
)
def test_a_query_reads_what_it_names(subscription: Subscription, wanted: str) -> None:
    """Partitions are sorted; a pattern matches whole names, and never Kafka's internal topics."""
    assert names(subscription.wanted(KNOWN)) == wanted


@pytest.mark.parametrize("name", ["../x", "a/b", "..", "", "a b", "a" * 256])
def test_a_pattern_takes_no_name_that_kafka_refuses(name: str) -> None:
    """A pattern skips names that Kafka refuses: brokers may send any, and they become paths."""
    known = (TopicPartition(name, 0), TopicPartition("a", 0))
    assert names(TopicPattern(".*").wanted(known)) == "a-0"


@pytest.mark.parametrize(
    ("subscription", "message"),
    [
        (Topics(("a", "x", "y")), "subscribe: the cluster has no topic x, y"),
        (Assigned((TopicPartition("a", 2),)), "assign: the cluster has no partition a-2"),
        (Topics(tuple(f"x{n:03}" for n in range(50))), "x009 and 40 more"),
    ],
)
def test_a_missing_topic_is_named(subscription: Subscription, message: str) -> None:
    """A misspelt topic is an error that names it, not a query that reads nothing."""
    with pytest.raises(ConfigError, match=message):
        subscription.wanted(KNOWN)


def test_a_subscription_is_read_from_any_of_three_options() -> None:
    """A query subscribes by topics, by pattern or by partitions."""
    assert read_subscription({"subscribe": " b, a,,b "}) == Topics(("a", "b"))
    assert read_subscription({"subscribepattern": " a|b "}) == TopicPattern("a|b")
    assert read_subscription({"assign": '{"t":[1,0]}'}) == Assigned(
        (TopicPartition("t", 0), TopicPartition("t", 1))
    )


@pytest.mark.parametrize(
    ("option", "text", "message"),
    [
        ("subscribe", "a,b/c", "subscribe: 'b/c' can't be a topic's name"),
        ("subscribe", "a" * 256, "can't be a topic's name"),
        ("subscribepattern", " ", "subscribePattern is ' '"),
        ("subscribepattern", "a{", "subscribePattern 'a{' can't be used"),
        ("assign", "{}", "assign is '{}': name partitions"),
        ("assign", '{"a b":[0]}', "assign: 'a b' can't be a topic's name"),
        ("assign", "t:0", "assign: 't:0' is no JSON"),
    ],
)
def test_an_invalid_subscription_is_refused(option: str, text: str, message: str) -> None:
    """An invalid subscription is refused under the name of its option."""
    with pytest.raises(ConfigError, match=f"^{message}" if " is " in message else message):
        read_subscription({option: text})


def test_a_pattern_can_be_pickled() -> None:
    """A pattern can be pickled, as options are sent to other processes."""
    pattern = pickle.loads(pickle.dumps(TopicPattern("a|b")))
    assert pattern == TopicPattern("a|b")
    assert names(pattern.wanted(KNOWN)) == "a-0 a-1 b-0 b-1"
