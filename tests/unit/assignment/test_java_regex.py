import pytest

from zkconsumer.assignment.java_charset import RegexRefused
from zkconsumer.assignment.java_regex import java_matcher


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("ab", "ab", "abc"),
        ("a|b", "b", "ab"),
        ("a||b", "a", ""),
        (".", "-", ""),
        ("^a$", "a", "b"),
        (r"\Aa\z", "a", "ab"),
        (r"[\w-.]+", "a-b.c", "a:"),
        ("[]a]+", "]a", "b"),
        ("[^^]", "a", "^"),
        (r"\p{Alnum}+", "aZ9", "a-"),
        (r"\P{Alpha}", "1", "a"),
        (r"\Qa.b\E+", "a.bb", "axb"),
        (r"\Qa+", "a+", "aa"),
        (r"[\Q^-]\E]+", "^-]", "a"),
        ("(?i)aB", "Ab", "b"),
        ("a(?i)b|c", "aB", "A"),
        ("a(?i)b|c", "C", "Ab"),
        ("(?i:a)b", "Ab", "aB"),
        ("(?i)[a-c]", "B", "d"),
        ("(?i)a(?-i)b", "Ab", "aB"),
        ("(?<name>a)b", "ab", "a"),
        ("a*+b", "aab", "a"),
        ("(?>a|ab)c", "ac", "abc"),
        (r"\x61\x{62}\u0063\0144", "abcd", "abc"),
        (r"a\.b\-c", "a.b-c", "axb-c"),
        ("a}b]", "a}b]", "ab"),
        ("(?<=a)a|b", "b", "a"),
    ],
)
def test_a_pattern_matches_as_in_java(pattern: str, yes: str, no: str) -> None:
    """Each pattern matches one text as a whole and rejects another, as in Java."""
    matches = java_matcher(pattern)
    assert matches(yes)
    assert not matches(no)


def test_only_printable_ascii_matches() -> None:
    """Only printable ASCII matches: topics have no other names."""
    for text in ("é", "a\n", "\t", "", "a\u2028"):
        assert not java_matcher("(?s).*")(text)


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (")", "unmatched"),
        ("a)b", "unmatched"),
        ("(a", "unclosed group"),
        ("[a", "unclosed character class"),
        ("[a-", "unclosed character class"),
        ("[]", "unclosed character class"),
        ("*", "nothing to repeat"),
        ("a|*", "nothing to repeat"),
        ("(?i)*", "nothing to repeat"),
        ("{1}", "nothing to repeat"),
        ("a{1|2}", "starts no count"),
        ("a{3,2}", "out of range"),
        ("a{2147483648}", "out of range"),
        ("a**", "repetition"),
        ("a{1}{2}", "repetition"),
        ("^*", "without length"),
        ("(?=a)*", "without length"),
        ("[c-a]", "is empty"),
        ("[a[b]]", "inside a character class"),
        ("[a&&b]", "intersection"),
        (r"(a)\1", "not supported"),
        (r"\G", "not supported"),
        (r"\pLu", r"^\\pL is not supported"),
        (r"\p{IsGreek}x", r"^\\p\{IsGreek\} is not supported"),
        (r"\p{Alpha", "not supported"),
        (r"\x6", "not supported"),
        (r"\09", "not supported"),
        ("\\", "not supported"),
        (r"\ud83d", "not a character"),
        (r"\x{110000}", "not a character"),
        (r"(?i)\p{Lower}", "differs between JVMs"),
        (r"[\h-a]", "differs between JVMs"),
        ("(?x)a", "flag x"),
        ("(?P<n>a)", "unknown kind of group"),
        ("(?#a)", "unknown kind of group"),
        ("(?", "unknown kind of group"),
        ("(?<n>a)(?<n>b)", "two groups"),
        ("(?<=a|bc)d", "no sure equivalent"),
        ("(" * 61 + ")" * 61, "nested deeper"),
    ],
)
def test_a_pattern_that_may_differ_from_java_is_refused_with_a_reason(
    pattern: str, reason: str
) -> None:
    """Patterns that Java rejects, and those that could mean something else in it, are refused."""
    with pytest.raises(RegexRefused, match=reason):
        java_matcher(pattern)
