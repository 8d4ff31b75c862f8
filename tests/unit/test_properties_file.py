from pathlib import Path

import pytest

from zkconsumer.errors import ConfigError
from zkconsumer.properties_file import load_properties, parse_properties


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", {"a": "b"}),
        ("a:b", {"a": "b"}),
        ("a b", {"a": "b"}),
        ("a = b", {"a": "b"}),
        ("a=b ", {"a": "b "}),
        ("a", {"a": ""}),
        ("a==b", {"a": "=b"}),
        ("z=h1:2181,h2:2181/kafka", {"z": "h1:2181,h2:2181/kafka"}),
        ("# c\n  ! d\n\n \t\na=1", {"a": "1"}),
        ("a=1\nb=2\r\nc=3\rd=4", {"a": "1", "b": "2", "c": "3", "d": "4"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=b\\\n   c", {"a": "bc"}),
        ("a=b\\\r\n# no comment", {"a": "b# no comment"}),
        ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        ("# c \\\na=1", {"a": "1"}),
        ("a=b\\", {"a": "b"}),
        (r"a\=b\ c=d", {"a=b c": "d"}),
        (r"a=\t\n\r\f\q\\", {"a": "\t\n\r\fq\\"}),
        (r"a=\u00e9\u0041", {"a": "\u00e9A"}),
        (r"a=\uD83D\uDE00", {"a": "\U0001f600"}),
        ("a=\u00e9", {"a": "\u00e9"}),
        ("", {}),
    ],
)
def test_properties_are_parsed_as_in_java(text: str, expected: dict[str, str]) -> None:
    """Separators, comments, continuation lines and escapes mean the same as in Java."""
    assert parse_properties(text) == expected


@pytest.mark.parametrize("text", [r"a=\u", r"a=\u12", r"a=\u00g1", r"\u=1"])
def test_a_malformed_escape_is_refused(text: str) -> None:
    """A malformed escape is an error, as in Java."""
    with pytest.raises(ConfigError, match="malformed"):
        parse_properties(text)


def test_a_malformed_escape_shows_no_password() -> None:
    """The error names the setting and does not quote its value."""
    with pytest.raises(ConfigError, match="'password'") as refused:
        parse_properties("password=hidden\\user")
    assert "hidden" not in str(refused.value)


def test_files_are_latin_1(tmp_path: Path) -> None:
    """Files are decoded as Latin-1, in which every byte is a character."""
    path = tmp_path / "all.properties"
    path.write_bytes(b"a=" + bytes(range(0x80, 0x100)))
    assert load_properties(path) == {"a": "".join(map(chr, range(0x80, 0x100)))}
