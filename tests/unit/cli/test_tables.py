"""Tables, colours, JSON."""

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


def test_numbers_stand_to_the_right_and_the_unknown_is_a_dash() -> None:
    """As in every table of the commands."""
    rows: list[list[Cell]] = [["a", 1], ["long name", 1000], ["c", None]]
    assert table(COLUMNS, rows, coloured=False).splitlines() == [
        "NAME        LAG",
        "a             1",
        "long name  1000",
        "c             -",
    ]


def test_wide_characters_take_two_columns() -> None:
    """As on a terminal."""
    lines = table(COLUMNS, [["日本", 1], ["abcd", 1]], coloured=False).splitlines()
    assert lines[1:] == ["日本    1", "abcd    1"]


def test_colour_changes_no_width() -> None:
    """It is around the text, not around the blanks."""
    rows: list[list[Cell]] = [[Painted("a", Colour.BAD), 1], ["bc", 22]]
    lines = table(COLUMNS, rows, coloured=True).splitlines()
    assert lines[1] == "\x1b[31ma\x1b[0m       1"


@given(st.lists(st.tuples(st.text(), st.integers()), max_size=5))
def test_every_row_is_one_line_without_control_characters(rows: list[tuple[str, int]]) -> None:
    """Whatever groups are called."""
    lines = table(COLUMNS, rows, coloured=False).split("\n")
    assert len(lines) == len(rows) + 2
    assert all(line.isprintable() for line in lines)


def test_an_id_can_not_drive_the_terminal() -> None:
    """Ids of coordinator groups are any text."""
    assert printable("a\x1b[2J\nb é") == "a\\x1b[2J\\nb é"


def test_colour_is_for_terminals_whose_users_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the convention of NO_COLOR."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert shows_colour(FakeTerminal())
    assert not shows_colour(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not shows_colour(FakeTerminal())
    monkeypatch.setenv("NO_COLOR", "")
    monkeypatch.setenv("TERM", "dumb")
    assert not shows_colour(FakeTerminal())


def test_instants_and_json() -> None:
    """In UTC, to the millisecond; what is no time is null."""
    assert instant(1_400_000_000_007) == "2014-05-13T16:53:20.007Z"
    assert instant(0) == "1970-01-01T00:00:00.000Z"
    assert instant(-1) == "1969-12-31T23:59:59.999Z"
    assert instant(None) is None
    assert instant(2**62) is None
    assert json.loads(json_text({"a": 2**62, "b": None})) == {"a": 2**62, "b": None}


def test_formats() -> None:
    """``--json`` is short for one of them; not all commands have an original."""
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
def test_a_table_fits_and_nothing_is_cut_off(rows: list[tuple[str, int, str]], limit: int) -> None:
    """Texts go on in the next line; where that is not enough, each row is a list of its cells."""
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
def test_a_sentence_goes_on_between_words(
    width: int | None, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal alone; names are never cut."""
    monkeypatch.setattr(tables, "terminal_width", lambda: width)
    assert tables.sentence("  group a-name-that-is-long: one two") == expected
