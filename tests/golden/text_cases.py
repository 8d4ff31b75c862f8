"""Filters and .properties files: random ones, and Java's and our results for them."""

import random
from collections.abc import Sequence
from typing import TypeAlias

from tests.golden.jvm import run_oracle
from zkconsumer.assignment.filters import Whitelist
from zkconsumer.errors import ConfigError
from zkconsumer.properties_file import parse_properties

FilterResult: TypeAlias = str | None
"""1 or 0 for each topic; None if the filter is refused."""
Properties: TypeAlias = dict[str, str] | None
"""None if the file is refused."""

_PIECES = [
    *"abcABz01.-_|()[]^$*+?{}\\&",
    *("(?:", "(?=", "(?!", "(?<=", "(?>", "(?i)", "(?-i)", "(?i:", ")", ")", ")", "(a)", "(ab)*"),
    *("\\d", "\\w", "\\W", "\\D", "\\b", "\\B", "\\.", "\\-", "\\Q", "\\E", "\\p{Alpha}", "\\x61"),
    *("[a-c]", "[^a]", "[\\w-]", "[a-]", "[b-z]", "[A-Z0-9]", "{2}", "*+", "+?", "++", "a|b", ".*"),
    *(
        ".+",
        "\\061",
        "\\z",
        "(?<!",
        "(a|ab)",
        "{2}+",
        "?+",
        "(?>a|ab)",
        "(a?)",
        "(b*)",
        "{3}?",
        "){2}",
    ),
]


def random_filter(rng: random.Random) -> str:
    """Return a filter of up to nine meaningful pieces, valid or not."""
    return "".join(rng.choice(_PIECES) for _ in range(rng.randint(1, 9)))


def java_filter_results(filters: Sequence[str], topics: Sequence[str]) -> list[FilterResult]:
    """Return the results of the original's ``Whitelist`` for the topics."""
    names = " ".join(topic.encode().hex() for topic in topics)
    lines = run_oracle(
        "JavaTextOracle.java",
        ["filters"],
        [f"{filter_.encode().hex()} {names}" for filter_ in filters],
    )
    assert len(lines) == len(filters)
    return [None if line == "refused" else line for line in lines]


_PROPERTY_PIECES = [
    *("key", "a.b", "=", ":", " ", "\t", "\f", "\\", "\n", "\r", "\r\n", "#", "!", "é", "\x85"),
    *("value", "\\u0041", "\\u00e9", "\\uD83D\\uDE00", "\\uDE00", "\\u00g", "\\n", "\\t", "\\ "),
    *("\\\n", "\\\r\n", "\\=", "\\:", "\\\\", "=v\n"),
]


def random_properties(rng: random.Random) -> str:
    """Return the text of a file of up to 14 pieces.

    It does not end with a lone backslash, which JVMs read differently.
    """
    text = "".join(rng.choice(_PROPERTY_PIECES) for _ in range(rng.randint(0, 14)))
    return text.rstrip("\\\r\n")


def our_filter_result(text: str, topics: Sequence[str]) -> FilterResult:
    """Return the result of our ``Whitelist`` for the topics."""
    try:
        listed = Whitelist(text)
    except ConfigError:
        return None
    return "".join(str(int(listed.allows(topic, exclude_internal=False))) for topic in topics)


def our_properties(text: str) -> Properties:
    """Return the properties that our parser reads."""
    try:
        return parse_properties(text)
    except ConfigError:
        return None


def java_properties(texts: Sequence[str]) -> list[Properties]:
    """Return the properties that ``java.util.Properties`` reads."""
    lines = run_oracle(
        "JavaTextOracle.java", ["properties"], [text.encode("latin-1").hex() for text in texts]
    )
    assert len(lines) == len(texts)
    return [None if line == "refused" else _entries(line) for line in lines]


def _entries(line: str) -> dict[str, str]:
    pairs = [entry.split("=") for entry in line.split(" ") if entry]
    return {_utf16(key): _utf16(value) for key, value in pairs}


def _utf16(units: str) -> str:
    return bytes.fromhex(units).decode("utf-16-be", "surrogatepass")
