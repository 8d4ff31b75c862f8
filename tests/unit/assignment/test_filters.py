import pytest

from zkconsumer.assignment.filters import Blacklist, Whitelist, expand, normalised
from zkconsumer.errors import ConfigError
from zkconsumer.zk.nodes import Pattern, Registration


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("white1,white2", "white1|white2"),
        ("  a , b  ", "a|b"),
        ("'a'", "a"),
        ('"\'a"\'"', "a"),
        ("it's", "it's"),
        ("\t\n a \x00", "a"),
        ("a{1,2}", "a{1|2}"),
    ],
)
def test_a_filter_is_rewritten_as_by_the_original(text: str, expected: str) -> None:
    """Commas become alternatives, blanks are removed, and quotes at both ends are stripped."""
    assert normalised(text) == expected
    assert normalised(expected) == expected


def test_a_whitelist_allows_names_that_match_as_a_whole() -> None:
    """A whitelist allows a topic only if the filter matches its whole name."""
    listed = Whitelist("white1,white2")
    assert listed.allows("white2", exclude_internal=True)
    assert not listed.allows("black1", exclude_internal=True)
    assert not listed.allows("white21", exclude_internal=True)
    assert Whitelist("white_listed-topic.+").allows("white_listed-topic1", exclude_internal=True)


def test_look_ahead_works() -> None:
    """A negative look-ahead works as in the original's own tests."""
    listed = Whitelist(r"test-(?!bad\b)[\w]+")
    assert listed.allows("test-good", exclude_internal=True)
    assert not listed.allows("test-bad", exclude_internal=True)
    assert listed.allows("test-badly", exclude_internal=True)


def test_a_blacklist_allows_everything_else() -> None:
    """A blacklist rejects only names that match as a whole."""
    listed = Blacklist("black1")
    assert not listed.allows("black1", exclude_internal=True)
    assert listed.allows("white2", exclude_internal=True)
    assert listed.allows("black12", exclude_internal=True)


@pytest.mark.parametrize("listed", [Whitelist(".+"), Blacklist("black1")])
def test_internal_topics_pass_only_if_not_excluded(listed: Whitelist | Blacklist) -> None:
    """Whitelists and blacklists alike reject internal topics when they are excluded."""
    assert listed.allows("any", exclude_internal=True)
    assert not listed.allows("__consumer_offsets", exclude_internal=True)
    assert listed.allows("__consumer_offsets", exclude_internal=False)


def test_a_filter_shows_the_pattern_it_registers() -> None:
    """A filter shows the rewritten pattern, and two of the same kind and text are equal."""
    assert Whitelist(" a, b").pattern == "a|b"
    assert len({Whitelist("a"), Whitelist("a"), Blacklist("a")}) == 2
    assert "a|b" in repr(Whitelist("a,b"))


@pytest.mark.parametrize(
    "text", ["*", "a{1,2}", "(a", "[a&&b]", r"(a)\1", "a\u2028b", "a" * 3 + "("]
)
def test_a_filter_that_may_differ_from_java_is_refused(text: str) -> None:
    """A filter that Java rejects or may read differently is refused with its pattern."""
    with pytest.raises(ConfigError, match="filter") as refused:
        Whitelist(text)
    assert normalised(text) in str(refused.value) or repr(normalised(text)) in str(refused.value)


def test_a_filter_must_be_text() -> None:
    """A filter that is not a string is refused, and the error shows its value."""
    with pytest.raises(ConfigError, match="filter 3: a filter is a text"):
        Whitelist(3)  # type: ignore[arg-type]


def registration(pattern: Pattern, **subscription: int) -> Registration:
    """Build a member's registration of topics with their stream counts."""
    return Registration(subscription=subscription, pattern=pattern)


ALL = ("b", "a2", "a1", "__consumer_offsets")


def test_expanding_a_static_subscription_returns_its_topics() -> None:
    """Named topics are returned in the written order, whether or not they exist."""
    found = expand(registration(Pattern.STATIC, z=2, a=1), ALL, exclude_internal=True)
    assert list(found.items()) == [("z", 2), ("a", 1)]


def test_expanding_a_wildcard_returns_the_topics_that_match() -> None:
    """Matching topics come in the order of the list, each with the wildcard's stream count."""
    white = Registration(subscription={"a.": 3}, pattern=Pattern.WHITE_LIST)
    assert list(expand(white, ALL, exclude_internal=True).items()) == [("a2", 3), ("a1", 3)]
    black = Registration(subscription={"a.": 1}, pattern=Pattern.BLACK_LIST)
    assert expand(black, ALL, exclude_internal=True) == {"b": 1}
    assert expand(black, ALL, exclude_internal=False) == {"__consumer_offsets": 1, "b": 1}


def test_of_several_wildcards_only_the_first_counts() -> None:
    """Only the first wildcard of a registration counts, and one without any reads nothing."""
    with_two_filters = Registration(subscription={"a1": 1, "b": 2}, pattern=Pattern.WHITE_LIST)
    assert expand(with_two_filters, ALL, exclude_internal=True) == {"a1": 1}
    assert expand(registration(Pattern.BLACK_LIST), ALL, exclude_internal=True) == {}


def test_another_member_s_filter_that_may_differ_from_java_is_refused() -> None:
    """A guess could lead to another assignment than the other members compute."""
    with pytest.raises(ConfigError, match="&&"):
        expand(
            Registration(subscription={"[a&&b]": 1}, pattern=Pattern.WHITE_LIST),
            ALL,
            exclude_internal=True,
        )
