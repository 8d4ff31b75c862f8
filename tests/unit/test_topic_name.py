"""Which names Kafka accepts for a topic."""

import pytest

from zkconsumer.topic_name import is_topic_name


@pytest.mark.parametrize("name", ["a", "a.b_c-D9", "...", "x" * 255, "0"])
def test_topic_names_follow_kafkas_rules(name: str) -> None:
    """Topic names are of letters, digits, dot, underscore and dash, at most 255."""
    assert is_topic_name(name)


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "x" * 256, *(f"a{bad}b" for bad in "/\\,\0:\"';*? \t\r\n="), "a\n", "é", "²",
     None, 3],
)  # fmt: skip
def test_other_names_are_no_topics(name: object) -> None:
    """Other names are no topics: Scala members would fail on a registration with one."""
    assert not is_topic_name(name)
