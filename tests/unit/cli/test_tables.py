"""Tables, colours and JSON output."""

import argparse
import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.fake_terminal import FakeTerminal
from zkconsumer.cli import tables
from zkconsumer.cli.tables import (
    Cell,
    Colour,
    Painted,
    add_format_arguments,
    instant,
    json_text,
    shows_colour,
    table,
)
from zkconsumer.printable import printable

COLUMNS = ["NAME", ">LAG"]


def test_numbers_are_right_aligned_and_unknown_values_a_dash() -> None:
    """All tables of the commands share this layout."""
    rows: list[list[Cell]] = [["a", 1], ["long name", 1000], ["c", None]]
    assert table(COLUMNS, rows, coloured=False).splitlines() == [
        "NAME        LAG",
        "a             1",
        "long name  1000",
        "c             -",
    ]


def test_wide_characters_take_two_columns() -> None:
    """Columns are aligned as a terminal shows them."""
    lines = table(COLUMNS, [["日本", 1], ["abcd", 1]], coloured=False).splitlines()
    assert lines[1:] == ["日本    1", "abcd    1"]


def test_colour_does_not_change_the_width() -> None:
    """Only the text is coloured, not the padding."""
    rows: list[list[Cell]] = [[Painted("a", Colour.BAD), 1], ["bc", 22]]
    lines = table(COLUMNS, rows, coloured=True).splitlines()
    assert lines[1] == "\x1b[31ma\x1b[0m       1"


@given(st.lists(st.tuples(st.text(), st.integers()), max_size=5))
def test_every_row_is_one_line_without_control_characters(rows: list[tuple[str, int]]) -> None:
    """Names of groups may hold any character."""
    lines = table(COLUMNS, rows, coloured=False).split("\n")
    assert len(lines) == len(rows) + 2
    assert all(line.isprintable() for line in lines)


def test_an_id_can_not_drive_the_terminal() -> None:
    """Ids of coordinator groups may be any text, so control characters are escaped."""
    assert printable("a\x1b[2J\nb é") == "a\\x1b[2J\\nb é"


def test_colour_is_used_on_terminals_unless_disabled(monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR and a dumb terminal disable it."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert shows_colour(FakeTerminal())
    assert not shows_colour(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not shows_colour(FakeTerminal())
    monkeypatch.setenv("NO_COLOR", "")
    monkeypatch.setenv("TERM", "dumb")
    assert not shows_colour(FakeTerminal())


def test_instants_are_formatted_in_utc() -> None:
    """To the millisecond; a number that is no time gives null."""
    assert instant(1_400_000_000_007) == "2014-05-13T16:53:20.007Z"
    assert instant(0) == "1970-01-01T00:00:00.000Z"
    assert instant(-1) == "1969-12-31T23:59:59.999Z"
    assert instant(None) is None
    assert instant(2**62) is None
    assert json.loads(json_text({"a": 2**62, "b": None})) == {"a": 2**62, "b": None}


def test_formats() -> None:
    """``--json`` is short for ``--format json``; only some commands have the original's format."""
    parser = argparse.ArgumentParser()
    add_format_arguments(parser, scala="the tool")
    assert parser.parse_args([]).format == "table"
    assert parser.parse_args(["--json"]).format == "json"
    assert parser.parse_args(["--format", "scala"]).format == "scala"
    parser = argparse.ArgumentParser()
    add_format_arguments(parser)
    with pytest.raises(SystemExit):
        parser.parse_args(["--format", "scala"])


NAMES = st.text("abc-", min_size=1, max_size=60)


@given(st.lists(st.tuples(NAMES, st.integers(0, 10**9), NAMES), max_size=5), st.integers(20, 120))
def test_a_table_fits_without_losing_text(rows: list[tuple[str, int, str]], limit: int) -> None:
    """Long texts are wrapped; if that is not enough, each row becomes a list of its cells."""
    columns = ["NAME", ">N", "NOTE"]
    text = table(columns, rows, coloured=False, limit=limit)
    whole = "".join("".join(map(str, row)) for row in rows)
    assert sorted(re.sub(r"\s|NAME|NOTE|N\b", "", text)) == sorted(whole)
    assert all(len(line) <= limit for line in text.splitlines())


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (None, "  group a-name-that-is-long: one two\n"),
        (33, "  group a-name-that-is-long: one\n    two\n"),
        (12, "  group\n    a-name-that-is-long:\n    one two\n"),
        (200, "  group a-name-that-is-long: one two\n"),
    ],
)
def test_a_sentence_is_wrapped_between_words(
    width: int | None, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only on a terminal, and names are never broken."""
    monkeypatch.setattr(tables, "terminal_width", lambda: width)
    assert tables.sentence("  group a-name-that-is-long: one two") == expected
