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
    """Commas mean or, blanks vanish, quotes at both ends are taken off."""
    assert normalised(text) == expected
    assert normalised(expected) == expected


def test_a_whitelist_lets_through_whole_names_that_match() -> None:
    """A part of a name is not enough."""
    listed = Whitelist("white1,white2")
    assert listed.allows("white2", exclude_internal=True)
    assert not listed.allows("black1", exclude_internal=True)
    assert not listed.allows("white21", exclude_internal=True)
    assert Whitelist("white_listed-topic.+").allows("white_listed-topic1", exclude_internal=True)


def test_look_ahead_works() -> None:
    """As the original's own tests use it."""
    listed = Whitelist(r"test-(?!bad\b)[\w]+")
    assert listed.allows("test-good", exclude_internal=True)
    assert not listed.allows("test-bad", exclude_internal=True)
    assert listed.allows("test-badly", exclude_internal=True)


def test_a_blacklist_lets_through_everything_else() -> None:
    """Whole names here too."""
    listed = Blacklist("black1")
    assert not listed.allows("black1", exclude_internal=True)
    assert listed.allows("white2", exclude_internal=True)
    assert listed.allows("black12", exclude_internal=True)


@pytest.mark.parametrize("listed", [Whitelist(".+"), Blacklist("black1")])
def test_internal_topics_pass_only_if_not_excluded(listed: Whitelist | Blacklist) -> None:
    """Whatever kind the filter is of."""
    assert listed.allows("any", exclude_internal=True)
    assert not listed.allows("__consumer_offsets", exclude_internal=True)
    assert listed.allows("__consumer_offsets", exclude_internal=False)


def test_a_filter_shows_the_pattern_it_registers() -> None:
    """And two filters of the same kind and text are equal."""
    assert Whitelist(" a, b").pattern == "a|b"
    assert len({Whitelist("a"), Whitelist("a"), Blacklist("a")}) == 2
    assert "a|b" in repr(Whitelist("a,b"))


@pytest.mark.parametrize(
    "text", ["*", "a{1,2}", "(a", "[a&&b]", r"(a)\1", "a\u2028b", "a" * 3 + "("]
)
def test_a_filter_that_is_not_certain_is_refused(text: str) -> None:
    """Invalid in Java or not sure to mean the same: the error shows the pattern as it is used."""
    with pytest.raises(ConfigError, match="filter") as refused:
        Whitelist(text)
    assert normalised(text) in str(refused.value) or repr(normalised(text)) in str(refused.value)


def test_a_filter_must_be_text() -> None:
    """A number or None is refused with its value."""
    with pytest.raises(ConfigError, match="filter 3: a filter is a text"):
        Whitelist(3)  # type: ignore[arg-type]


def registration(pattern: Pattern, **subscription: int) -> Registration:
    """A member's registration; blanks stand for dots in names."""
    return Registration(subscription=subscription, pattern=pattern)


ALL = ("b", "a2", "a1", "__consumer_offsets")


def test_expanding_named_topics_gives_what_is_written() -> None:
    """In the written order, whether or not the topics exist."""
    found = expand(registration(Pattern.STATIC, z=2, a=1), ALL, exclude_internal=True)
    assert list(found.items()) == [("z", 2), ("a", 1)]


def test_expanding_a_wildcard_gives_what_matches() -> None:
    """In the order in which the topics are listed, each with the one count."""
    white = Registration(subscription={"a.": 3}, pattern=Pattern.WHITE_LIST)
    assert list(expand(white, ALL, exclude_internal=True).items()) == [("a2", 3), ("a1", 3)]
    black = Registration(subscription={"a.": 1}, pattern=Pattern.BLACK_LIST)
    assert expand(black, ALL, exclude_internal=True) == {"b": 1}
    assert expand(black, ALL, exclude_internal=False) == {"__consumer_offsets": 1, "b": 1}


def test_of_several_wildcards_only_the_first_counts() -> None:
    """And a wildcard registration without an entry reads nothing."""
    two = Registration(subscription={"a1": 1, "b": 2}, pattern=Pattern.WHITE_LIST)
    assert expand(two, ALL, exclude_internal=True) == {"a1": 1}
    assert expand(registration(Pattern.BLACK_LIST), ALL, exclude_internal=True) == {}


def test_a_foreign_filter_that_is_not_certain_is_refused() -> None:
    """To guess would mean another assignment than the others'."""
    with pytest.raises(ConfigError, match="&&"):
        expand(
            Registration(subscription={"[a&&b]": 1}, pattern=Pattern.WHITE_LIST),
            ALL,
            exclude_internal=True,
        )
