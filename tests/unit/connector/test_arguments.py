"""Arguments of a connector that are refused."""

from collections.abc import Mapping

import pytest

from zkconsumer.assignment.filters import Blacklist, Whitelist
from zkconsumer.connector.arguments import (
    check_filter,
    check_stream_count,
    check_topic_counts,
)
from zkconsumer.errors import ConfigError


@pytest.mark.parametrize("count", [0, -1, True, 1.0, "1", None])
def test_the_number_of_streams_is_a_positive_integer(count: object) -> None:
    """A 0 would trip an assertion in every Scala member; the error names the topic."""
    with pytest.raises(ConfigError, match="topic t: the number of streams"):
        check_stream_count(count, "topic t")


def test_every_topic_of_a_map_is_checked() -> None:
    """Names and counts of all topics are checked; an empty map is allowed."""
    check_topic_counts({})
    check_topic_counts({"a": 1, "b": 1_000})
    with pytest.raises(ConfigError, match="topic 'b c'"):
        check_topic_counts({"a": 1, "b c": 1})
    with pytest.raises(ConfigError, match="topic b"):
        check_topic_counts({"a": 1, "b": 0})


@pytest.mark.parametrize("topics", [["t"], "t", None, ("t", 1)])
def test_topics_must_be_a_map(topics: Mapping[str, int]) -> None:
    """The error shows an example, since a list of topics is the likeliest mistake."""
    with pytest.raises(ConfigError, match=r"give the number of streams of each.*\{'weblog': 1\}"):
        check_topic_counts(topics)


@pytest.mark.parametrize("topic_filter", ["t.*", None, ["t"]])
def test_a_filter_is_a_whitelist_or_a_blacklist(topic_filter: object) -> None:
    """A plain string is refused, since it does not say which of them is meant."""
    check_filter(Whitelist("t.*"))
    check_filter(Blacklist("t.*"))
    with pytest.raises(ConfigError, match=r"filter .*: give a Whitelist\('...'\) or a Blacklist"):
        check_filter(topic_filter)
